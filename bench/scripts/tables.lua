-- A workload for Lua: tables, strings and closures, as programs that embed it have them.
-- The argument is the number of rounds (default 10). Prints a checksum.

local function nodes(count)
    local list = {}
    for i = 1, count do
        list[i] = { id = i, name = "node" .. i, links = { i % 7, i % 11 }, next = list[i - 1] }
    end
    return list
end

local function words(list)
    local counts, lines = {}, {}
    for i, node in ipairs(list) do
        local line = ("%s:%d,%s"):format(node.name, node.links[1], ("x"):rep(i % 60))
        for word in line:gmatch("[^:,]+") do
            counts[word] = (counts[word] or 0) + 1
        end
        lines[#lines + 1] = line
    end
    return counts, table.concat(lines, "\n")
end

local function handlers(list)
    local calls = {}
    for i, node in ipairs(list) do
        calls[i] = function(sum) return sum + node.id % 13 + #node.name end
    end
    local sum = 0
    for _, call in ipairs(calls) do sum = call(sum) end
    return sum
end

local check, kept = 0, {}
for round = 1, tonumber(arg[1]) or 10 do
    local list = nodes(30000 + 2000 * (round % 5))
    local counts, text = words(list)
    for _, count in pairs(counts) do check = check + count end
    check = check + #text:upper() + handlers(list)
    table.sort(list, function(a, b) return a.name < b.name end)
    kept[round % 3] = list
end
print("check " .. math.tointeger(check))

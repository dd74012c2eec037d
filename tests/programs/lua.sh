# Lua, whose interpreter calls realloc for everything: tables, closures, text, coroutines, collection.
lua5.4 - <<'LUA'
local words, order = {}, {}
for i = 0, 40000 do
  local word = "w" .. i * 7919 % 20011
  if not words[word] then words[word] = {}; order[#order + 1] = word end
  table.insert(words[word], string.rep("x", i % 90))
end
table.sort(order)
local length = 0
for _, word in ipairs(order) do length = length + #table.concat(words[word], ",") end
print(#order, order[1], order[#order], length)
for mode in ("incremental generational"):gmatch("%a+") do
  collectgarbage(mode)
  local made = {}
  for i = 1, 120000 do made[i % 5000 + 1] = { i, tostring(i), function() return i end } end
  local sum = 0
  for _, each in ipairs(made) do sum = sum + each[3]() end
  print(mode, sum)
end
local routines = {}
for i = 1, 3000 do routines[i] = coroutine.wrap(function() for j = 1, 5 do coroutine.yield(i * j) end end) end
local total = 0
for _ = 1, 5 do for _, routine in ipairs(routines) do total = total + routine() end end
words = nil; collectgarbage()
print(total, #string.rep("abc", 5000000, "-"):gsub("b", "bb"), collectgarbage("count") < 60000)
LUA

/* Lua's interpreter at work on tables and strings. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

static const char script[] =
    "local function tree(depth)\n"
    "  if depth == 0 then return {} end\n"
    "  return {tree(depth - 1), tree(depth - 1)}\n"
    "end\n"
    "local function count(t) return t[1] and 1 + count(t[1]) + count(t[2]) or 1 end\n"
    "for round = 1, 12 do io.write(count(tree(15)), ' ') end\n"
    "local words, total = {}, 0\n"
    "for i = 1, 300000 do words[i % 5000] = ('word ' .. i):rep(i % 7 + 1) end\n"
    "for _, word in pairs(words) do total = total + #word end\n"
    "print(total)\n";

int main(void) {
  lua_State *lua = luaL_newstate();
  luaL_openlibs(lua);
  int failed = luaL_dostring(lua, script);
  if (failed) fprintf(stderr, "%s\n", lua_tostring(lua, -1));
  lua_close(lua);
  return failed;
}

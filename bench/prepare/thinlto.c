/*
 * The program that the ThinLTO links are for. It uses each library once, so that what was linked
 * can be tried: it ends with 0 if they work. WITH_ALL: zstd's compressor and Lua too.
 * WITH_SQLITE: and SQLite.
 */
#include <stdio.h>
#include <string.h>
#include <zstd.h>

static int decompresses(void)
{
    /* Magic number, one segment of 5 bytes; the last block, raw, of 5 bytes. */
    static const char frame[] = "\x28\xb5\x2f\xfd\x20\x05\x29\0\0loam\n";
    char text[5];
    return ZSTD_decompress(text, sizeof text, frame, sizeof frame - 1) == sizeof text
           && memcmp(text, "loam\n", sizeof text) == 0;
}

#ifdef WITH_ALL
#include <lauxlib.h>
#include <lualib.h>

static int compresses(void)
{
    static char text[100000], packed[200000], again[100000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * i >> 7);
    size_t packed_bytes = ZSTD_compress(packed, sizeof packed, text, sizeof text, 9);
    return !ZSTD_isError(packed_bytes)
           && ZSTD_decompress(again, sizeof again, packed, packed_bytes) == sizeof text
           && memcmp(text, again, sizeof text) == 0;
}

static int runs_lua(void)
{
    lua_State *lua = luaL_newstate();
    luaL_openlibs(lua);
    int failed = luaL_dostring(lua, "local t = {} for i = 1, 1000 do t[i] = i .. 'x' end\n"
                                    "assert(#table.concat(t) == 3893)");
    lua_close(lua);
    return !failed;
}
#else
static int compresses(void) { return 1; }
static int runs_lua(void) { return 1; }
#endif

#ifdef WITH_SQLITE
#include <sqlite3.h>

static int queries(void)
{
    sqlite3 *db;
    int failed = sqlite3_open(":memory:", &db) != SQLITE_OK
                 || sqlite3_exec(db, "create table t(a, b); insert into t values (1, 2);"
                                     "select sum(a + b) from t order by a;",
                                 NULL, NULL, NULL) != SQLITE_OK;
    sqlite3_close(db);
    return !failed;
}
#else
static int queries(void) { return 1; }
#endif

int main(void)
{
    if (decompresses() && compresses() && runs_lua() && queries())
        return 0;
    puts("what was linked does not work");
    return 1;
}

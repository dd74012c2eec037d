/* SQLite in memory: rows of many sizes put in, an index, joins, and deletes. */
#include <sqlite3.h>
#include <stdio.h>

static const char script[] =
    "create table words(id integer primary key, word text, length int);"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)"
    "  insert into words select i, hex(i * 7919) || substr(hex(zeroblob(300)), 1, i % 500), i % 500"
    "  from n;"
    "create index by_word on words(word);"
    "create table lengths as select length, count(*) as words, group_concat(id) as ids"
    "  from words group by length;"
    "select count(*), sum(words), sum(length(ids)) from lengths;"
    "select count(*) from words a join words b on a.word = hex(b.id * 7919);"
    "update words set word = upper(word) || 'x' where id % 3 = 0;"
    "delete from words where id % 2 = 0;"
    "select count(*), sum(length(word)), max(word) > 'A' from words;";

static int print(void *unused, int count, char **values, char **names) {
  (void)unused, (void)names;
  for (int i = 0; i < count; i++) printf("%s ", values[i]);
  puts("");
  return 0;
}

int main(void) {
  sqlite3 *database;
  char *error = NULL;
  if (sqlite3_open(":memory:", &database) != SQLITE_OK) return 1;
  int status = sqlite3_exec(database, script, print, NULL, &error);
  if (status != SQLITE_OK) fprintf(stderr, "%s\n", error);
  sqlite3_close(database);
  return status != SQLITE_OK;
}

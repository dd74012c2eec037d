# A hundred thousand rows: inserted, indexed, joined, deleted; two connections to one file at the end.
sqlite3 rows.db <<'SQL'
pragma journal_mode = wal;
create table rows (id integer primary key, text text, number integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
insert into rows select i, 'row number ' || (i * 7919 % 1000003), i * 31 % 977 from n;
create index by_number on rows (number, text);
select count(*), sum(length(text)), min(text), max(text) from rows;
select number, count(*), group_concat(substr(text, -2)) from rows
  where id < 3000 group by number order by number limit 20;
delete from rows where number % 3 = 0;
select count(*), sum(a.id) from rows as a join rows as b on a.number = b.number where b.id < 600;
pragma integrity_check;
SQL
# The one that closes last takes a lock for itself, for which the other waits.
sqlite3 -cmd '.timeout 200000' rows.db 'select sum(number) from rows' &
sqlite3 -cmd '.timeout 200000' rows.db 'pragma quick_check' > check
wait $!
cat check

# PostgreSQL: a process for each client, shared memory, contexts of its own above malloc, queries
# in parallel and compiled by LLVM, and pgbench with threads.
# label: long
# packages: postgresql-15
PATH=$(echo /usr/lib/postgresql/*/bin | tr ' ' ':'):$PATH
as_user=()
if ((EUID == 0)); then # as which it does not start: another user, who can read the library here
  chmod 755 . && mkdir base && chown nobody base
  [[ -z ${LD_PRELOAD:-} ]] || { cp -L "$LD_PRELOAD" . && LD_PRELOAD=$PWD/${LD_PRELOAD##*/}; }
  as_user=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
"${as_user[@]}" initdb -D base --auth=trust --no-sync --locale=C --encoding=UTF8 > initdb.log
"${as_user[@]}" postgres -D base -k "$PWD/base" -c listen_addresses= -c fsync=off \
  -c shared_buffers=32MB > postgres.log 2>&1 &
server=$!
trap 'kill $server 2> kill.log || true' EXIT
export PGHOST=$PWD/base PGDATABASE=postgres PGUSER=nobody
((EUID == 0)) || PGUSER=$(id -un)
for _ in $(seq 600); do pg_isready -q && break; sleep 0.1; done
pgbench -i -s 2 -q 2> load.log
pgbench -c 4 -j 2 -t 300 -n 2> bench.log | grep -E 'actually|failed'
psql -Atq <<'SQL'
select count(*), sum(bbalance) = (select sum(abalance) from pgbench_accounts) from pgbench_branches;
create table rows as select i, md5(i::text) as text, i % 97 as number from generate_series(1, 200000) i;
create index on rows (text);
analyze rows;
set jit_above_cost = 0; set jit_inline_above_cost = 0; set jit_optimize_above_cost = 0;
set parallel_setup_cost = 0; set parallel_tuple_cost = 0; set min_parallel_table_scan_size = 0;
select number, count(*), min(text), sum(i) from rows group by number order by number limit 5;
select count(*), max(length(a.text || b.text)) from rows a join rows b on a.number = b.number where b.i < 100;
reset all;
select md5(string_agg(text, ',' order by text)) from rows;
select jsonb_array_length(jsonb_agg(row_to_json(rows))) from rows where i < 20000;
do $$ begin for i in 1..300 loop execute 'create temp table t' || i || '(a int); drop table t' || i; end loop; end $$;
vacuum full rows;
select count(*) from rows where text ~ '^(a|b)+[0-9]{3}';
SQL
kill $server && wait $server
tail -1 postgres.log | sed 's/.*LOG: //'

#!/bin/sh
# Records ten real programs of the distribution's packages: `make traces`.
#
#   scripts/traces.sh LOAM FOLDER
#
# ROWS in the environment: of the data that Python writes and reads (20000).
# LOAM is the command, FOLDER gets NAME.trace of each. Programs that are not installed are listed,
# with their packages. The exit status is the number of recordings that failed.
set -u

loam=$1
folder=$2
mkdir -p "$folder" || exit 2
folder=$(cd "$folder" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0

# is_there NAME PROGRAM PACKAGE
is_there() {
    command -v "$2" > /dev/null && return
    echo "traces: no $1: $2 is not installed (Debian: $3)"
    return 1
}

# recorded NAME COMMAND...
recorded() {
    name=$1
    shift
    "$loam" record --output "$folder/$name.trace" -- "$@" > "$work/$name.out" 2> "$work/$name.log" &&
        tail -n 1 "$work/$name.log" && return
    echo "traces: $name failed: $(tail -n 1 "$work/$name.log")"
    failed=$((failed + 1))
}

# serve NAME SERVER...: a server on the socket $work/NAME, until its client shuts it down.
serve() {
    socket=$work/$1
    recorded "$@" &
    server=$!
    tries=0
    until redis-cli -s "$socket" ping > /dev/null 2>&1 || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
    redis-benchmark -s "$socket" -q -n 20000 -r 10000 -d 100 -t set,get,lpush,hset > /dev/null
    redis-cli -s "$socket" shutdown nosave > /dev/null 2>&1
    wait $server
}

python="import json
rows = [{'name': str(n), 'list': list(range(n % 50))} for n in range(${ROWS:-20000})]
print(len(json.loads(json.dumps(rows))))"
perl='my %h; $h{$_ % 5000} .= "x$_" for 1..300000; my @s = sort map { lc } values %h; print scalar @s'
lua='local t = {} for i = 1, 300000 do t[i % 5000] = {i, tostring(i)} end print(#t)'
sql="create table t(a integer primary key, b text);
with recursive c(x) as (values(1) union all select x+1 from c where x<50000)
insert into t select x, hex(randomblob(20)) from c;
select count(*) from t where b like '%AB%'; create index i on t(b);
select substr(b,1,2), count(*) from t group by 1 order by 2 desc limit 3;"

is_there python /usr/bin/python3 python3 && PYTHONMALLOC=malloc recorded python /usr/bin/python3 -c "$python"
is_there perl perl perl && recorded perl perl -e "$perl"
is_there sqlite sqlite3 sqlite3 && recorded sqlite sqlite3 "$work/db" "$sql"
for program in lua5.1 lua5.3 lua lua5.4; do command -v $program > /dev/null && break; done
is_there lua $program lua5.4 && recorded lua $program -e "$lua"
is_there git git git && git init -q "$work/git" && (
    cd "$work/git" && seq 20000 | split -l 20 - file && git add . &&
        git -c user.name=n -c user.email=e commit -qm all
) && recorded git git -C "$work/git" --no-pager log -p
is_there gs gs ghostscript && recorded gs gs -q -dSAFER -dBATCH -dNOPAUSE -sDEVICE=png16m \
    -o "$work/page.png" -c '/Helvetica findfont 9 scalefont setfont 1 1 80 { /y exch 9 mul def
    10 y moveto (The quick brown fox jumps over the lazy dog) show } for showpage'

# The compiler and the linker themselves, not the program that starts them.
if is_there gcc gcc gcc; then
    printf '#include <stdio.h>\n#include <stdlib.h>\n' > "$work/a.c"
    seq 300 | sed 's/.*/int f&(int x) { for (int i = 0; i < x; i++) x += i * &; return x; }/' >> "$work/a.c"
    echo 'int main(void) { return f1(1) == 0; }' >> "$work/a.c"
    recorded gcc "$(gcc -print-prog-name=cc1)" -quiet -O2 "$work/a.c" -o "$work/a.s"
    if is_there lld ld.lld lld; then
        gcc -O1 -g -ffunction-sections -c "$work/a.c" -o "$work/a.o" &&
            recorded lld ld.lld --entry=main --gc-sections "$work/a.o" -o "$work/a"
    fi
fi

if is_there redis redis-server redis; then
    serve redis redis-server --port 0 --unixsocket "$work/redis" --save ''
    serve threaded-redis redis-server --port 0 --unixsocket "$work/threaded-redis" --save '' \
        --io-threads 2 --io-threads-do-reads yes
fi
exit $failed

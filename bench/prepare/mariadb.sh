#!/bin/sh
# A data directory for MariaDB, with sysbench's table in it.
#
#   bench/prepare/mariadb.sh FOLDER     (data)
. "$(dirname "$0")/common.sh"

ROWS=20000
server=/usr/sbin/mariadbd

packages mariadb-server-core mariadb-client-core sysbench
user=$(id -un)
socket_folder=$(mktemp -d) || fail "cannot make a folder"   # a socket's path must be short
socket=$socket_folder/socket
say "mariadb: making the data directory"
mariadb-install-db --no-defaults --user="$user" --datadir="$part/data" --skip-test-db \
    --auth-root-authentication-method=normal --innodb-log-file-size=4M >"$part/log" 2>&1 \
    || fail "mariadb-install-db failed: $(tail -n 1 "$part/log")"

"$server" --no-defaults --user="$user" --datadir="$part/data" --socket="$socket" \
    --skip-networking --innodb-log-file-size=4M --pid-file="$socket_folder/pid" \
    >"$part/log" 2>&1 &
server_pid=$!
trap 'kill "$server_pid" 2>/dev/null; rm -rf "$socket_folder"' EXIT
trap 'exit 1' HUP INT TERM
ask() { mariadb --no-defaults -u root -S "$socket" -e "$1" >/dev/null 2>&1; }
tries=0
until ask 'select 1'; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] && kill -0 "$server_pid" 2>/dev/null \
        || fail "the server did not start: $(tail -n 1 "$part/log")"
    sleep 0.2
done

say "mariadb: filling the table"
ask 'create database bench' && sysbench oltp_read_only --mysql-socket="$socket" \
    --mysql-user=root --mysql-db=bench --tables=1 --table-size="$ROWS" prepare >&2
filled=$?
kill "$server_pid"
wait "$server_pid" || fail "the server did not end well: $(tail -n 1 "$part/log")"
[ "$filled" = 0 ] || fail "sysbench could not fill the table"
rm -f "$part/log"
finish

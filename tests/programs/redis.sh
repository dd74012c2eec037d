# A server under load: the data set that a fixed sequence of commands leaves, and its statistics.
redis-server --port 0 --unixsocket "$PWD/socket" --save '' --daemonize no \
  --enable-debug-command yes --activedefrag no > log 2>&1 &
server=$!
trap 'kill $server 2> kill.log || true' EXIT
client() { redis-cli -s "$PWD/socket" "$@"; }
for _ in $(seq 600); do client ping > ping.log 2>&1 && break; sleep 0.1; done
redis-benchmark -s "$PWD/socket" -t set,get,lpush,lrange_100,hset,zadd -n 8000 -d 200 -P 16 -q \
  > benchmark.log
client flushall
awk 'BEGIN { for (i = 0; i < 25000; i++) {
  printf "SET key:%d %0*d\n", i, i % 500 + 1, i
  printf "LPUSH list:%d item-%d\nHSET hash:%d field-%d %d\n", i % 100, i, i % 300, i % 40, i
  printf "SADD set:%d %d\nZADD zset:%d %d member-%d\n", i % 70, i, i % 50, i * 7 % 1000, i
  if (i % 3 == 0) printf "DEL key:%d\nAPPEND key:%d more\n", i / 2, i / 3
} }' > commands
redis-cli -s "$PWD/socket" --pipe < commands | tail -1
client debug digest
client dbsize
client info keyspace | tr -d '\r' | grep -v avg_ttl
client debug reload nosave noflush > reload.log 2>&1 || true
client shutdown nosave > shutdown.log 2>&1 || true
wait $server

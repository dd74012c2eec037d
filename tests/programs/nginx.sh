# A server with worker processes and pools of memory: what clients get, packed and in parts, and
# after its configuration has been read again.
mkdir -p site logs
for i in $(seq 50); do seq $((i * 200)) > site/$i.txt; done
cat > nginx.conf <<CONF
worker_processes 2;
daemon off;
pid $PWD/pid;
error_log $PWD/logs/error.log;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path $PWD/body; proxy_temp_path $PWD/proxy; fastcgi_temp_path $PWD/fastcgi;
  uwsgi_temp_path $PWD/uwsgi; scgi_temp_path $PWD/scgi;
  types { text/plain txt; }
  gzip on; gzip_types text/plain; gzip_min_length 100;
  server { listen unix:$PWD/socket; root $PWD/site; location /old { return 301 /new; } }
}
CONF
nginx -p "$PWD" -e "$PWD/logs/start.log" -c "$PWD/nginx.conf" > log 2>&1 &
server=$!
trap 'kill $server 2> kill.log || true' EXIT
cat > client.py <<'PYTHON'
import gzip, hashlib, socket
def get(path, *headers):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("socket")
        lines = [f"GET {path} HTTP/1.1", "Host: here", "Connection: close", *headers, "", ""]
        client.sendall("\r\n".join(lines).encode())
        head, _, body = client.makefile("rb").read().partition(b"\r\n\r\n")
        return head.split()[1].decode(), body, head
seen = hashlib.md5()
for i in range(1, 51):
    seen.update(get(f"/{i}.txt")[1])
    status, body, head = get(f"/{i}.txt", "Range: bytes=100-299")
    seen.update(status.encode() + body)
    seen.update(get(f"/{i}.txt", "Accept-Encoding: gzip")[0].encode())
print(seen.hexdigest(), get("/none")[0], get("/old")[0])
PYTHON
. "$SCRIPT_FOLDER/await_socket.inc"
await_socket
python3 client.py
kill -HUP $server
sleep 0.3
python3 client.py

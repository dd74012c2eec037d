# A server with threads that has a slab allocator of its own on top: what a client finds again.
memcached -u "$(id -un)" -s "$PWD/socket" -t 4 -m 32 > log 2>&1 &
server=$!
trap 'kill $server 2> kill.log || true' EXIT
. "$SCRIPT_FOLDER/await_socket.inc"
await_socket
python3 - <<'PYTHON'
import hashlib, socket
clients = [socket.socket(socket.AF_UNIX) for _ in range(8)]
files = []
for client in clients:
    client.connect("socket")
    files.append(client.makefile("rwb"))
def ask(number, text):
    files[number].write(text)
    files[number].flush()
    return files[number].readline()
for i in range(4000):
    value = b"v" * (i * 37 % 3000 + 1)
    assert ask(i % 8, b"set k%d 0 0 %d\r\n%s\r\n" % (i, len(value), value)) == b"STORED\r\n"
for i in range(0, 4000, 3):
    assert ask((i + 3) % 8, b"delete k%d\r\n" % i) == b"DELETED\r\n"
found = hashlib.md5()
for i in range(4000):
    line = ask((i + 5) % 8, b"get k%d\r\n" % i)
    if line.startswith(b"VALUE"):
        found.update(files[(i + 5) % 8].readline() + files[(i + 5) % 8].readline())
print(found.hexdigest(), ask(0, b"incr missing 1\r\n").decode().strip())
PYTHON

#!/bin/sh
# lighttpd 1.4.69 (Debian 12), mod_proxy with stream-response-body and stream-request-body 2: a client that goes away while
# it waits for the head of an answer is noticed by lighttpd when the answer comes, and its backend is not told before that.
# The backend goes on for nobody, for as long as it takes: here it has heard nothing 5 s after the client reset its
# connection. nginx 1.22.1, and Varnish where it pipes, close their connection to the backend within 0.1 s.
# A request that has a body of GET is refused with 400 on the way, and a header without a value is left out.
#
# Seen: left 5.0 s ago, backend told: False; GET with a body: 400; X-Empty: missing.
# Exit 1 if that changes. Needs apt-get and Debian 12's packages; all that it starts listens on loopback.
set -eu
folder=$(mktemp -d)
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && apt-get download --quiet lighttpd=1.4.69-1 >/dev/null 2>&1 && dpkg -x lighttpd_*.deb root)
python3 - "$folder" <<'EOF'
import socket
import struct
import subprocess
import sys
import threading
from time import sleep

folder = sys.argv[1]
backend = socket.create_server(("127.0.0.1", 0))
with socket.create_server(("127.0.0.1", 0)) as probe:
    port = probe.getsockname()[1]
with open(f"{folder}/proxy.conf", "w") as config:
    config.write(f"""
server.document-root = "{folder}"
server.bind = "127.0.0.1"
server.port = {port}
server.modules = ("mod_proxy")
server.stream-response-body = 2
server.stream-request-body = 2
proxy.server = ("" => (("host" => "127.0.0.1", "port" => {backend.getsockname()[1]})))
""")
heads, has_come, is_told = [], threading.Event(), threading.Event()


def serve(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    heads.append(head.lower())
    if b"/slow" not in head:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return connection.close()
    has_come.set()
    try:
        connection.recv(1)
    except OSError:
        pass
    is_told.set()


def accept():
    while True:
        threading.Thread(target=serve, args=(backend.accept()[0],), daemon=True).start()


threading.Thread(target=accept, daemon=True).start()
proxy = subprocess.Popen([f"{folder}/root/usr/sbin/lighttpd", "-D", "-m", f"{folder}/root/usr/lib/lighttpd", "-f",
                          f"{folder}/proxy.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def connect():
    for _ in range(100):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except OSError:
            sleep(0.1)
    raise SystemExit("lighttpd did not start")


def status(request):
    with connect() as client:
        client.sendall(request)
        return client.recv(4096).split()[1].decode()


try:
    with_body = status(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab")
    plain = status(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Empty:\r\nX-Full: 1\r\n\r\n")
    is_missing = b"x-full" in heads[-1] and b"x-empty" not in heads[-1]
    client = connect()
    client.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
    has_come.wait(10)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    told = is_told.wait(5)
finally:
    proxy.terminate()
    proxy.wait()
print(f"left 5.0 s ago, backend told: {told}; GET with a body: {with_body}; X-Empty: {'missing' if is_missing else 'there'}")
sys.exit((told, with_body, plain, is_missing) != (False, "400", "200", True))
EOF

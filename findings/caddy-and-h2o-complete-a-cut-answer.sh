#!/bin/sh
# Caddy 2.6.2 and h2o 2.2.5 (Debian 12): a backend dies within an answer that it sends in chunks, as a stream of events is
# sent. Its connection ends without the last chunk, by which a client knows that the answer is not complete (RFC 9112, 8).
# Both proxies put the missing chunk "0" after what they have, and for the client the answer is complete. Caddy does so
# wherever it breaks off, h2o where it breaks off between two chunks. nginx 1.22.1, HAProxy 2.6.12, Apache 2.4.71, Varnish
# 7.1.1, nghttpx 1.52.0 and lighttpd 1.4.69, which is tried here, end the connection without it.
# A client that reads to the end takes half a text for all of it; only a last event in the stream itself tells it apart.
# Newer releases of Caddy end the connection, since its issue 5951. h2o's choice is that of its pull requests 1031 and 1490.
#
# Seen, of a body that breaks off after a chunk, and within one: Caddy: complete, complete; h2o: complete, cut; lighttpd:
# cut, cut.
# Prints one line for each proxy; exit 1 if one of them changes. Needs apt-get and Debian 12's packages; all listens on loopback.
set -eu
folder=$(mktemp -d)
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in caddy=2.6.2-5 h2o=2.2.5+dfsg2-7 lighttpd=1.4.69-1; do
    apt-get download --quiet "$package" >/dev/null 2>&1 || { echo "apt-get has no $package"; exit 1; }
    dpkg -x "${package%%=*}"_*.deb root
done
python3 - "$folder" <<'EOF'
import os
import socket
import subprocess
import sys
import threading
from http.client import HTTPConnection, IncompleteRead
from time import sleep

folder = sys.argv[1]
backend = socket.create_server(("127.0.0.1", 0))
to = f"127.0.0.1:{backend.getsockname()[1]}"
EXPECTED = {"caddy": ["complete", "complete"], "h2o": ["complete", "cut"], "lighttpd": ["cut", "cut"]}
CONFIGURATIONS = {
    "caddy": "{{\n admin off\n auto_https off\n}}\nhttp://127.0.0.1:{port} {{\n reverse_proxy {to}\n}}\n",
    "h2o": "listen:\n  host: 127.0.0.1\n  port: {port}\nnum-threads: 1\n{user}hosts:\n  default:\n    paths:\n      /:\n"
           "        proxy.reverse.url: http://{to}/\n",
    "lighttpd": 'server.document-root = "{folder}"\nserver.bind = "127.0.0.1"\nserver.port = {port}\n'
                'server.modules = ("mod_proxy")\nserver.stream-response-body = 2\n'
                'proxy.server = ("" => (("host" => "127.0.0.1", "port" => {to_port})))\n',
}
COMMANDS = {
    "caddy": "bin/caddy run --adapter caddyfile --config",
    "h2o": "bin/h2o -c",
    "lighttpd": f"sbin/lighttpd -D -m {folder}/root/usr/lib/lighttpd -f",
}


def serve(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                       b"9\r\ndata: 1\n\n\r\n" + (b"9\r\ndata" if b"/within" in head else b""))
    sleep(0.3)  # the proxy passes it on
    connection.close()


def accept():
    while True:
        threading.Thread(target=serve, args=(backend.accept()[0],), daemon=True).start()


threading.Thread(target=accept, daemon=True).start()


def start(name):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with open(f"{folder}/{name}.conf", "w") as file:
        file.write(CONFIGURATIONS[name].format(port=port, to=to, to_port=to.split(":")[1], folder=folder,
                                               user="user: root\n" if os.getuid() == 0 else ""))
    program, *options = COMMANDS[name].split()
    proxy = subprocess.Popen([f"{folder}/root/usr/{program}", *options, f"{folder}/{name}.conf"],
                             env=os.environ | {"HOME": folder}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return proxy, port
        except OSError:
            sleep(0.1)
    proxy.kill()
    raise SystemExit(f"{name} did not start")


def how_it_ends(port, path):
    client = HTTPConnection("127.0.0.1", port, timeout=10)
    client.request("GET", path)
    answer = client.getresponse()
    try:
        answer.read()
        return "complete"
    except IncompleteRead:
        return "cut"
    finally:
        client.close()


found = {}
for name in EXPECTED:
    proxy, port = start(name)
    try:
        found[name] = [how_it_ends(port, path) for path in ("/after", "/within")]
    finally:
        proxy.terminate()
        proxy.wait()
    print(f"{name}: broken off after a chunk: {found[name][0]}; within one: {found[name][1]}")
sys.exit(found != EXPECTED)
EOF

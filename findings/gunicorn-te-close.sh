#!/bin/sh
# gunicorn 27.0.1: "Connection: TE, close", which libwww-perl 6.68 sends with each request, does not close the connection.
# gunicorn compares the whole field with "close", where RFC 9110 7.6.1 has a list of options. Workers that keep connections
# (gthread, gevent) answer as if the client wanted to stay; a client that reads to the end of the connection waits
# for the keep-alive time (here 2 s).
#
# Seen: closed after 2 s for "TE, close" by gthread and gevent, at once for "close".
# Prints one line for each worker and field; exit 1 if this changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'gunicorn[gevent]==27.0.1'
cat > "$folder/app.py" <<'EOF'
def app(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import socket
import subprocess
import sys
from time import monotonic, sleep

folder = sys.argv[1]


def seconds_until_closed(port, field):
    request = f"GET / HTTP/1.1\r\nHost: localhost\r\nTE: deflate,gzip;q=0.3\r\nConnection: {field}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(request.encode())
        begun = monotonic()
        while client.recv(4096):
            pass
        return monotonic() - begun


kept = {}
for worker in ("gthread", "gevent"):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [f"{folder}/venv/bin/gunicorn", "--no-control-socket", "--bind", f"127.0.0.1:{port}", "--worker-class", worker,
         "--keep-alive", "2", "app:app"], cwd=folder, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                sleep(0.1)
        for field in ("close", "TE, close"):
            seconds = seconds_until_closed(port, field)
            kept[worker, field] = seconds > 1
            print(f"{worker}, Connection: {field}: closed after {seconds:.1f} s")
    finally:
        server.terminate()
        server.wait()
sys.exit(kept != {(worker, field): field != "close" for worker, field in kept})
EOF

#!/bin/sh
# granian 2.8.9, ASGI: of a request in HTTP/1.0 the scope says "http_version": "1". The ASGI specification names "1.0", "1.1"
# and "2"; uvicorn 0.54.0, hypercorn 0.18.0 and daphne 4.2.3 say "1.0". An application that asks for "1.0", or that reads the
# minor number after a point, treats an old client or proxy as a new one, or fails.
#
# Seen: HTTP/1.1: '1.1' by all; HTTP/1.0: '1' by granian, '1.0' by the others.
# Prints one line for each server; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  granian==2.8.9 uvicorn==0.54.0 hypercorn==0.18.0 daphne==4.2.3
cat > "$folder/version.py" <<'EOF'
async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    headers = [(b"x-seen", scope["http_version"].encode()), (b"connection", b"close"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import http.client
import socket
import subprocess
import sys
from time import sleep

folder = sys.argv[1]
SERVERS = {
    "granian": ("--interface", "asgi", "--port"),
    "uvicorn": ("--port",),
    "hypercorn": ("--bind",),
    "daphne": ("--port",),
}


def seen(port, version):
    for _ in range(300):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        client._http_vsn, client._http_vsn_str = int(version.replace(".", "")), f"HTTP/{version}"
        try:
            client.request("GET", "/")
            return client.getresponse().headers["x-seen"]
        except ConnectionRefusedError:
            sleep(0.1)
    raise SystemExit("a server did not start")


found = {}
for name, options in SERVERS.items():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    at = f"127.0.0.1:{port}" if name == "hypercorn" else str(port)
    server = subprocess.Popen([f"{folder}/venv/bin/{name}", *options, at, "version:app"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        found[name] = seen(port, "1.1"), seen(port, "1.0")
    finally:
        server.terminate()
        server.wait()
    print(f"{name}: HTTP/1.1 is {found[name][0]!r}, HTTP/1.0 is {found[name][1]!r}")
sys.exit(found != {**dict.fromkeys(SERVERS, ("1.1", "1.0")), "granian": ("1.1", "1")})
EOF

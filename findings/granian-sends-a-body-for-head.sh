#!/bin/sh
# granian 2.8.9 over HTTP/2: the answer to HEAD has the body that the application wrote, in DATA frames. RFC 9110 9.3.2 forbids
# it; over HTTP/1.1 granian leaves it out, as gunicorn 27.0.1 and hypercorn 0.18.0 do over both. httpx 0.28.1 and curl 7.88.1
# take it for a protocol error and have no answer at all.
# Starlette 1.10.0 counts on the server: its routes for GET take HEAD, too, and its answers write their body all the same.
# Health checks and checks for a newer file often ask with HEAD.
#
# Seen, HEAD of a Starlette route over HTTP/2: granian a protocol error, gunicorn and hypercorn 200; over HTTP/1.1 200 by all.
# Prints one line for each server; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check granian==2.8.9 gunicorn==27.0.1 hypercorn==0.18.0 \
  starlette==1.10.0 httpx==0.28.1 h2==4.4.1
cat > "$folder/home.py" <<'EOF'
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def home(request):
    return PlainTextResponse("hello")


app = Starlette(routes=[Route("/", home)])
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import socket
import subprocess
import sys
from time import sleep

import httpx

folder = sys.argv[1]
SERVERS = {
    "granian": ("granian", "--interface", "asgi", "--port"),
    "gunicorn": ("gunicorn", "--no-control-socket", "--worker-class", "asgi", "--http-protocols", "h2,h1",
                 "--http2-cleartext", "both", "--bind"),
    "hypercorn": ("hypercorn", "--bind"),
}


def head(port, version):
    with httpx.Client(http1=version == 1, http2=version == 2, timeout=10) as client:
        try:
            answer = client.head(f"http://127.0.0.1:{port}/")
        except httpx.ProtocolError:
            return "protocol error"
        return f"{answer.http_version} {answer.status_code}, content-length {answer.headers['content-length']}"


found = {}
for name, (program, *options) in SERVERS.items():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    at = f"127.0.0.1:{port}" if options[-1] == "--bind" else str(port)
    server = subprocess.Popen([f"{folder}/venv/bin/{program}", *options, at, "home:app"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                sleep(0.1)
        found[name] = head(port, 1), head(port, 2)
    finally:
        server.terminate()
        server.wait()
    print(f"{name}: HEAD over HTTP/1.1: {found[name][0]}; over HTTP/2: {found[name][1]}")
RIGHT = "HTTP/1.1 200, content-length 5", "HTTP/2 200, content-length 5"
sys.exit(found != {"granian": (RIGHT[0], "protocol error"), "gunicorn": RIGHT, "hypercorn": RIGHT})
EOF

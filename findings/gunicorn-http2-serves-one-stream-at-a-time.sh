#!/bin/sh
# gunicorn 27.0.1 over HTTP/2: its workers gthread, which its guide to HTTP/2 recommends "for HTTP/2", and gevent serve the
# requests of one connection one after the other, whatever --threads and --http2-max-concurrent-streams (100 by default, and
# announced to the client) say. The second waits until the first is answered to its end. The asgi worker, and hypercorn 0.18.0
# with the same Flask application, serve them side by side. The guide has sync alone as what "cannot multiplex streams".
# A browser has one connection to a server over HTTP/2: while it reads a stream of events, which it does for minutes, nothing
# else of the page is answered. Over HTTP/1.1, with up to six connections, it is.
#
# Seen, on one connection, of a stream of 2 s and of a short request that comes 0.3 s after it (seconds until the answer):
# gthread with 4 threads 1.7, gevent 1.7, asgi 0.0, hypercorn 0.0. Here without TLS; with TLS it was the same.
# Prints one line for each server; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  'gunicorn[http2,gevent]==27.0.1' hypercorn==0.18.0 flask==3.1.3 h2==4.4.1 'httpx[http2]==0.28.1'
cat > "$folder/app.py" <<'EOF'
import asyncio
from time import sleep

from flask import Flask

app = Flask(__name__)


@app.get("/stream")
def stream():
    def parts():
        for number in range(10):
            yield f"data: {number}\n\n"
            sleep(0.2)

    return parts(), {"Content-Type": "text/event-stream"}


@app.get("/short")
def short():
    return "short"


async def asgi(scope, receive, send):
    """The same two answers for the asgi worker."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    for _ in range(10 if scope["path"] == "/stream" else 0):
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        await asyncio.sleep(0.2)
    await send({"type": "http.response.body", "body": b""})
EOF
cd "$folder"
"$folder/venv/bin/python" - "$folder" <<'EOF'
import asyncio
import socket
import subprocess
import sys
from time import monotonic, sleep

import httpx

folder = sys.argv[1]
GUNICORN = ("gunicorn", "--no-control-socket", "--http-protocols", "h2,h1", "--http2-cleartext", "prior-knowledge", "--bind")
SERVERS = {
    "gunicorn gthread": (*GUNICORN, "{}", "--worker-class", "gthread", "--threads", "4", "app:app"),
    "gunicorn gevent": (*GUNICORN, "{}", "--worker-class", "gevent", "app:app"),
    "gunicorn asgi": (*GUNICORN, "{}", "--worker-class", "asgi", "app:asgi"),
    "hypercorn": ("hypercorn", "--bind", "{}", "app:app"),
}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


async def waited(port):
    """How long a short request takes while a stream runs on the same connection."""
    async with httpx.AsyncClient(http1=False, http2=True, base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
        assert (await client.get("/short")).http_version == "HTTP/2"
        running = asyncio.create_task(client.get("/stream"))
        await asyncio.sleep(0.3)
        begun = monotonic()
        await client.get("/short")
        seconds = monotonic() - begun
        assert (await running).text.count("data") == 10
        return seconds


found = {}
for name, (program, *arguments) in SERVERS.items():
    port = free_port()
    command = [argument.format(f"127.0.0.1:{port}") for argument in arguments]
    server = subprocess.Popen([f"{folder}/venv/bin/{program}", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                sleep(0.1)
        seconds = asyncio.run(waited(port))
    finally:
        server.terminate()
        server.wait()
    found[name] = seconds > 1
    print(f"{name}: a short request beside a stream: {seconds:.1f} s")
sys.exit(list(found.values()) != [True, True, False, False])
EOF

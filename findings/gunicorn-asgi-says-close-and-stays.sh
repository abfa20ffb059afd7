#!/bin/sh
# gunicorn 27.0.1, ASGI worker: three answers that uvicorn 0.54.0, hypercorn 0.18.0 and granian 2.8.9 send in another way,
# with the Python parser as with gunicorn_h1c 0.6.10:
# - an application answers with "Connection: close": the field goes out, the connection stays open for the keep-alive time (here
#   3 s). A client that reads to the end of the connection, as the answer tells it to, waits for that long.
# - its own 500, for an application that does not answer, says "Connection: close" and stays in the same way.
# - an empty part of a body (more_body true), by which an application sends its head before it has data: the head is held
#   until the first byte of data (here 1 s), so that the reader of a stream does not see that it is open.
#
# Prints one line for each server; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  gunicorn==27.0.1 gunicorn_h1c==0.6.10 uvicorn==0.54.0 hypercorn==0.18.0 granian==2.8.9
cat > "$folder/answers.py" <<'EOF'
import asyncio


async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    if scope["path"] == "/none":
        return
    headers = [(b"content-length", b"2")] + [(b"connection", b"close")] * (scope["path"] == "/close")
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/head":
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        await asyncio.sleep(1)
    await send({"type": "http.response.body", "body": b"ok"})
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import socket
import subprocess
import sys
from time import monotonic, sleep

folder = sys.argv[1]
GUNICORN = ("gunicorn", "--no-control-socket", "--worker-class", "asgi", "--keep-alive", "3", "--http-parser")
SERVERS = {
    "gunicorn, Python parser": (*GUNICORN, "python", "--bind"), "gunicorn, C parser": (*GUNICORN, "fast", "--bind"),
    "uvicorn": ("uvicorn", "--port"), "hypercorn": ("hypercorn", "--bind"),
    "granian": ("granian", "--interface", "asgi", "--port"),
}


def seconds(port, path, until_closed):
    """Until the first byte of the answer, or until the connection is closed, 2 s at most."""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        begun = monotonic()
        try:
            while client.recv(4096) and until_closed:
                pass
        except TimeoutError:
            pass
        return monotonic() - begun


found = {}
for name, (program, *options) in SERVERS.items():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    at = f"127.0.0.1:{port}" if options[-1] == "--bind" else str(port)
    server = subprocess.Popen([f"{folder}/venv/bin/{program}", *options, at, "answers:app"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                sleep(0.1)
        stays = [seconds(port, path, True) > 1.5 for path in ("/close", "/none")]
        found[name] = (*stays, seconds(port, "/head", False) > 0.7)
    finally:
        server.terminate()
        server.wait()
    print(f"{name}: stays after close: {found[name][0]}, after its 500: {found[name][1]}; holds the head: {found[name][2]}")
others = {name: (False, name == "granian", False) for name in ("uvicorn", "hypercorn", "granian")}  # its 500 says nothing
sys.exit(found != {**dict.fromkeys(("gunicorn, Python parser", "gunicorn, C parser"), (True, True, True)), **others})
EOF

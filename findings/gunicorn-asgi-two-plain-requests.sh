#!/bin/sh
# gunicorn 27.0.1: two valid requests that its sync worker answers and its ASGI worker does not answer alike, with the
# Python parser as with gunicorn_h1c 0.6.10:
# - a client that shuts its sending side after a complete request: the ASGI worker closes the connection without a byte
#   of an answer. The sync worker, uvicorn 0.54.0 and hypercorn 0.18.0 answer.
# - absolute form (GET http://host/path, which RFC 9112 3.2.2 asks every server to accept): the path of the scope is the
#   whole URL, so that an application finds no route. The sync worker's PATH_INFO is the path alone; uvicorn and hypercorn
#   do as the ASGI worker does.
#
# Prints one line for each server; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  gunicorn==27.0.1 gunicorn_h1c==0.6.10 uvicorn==0.54.0 hypercorn==0.18.0
cat > "$folder/apps.py" <<'EOF'
def wsgi(environ, start_response):
    environ["wsgi.input"].read()
    answer = environ["PATH_INFO"].encode()
    start_response("200 OK", [("Content-Length", str(len(answer)))])
    return [answer]


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    while (await receive()).get("more_body"):
        pass
    answer = scope["path"].encode()
    headers = [(b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import socket
import subprocess
import sys
from time import sleep

folder = sys.argv[1]
END = b"Host: localhost\r\nConnection: close\r\n\r\n"


def started(port, program, *options):
    server = subprocess.Popen([f"{folder}/venv/bin/{program}", *options], cwd=folder, stderr=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL)
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server
        except OSError:
            sleep(0.1)
    raise SystemExit(f"{program} did not start")


def exchange(port, request, half_closed=False):
    """Send, and return all that comes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(request + END)
        if half_closed:
            client.shutdown(socket.SHUT_WR)
        came = b""
        while part := client.recv(4096):
            came += part
        return came


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def gunicorn(*options):
    return lambda port: ("gunicorn", "--no-control-socket", "--bind", f"127.0.0.1:{port}", *options)


SERVERS = {
    "gunicorn sync": gunicorn("--worker-class", "sync", "apps:wsgi"),
    "gunicorn asgi, Python parser": gunicorn("--worker-class", "asgi", "--http-parser", "python", "apps:asgi"),
    "gunicorn asgi, C parser": gunicorn("--worker-class", "asgi", "--http-parser", "fast", "apps:asgi"),
    "uvicorn": lambda port: ("uvicorn", "--port", str(port), "apps:asgi"),
    "hypercorn": lambda port: ("hypercorn", "--bind", f"127.0.0.1:{port}", "apps:asgi"),
}
found = {}
for name, options in SERVERS.items():
    port = free_port()
    server = started(port, *options(port))
    try:
        absolute = exchange(port, b"GET http://localhost/path HTTP/1.1\r\n").rpartition(b"\r\n\r\n")[2].decode()
        half = exchange(port, b"GET /path HTTP/1.1\r\n", half_closed=True)
    finally:
        server.terminate()
        server.wait()
    found[name] = (absolute, bool(half))
    print(f"{name}: path {absolute}; half-closed client {'answered' if half else 'not answered'}")
URL = "http://localhost/path"
SEEN = {
    "gunicorn sync": ("/path", True), "gunicorn asgi, Python parser": (URL, False),
    "gunicorn asgi, C parser": (URL, False), "uvicorn": (URL, True), "hypercorn": (URL, True),
}
sys.exit(found != SEEN)
EOF

#!/bin/sh
# uvicorn 0.54.0 with httptools 0.9.0: a POST that offers an upgrade loses its body. The application is told of an empty
# body that is complete, beside a content-length of 5, and the next request on the connection is answered with 400 or comes
# empty, too. RFC 9110 7.8 lets a server ignore the offer and answer as usual; uvicorn with h11, hypercorn and granian do.
# The java.net.http.HttpClient of OpenJDK 17 offers h2c with each request to an http:// address.
#
# Seen: httptools: body '', with a length and in chunks; h11 0.16.0, hypercorn 0.18.0, granian 2.8.9: body 'hello'.
# Prints one line for each server; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  uvicorn==0.54.0 httptools==0.9.0 h11==0.16.0 hypercorn==0.18.0 granian==2.8.9
cat > "$folder/echo.py" <<'EOF'
async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": body})
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import socket
import subprocess
import sys
from time import sleep

folder = sys.argv[1]
HEAD = (b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n")
REQUESTS = {
    "length": HEAD + b"Content-Length: 5\r\n\r\nhello",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
}
SERVERS = {
    "uvicorn, httptools": ("uvicorn", "--http", "httptools", "--port"),
    "uvicorn, h11": ("uvicorn", "--http", "h11", "--port"),
    "hypercorn": ("hypercorn", "--bind"),
    "granian": ("granian", "--interface", "asgi", "--port"),
}


def body_of(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(request)
        came = b""
        while b"0\r\n\r\n" not in came.partition(b"\r\n\r\n")[2] and (part := client.recv(4096)):
            came += part
    return "hello" if b"hello" in came else ""


def wait_for(port):
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            sleep(0.1)
    raise SystemExit("a server did not start")


found = {}
for name, (program, *options) in SERVERS.items():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    at = f"127.0.0.1:{port}" if program == "hypercorn" else str(port)
    server = subprocess.Popen([f"{folder}/venv/bin/{program}", *options, at, "echo:app"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        found[name] = tuple(body_of(port, request) for request in REQUESTS.values())
    finally:
        server.terminate()
        server.wait()
    print(f"{name}: " + ", ".join(f"{how} {body!r}" for how, body in zip(REQUESTS, found[name])))
whole = ("hello", "hello")
sys.exit(found != {**dict.fromkeys(SERVERS, whole), "uvicorn, httptools": ("", "")})
EOF

#!/bin/sh
# uvicorn 0.54.0 answers four valid requests in one way with httptools 0.9.0 and in another with h11 0.16.0, so that a program
# works or not by whether a compiled package was there when the server was installed:
# - white space after a header's value: httptools leaves it in the value (RFC 9112 5: not part of it), h11 takes it off;
# - an empty line before the request line: httptools skips it, as RFC 9112 2.2 asks; h11 answers 400;
# - absolute form (GET http://host/path, RFC 9112 3.2.2): httptools gives the path, h11 the whole URL as the path;
# - a method that it does not know: httptools answers 400, h11 hands it to the application.
#
# Prints one line for each request; exit 1 if an answer changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check uvicorn==0.54.0 httptools==0.9.0 h11==0.16.0
cat > "$folder/echo.py" <<'EOF'
async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    seen = [scope["method"], scope["path"], dict(scope["headers"]).get(b"x-name", b"").decode()]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": repr(seen).encode()})
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import ast
import socket
import subprocess
import sys
from time import sleep

folder = sys.argv[1]
REQUESTS = {
    "white space after a value": b"GET /a HTTP/1.1\r\nHost: localhost\r\nX-Name: b \t\r\n\r\n",
    "an empty line before": b"\r\nGET /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "absolute form": b"GET http://localhost/a HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "unknown method": b"FIND /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
}
SEEN = {
    "httptools": [["GET", "/a", "b \t"], ["GET", "/a", ""], ["GET", "/a", ""], "400"],
    "h11": [["GET", "/a", "b"], "400", ["GET", "http://localhost/a", ""], ["FIND", "/a", ""]],
}


def seen_by_application(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(request)
        came = b""
        while part := client.recv(4096):
            came += part
    status, text = came.split()[1].decode(), came.decode()
    return ast.literal_eval(text[text.index("[") : text.rindex("]") + 1]) if status == "200" else status


def wait_for(port):
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            sleep(0.1)
    raise SystemExit("a server did not start")


found = {}
for parser in SEEN:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = subprocess.Popen([f"{folder}/venv/bin/uvicorn", "--http", parser, "--port", str(port), "echo:app"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        found[parser] = [seen_by_application(port, request) for request in REQUESTS.values()]
    finally:
        server.terminate()
        server.wait()
for name, *seen in zip(REQUESTS, *found.values()):
    print(f"{name}: " + ", ".join(f"{parser} {what}" for parser, what in zip(found, seen)))
sys.exit(found != SEEN)
EOF

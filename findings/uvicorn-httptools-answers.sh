#!/bin/sh
# uvicorn 0.54.0 sends two answers otherwise with httptools 0.9.0 than with h11 0.16.0, and against RFC 9112 and RFC 9110:
# - a stream without a length, for a client of HTTP/1.0: httptools sends it in chunks, which such a client takes for its
#   content ("1\r\nx\r\n0\r\n\r\n" for "x"); RFC 9112 6.1 forbids it. h11, hypercorn 0.18.0 and granian 2.8.9 send the content.
# - a 304 with the Content-Length of what is not sent, as RFC 9110 8.6 allows: with httptools the application gets a
#   RuntimeError, "Response content shorter than Content-Length", and the connection is closed.
#
# Seen, HTTP/1.0: httptools '1\r\nx\r\n0\r\n\r\n', the others 'x'. 304: httptools raises and closes, the others stay open.
# Prints one line for each server; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  uvicorn==0.54.0 httptools==0.9.0 h11==0.16.0 hypercorn==0.18.0 granian==2.8.9
cat > "$folder/answers.py" <<'EOF'
from pathlib import Path


async def app(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    try:
        if scope["path"] == "/304":
            await send({"type": "http.response.start", "status": 304, "headers": [(b"content-length", b"5")]})
            await send({"type": "http.response.body", "body": b""})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
            await send({"type": "http.response.body", "body": b""})
    except RuntimeError as error:
        Path("error").write_text(str(error))
        raise
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import socket
import subprocess
import sys
from pathlib import Path
from time import sleep

folder = sys.argv[1]
error = Path(folder, "error")
SERVERS = {
    "httptools": ("uvicorn", "--http", "httptools", "--port"), "h11": ("uvicorn", "--http", "h11", "--port"),
    "hypercorn": ("hypercorn", "--bind"), "granian": ("granian", "--interface", "asgi", "--port"),
}


def exchange(port, request):
    """What comes until the connection is closed, or for a second; and whether it is closed."""
    with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
        client.sendall(request)
        came = b""
        try:
            while part := client.recv(4096):
                came += part
        except TimeoutError:
            return came, False
        return came, True


found = {}
for name, (program, *options) in SERVERS.items():
    error.unlink(missing_ok=True)
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
        old = exchange(port, b"GET / HTTP/1.0\r\n\r\n")[0].partition(b"\r\n\r\n")[2]
        is_closed = exchange(port, b"GET /304 HTTP/1.1\r\nHost: localhost\r\n\r\n")[1]
    finally:
        server.terminate()
        server.wait()
    found[name] = old, is_closed, error.exists()
    print(f"{name}: HTTP/1.0 gets {old}; 304: closed {is_closed}, {error.read_text() if found[name][2] else 'no error'}")
sys.exit(found != {**dict.fromkeys(SERVERS, (b"x", False, False)), "httptools": (b"1\r\nx\r\n0\r\n\r\n", True, True)})
EOF

#!/bin/sh
# A WSGI application that streams, mounted in an ASGI server by a2wsgi 1.10.10 or asgiref 3.13.0: a client that leaves is
# not passed on. The application's generator is drained to its end by a thread, with nobody to read it. Under gunicorn
# 27.0.1's gthread worker the next write fails and the generator is closed.
#
# Seen, for a client that leaves after the first of 20 parts: gthread closes the generator after 2 to 4 parts; behind
# a2wsgi and asgiref, under gunicorn's ASGI worker and under uvicorn 0.54.0, all 20 parts are made.
# Prints one line for each pair; exit 1 if this changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  gunicorn==27.0.1 uvicorn==0.54.0 a2wsgi==1.10.10 asgiref==3.13.0
cat > "$folder/apps.py" <<'EOF'
from pathlib import Path
from time import sleep

from a2wsgi import WSGIMiddleware
from asgiref.wsgi import WsgiToAsgi


def wsgi(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return parts() if environ["PATH_INFO"] == "/stream" else [b"ready"]


def parts():
    number = 0
    try:
        for number in range(1, 21):
            yield b"part\n"
            sleep(0.1)
    finally:
        Path("made").write_text(str(number))


by_a2wsgi, by_asgiref = WSGIMiddleware(wsgi), WsgiToAsgi(wsgi)
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import socket
import subprocess
import sys
from pathlib import Path
from time import sleep

folder = Path(sys.argv[1])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def parts_made(*command):
    """How many parts the generator makes for a client that leaves after the first."""
    port, made = free_port(), folder / "made"
    made.unlink(missing_ok=True)
    command = [word.format(port=port) for word in command]
    server = subprocess.Popen([folder / "venv/bin" / command[0], *command[1:]], cwd=folder, stderr=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                client = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                sleep(0.1)
        client.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        came = b""
        while b"part" not in came:
            came += client.recv(4096)
        client.close()
        for _ in range(300):
            if made.exists() and made.read_text():
                return int(made.read_text())
            sleep(0.1)
    finally:
        server.terminate()
        server.wait()
    raise SystemExit(f"{command}: the generator was never closed")


GUNICORN = ("gunicorn", "--no-control-socket", "--bind", "127.0.0.1:{port}", "--worker-class")
CASES = {
    "WSGI, gunicorn gthread": (*GUNICORN, "gthread", "apps:wsgi"),
    "a2wsgi, gunicorn asgi": (*GUNICORN, "asgi", "apps:by_a2wsgi"),
    "asgiref, gunicorn asgi": (*GUNICORN, "asgi", "apps:by_asgiref"),
    "a2wsgi, uvicorn": ("uvicorn", "--port", "{port}", "apps:by_a2wsgi"),
    "asgiref, uvicorn": ("uvicorn", "--port", "{port}", "apps:by_asgiref"),
}
found = {name: parts_made(*command) for name, command in CASES.items()}
for name, number in found.items():
    print(f"{name}: {number} of 20 parts made")
direct = found.pop("WSGI, gunicorn gthread")
sys.exit(direct > 10 or set(found.values()) != {20})
EOF

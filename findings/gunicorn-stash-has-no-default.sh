#!/bin/sh
# gunicorn 27.0.1, dirty workers and their stash, the memory that all workers share (new in 25.0 and 25.1):
# - stash.get(table, key, default), by its docstring the "default value if key not found", raises a StashError for a key that
#   is not there, with a default and without. stash.table(name), "dict-like", does so by get(), and [key] raises it where a
#   dict raises KeyError. The arbiter sends the name of the class of the error, and the client waits for another name. A test
#   with "in" before is right, and another worker may delete in between.
# - DirtyClient.stream() of an action that returns its result whole yields nothing and raises nothing: the result is lost. By
#   the comment beside it, it is to be the only part. execute() returns it. An action that streams or not, as it is asked
#   to, therefore has to know by which of both it is called; execute() of one that streams raises a DirtyError.
#
# Seen: get with a default, get without, table.get with a default, table[key]: StashError; "in": False; a key that is there: its
# value. stream() of parts: a, b; of a whole: nothing; execute() of a whole: [a, b].
# Prints one line for each; exit 1 if one of them changes. The server listens on loopback and has two workers.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check gunicorn==27.0.1
cat > "$folder/dirty.py" <<'EOF'
from gunicorn.dirty.app import DirtyApp


class App(DirtyApp):
    stashes = ["limits"]

    def whole(self):
        return ["a", "b"]

    def parts(self):
        yield "a"
        yield "b"
EOF
cat > "$folder/web.py" <<'EOF'
import json

from gunicorn.dirty import get_dirty_client, stash


def what(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__


def app(environ, start_response):
    client, limits = get_dirty_client(), stash.table("limits")
    stash.put("limits", "there", 7)
    found = {
        "get, default": what(lambda: stash.get("limits", "missing", 5)),
        "get": what(lambda: stash.get("limits", "missing")),
        "table.get, default": what(lambda: limits.get("missing", 5)),
        "table[key]": what(lambda: limits["missing"]),
        "in": what(lambda: "missing" in limits),
        "get of what is there": what(lambda: stash.get("limits", "there", 5)),
        "stream of parts": what(lambda: list(client.stream("dirty:App", "parts"))),
        "stream of a whole": what(lambda: list(client.stream("dirty:App", "whole"))),
        "execute of a whole": what(lambda: client.execute("dirty:App", "whole")),
    }
    body = json.dumps(found).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import json
import socket
import subprocess
import sys
from time import sleep
from urllib.error import URLError
from urllib.request import urlopen

folder = sys.argv[1]
with socket.create_server(("127.0.0.1", 0)) as probe:
    port = probe.getsockname()[1]
server = subprocess.Popen([f"{folder}/venv/bin/gunicorn", "--chdir", folder, "--bind", f"127.0.0.1:{port}", "--no-control-socket",
                           "--dirty-app", "dirty:App", "--dirty-workers", "1", "--log-level", "critical", "web:app"])


def ask():
    """The answer, once the dirty worker is there."""
    found = {}
    for _ in range(100):
        try:
            found = json.load(urlopen(f"http://127.0.0.1:{port}/", timeout=30))
            if isinstance(found["execute of a whole"], list):
                break
        except URLError:
            pass
        sleep(0.1)
    return found


try:
    found = ask()
finally:
    server.terminate()
    server.wait()
EXPECTED = {
    "get, default": "StashError", "get": "StashError", "table.get, default": "StashError", "table[key]": "StashError",
    "in": False, "get of what is there": 7,
    "stream of parts": ["a", "b"], "stream of a whole": [], "execute of a whole": ["a", "b"],
}
for name, value in found.items():
    print(f"{name}: {value}")
sys.exit(found != EXPECTED)
EOF

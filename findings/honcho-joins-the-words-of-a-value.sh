#!/bin/sh
# honcho 2.0.0, "a Python port of Foreman": its .env file, by the docstring of its parser "a line-delimited KEY=value format",
# loses the blanks within a value that has no quotes. A list of two queues becomes the name of one, to which nobody sends a
# job, and a server's options become one word. It also passes over two kinds of lines, without a word: "KEY=", so that the
# value of the shell that starts honcho stays, and "export KEY=value".
# python-dotenv 1.2.4 reads all four as they are meant, and foreman 3.0.1 (npm, command nf), the port for Node, reads all but
# "export KEY=value". By its source, honcho splits a line by shlex and joins the parts with nothing between; the blanks of a
# value in quotes stay.
#
# Seen, of what a program is given: honcho: QUEUES=highdefault, ARGS=--workers2--timeout60, LEVEL=debug as before, no NAME;
# python-dotenv: QUEUES=high default, ARGS=--workers 2 --timeout 60, LEVEL empty, NAME=web; nf: the same without NAME.
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check honcho==2.0.0 "python-dotenv[cli]==1.2.4"
cd "$folder"
npm install --silent --no-audit --no-fund foreman@3.0.1 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > .env <<'EOF'
QUEUES=high default
ARGS=--workers 2 --timeout 60
LEVEL=
export NAME=web
EOF
cat > program.py <<'EOF'
import json
import os

with open("seen.json", "w") as file:
    json.dump({name: os.environ.get(name) for name in ("QUEUES", "ARGS", "LEVEL", "NAME")}, file)
EOF
echo "web: python3 program.py" > Procfile
PATH="$folder/venv/bin:$folder/node_modules/.bin:$PATH" LEVEL=debug venv/bin/python - <<'EOF'
import json
import os
import subprocess
import sys

COMMANDS = {
    "honcho start": ["honcho", "start"],
    "honcho run": ["honcho", "run", "python3", "program.py"],
    "python-dotenv": ["dotenv", "run", "python3", "program.py"],
    "nf": ["nf", "start"],
}
MEANT = {"QUEUES": "high default", "ARGS": "--workers 2 --timeout 60", "LEVEL": "", "NAME": "web"}
BY_HONCHO = {"QUEUES": "highdefault", "ARGS": "--workers2--timeout60", "LEVEL": "debug", "NAME": None}
EXPECTED = {"honcho start": BY_HONCHO, "honcho run": BY_HONCHO, "python-dotenv": MEANT, "nf": MEANT | {"NAME": None}}

is_same = True
os.environ.pop("NAME", None)
for name, command in COMMANDS.items():
    subprocess.run(command, stdout=subprocess.DEVNULL, timeout=60)
    with open("seen.json") as file:
        found = json.load(file)
    os.remove("seen.json")
    print(f"{name}: {found}")
    is_same &= found == EXPECTED[name]
sys.exit(not is_same)
EOF

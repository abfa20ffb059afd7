#!/bin/sh
# honcho 2.0.0 "allows you to export your Procfile configuration into other formats", by its manual, which says that a command
# "is a shell commandline". Exported, a line does not do what it does under `honcho start`, and nothing says so:
# - supervisord: the command runs under "/bin/sh -c" without exec, and only the shell is stopped. Debian's sh stays between:
#   the server goes on and keeps its port after supervisord itself has ended. Issue 131 had this of upstart, whose export has
#   an exec since; pull request 110, closed, wanted this export without the shell.
# - runit: the line comes after "exec chpst -e", in a shell that does not have the variables. $PORT, which honcho sets for
#   each process, is empty, and what follows && never runs.
#
# Seen, with supervisor 4.3.0, gunicorn 27.0.1 and Debian 12's runit 2.1.2-54:
#   gunicorn after its stop: honcho start: ended; supervisord: still answers
#   echo "port $PORT" && echo second: honcho start: port and its number, second; runit: port, and nothing else
# Prints one line for each; exit 1 if one of them changes. chpst, as honcho calls it, needs root: else runit is left out.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "honcho[export]==2.0.0" supervisor==4.3.0 gunicorn==27.0.1
cd "$folder"
apt-get download --quiet runit=2.1.2-54 > apt.txt 2>&1 || { cat apt.txt; exit 1; }
dpkg-deb -x runit_*.deb debian
echo 'def app(environ, start): return start("200 OK", [("Content-Length", "0")]) and [b""]' > web.py
printf '[supervisord]\nnodaemon=true\n[include]\nfiles=supervisord/*.conf\n' > all.conf
PATH="$folder/venv/bin:$folder/debian/usr/bin:$PATH" HOME="$folder" venv/bin/python - <<'EOF'
import getpass
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

with socket.create_server(("127.0.0.1", 0)) as listener:
    PORT = listener.getsockname()[1]
pathlib.Path(".env").write_text(f"PORT={PORT}\n")
SERVER = "gunicorn --pid web.pid --bind 127.0.0.1:$PORT web:app"
WORDS = 'echo "port $PORT" && echo second'


def is_soon(condition, seconds=30):
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def export(format, line):
    pathlib.Path("Procfile").write_text(f"web: {line}\n")
    subprocess.run(["honcho", "export", "--app", "app", "--user", getpass.getuser(), "--log", os.getcwd(), format, format],
                   check=True, stderr=subprocess.DEVNULL, timeout=60)


def output(command, folder="."):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=30).stdout.splitlines()


def answers():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def after_stop(*command):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        has_begun = is_soon(answers)
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            raise
    if is_soon(lambda: not answers(), 5):
        return "ended" if has_begun else "did not begin"
    os.kill(int(pathlib.Path("web.pid").read_text()), signal.SIGTERM)
    return "still answers" if is_soon(lambda: not answers()) else "does not end"


export("supervisord", SERVER)
found = {"honcho start": after_stop("honcho", "start"), "supervisord": after_stop("supervisord", "-c", "all.conf")}
print("gunicorn after its stop:", found)
is_same = found == {"honcho start": "ended", "supervisord": "still answers"}
export("runit", WORDS)
shown = [line.split(" | ")[1] for line in output(["honcho", "start"]) if "web.1 " in line.split(" | ")[0]]
print(f"{WORDS}: honcho start: {shown}")
is_same &= shown == [f"port {PORT}", "second"]
if os.getuid() == 0:
    shown = output("./run", "runit/app-web-1")
    print(f"{WORDS}: runit: {shown}")
    is_same &= shown == ["port "]
sys.exit(not is_same)
EOF

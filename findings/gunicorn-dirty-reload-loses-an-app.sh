#!/bin/sh
# gunicorn 27.0.1, dirty workers: an app that is limited to one worker, as by workers = 1 for a model that takes much memory, has
# none after a reload or, seldom, a few more, and its calls raise DirtyNoWorkersAvailableError until another reload brings it
# back. All workers are there, with the other apps. The new ones are started while the old one still fills the limit, and
# its apps go to the next one that starts, if one does. The guide has that SIGHUP "Kills all workers, spawns new ones" and, of
# a worker that is replaced, that it gets the same apps.
# So does "dirty remove 1" in gunicornc, each time: it takes the oldest, which by the guide's "Worker Distribution" is the one
# with the limited apps. Its "Minimum Worker Constraint" counts workers and does not look which apps they have.
# gunicornc does not show it: "show dirty", by its help "List dirty workers and apps", lists no worker, and 0 for each app,
# all the time ("show all" has them), and BOOTED in "show workers" is "no" for workers that answer; in the guide it is "yes".
#
# Seen, of four workers: an app without a limit and the limited one answer 3, 3; after reloads, six at most: 3,
# DirtyNoWorkersAvailableError; another server, 3, 3; after remove, of three workers: 3, DirtyNoWorkersAvailableError. Dirty
# workers by "show dirty": 0; the web worker booted: False.
# Prints one line for each; exit 1 if one of them changes. The server listens on loopback.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check gunicorn==27.0.1
cat > "$folder/apps.py" <<'END'
from gunicorn.dirty import get_dirty_client
from gunicorn.dirty.app import DirtyApp


class Free(DirtyApp):
    def add(self, first, second):
        return first + second


class Limited(Free):
    workers = 1


def web(environ, start_response):
    try:
        found = str(get_dirty_client().execute(f"apps:{environ['PATH_INFO'][1:]}", "add", 1, 2))
    except Exception as error:
        found = type(error).__name__
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(found)))])
    return [found.encode()]
END
"$folder/venv/bin/python" - "$folder" <<'END'
import json
import socket
import subprocess
import sys
from time import sleep
from urllib.request import urlopen

folder = sys.argv[1]
GONE = "DirtyNoWorkersAvailableError"


def control(command):
    asked = subprocess.run([f"{folder}/venv/bin/gunicornc", "-s", f"{folder}/ctl", "-j", "-c", command],
                           capture_output=True, timeout=30)
    return json.loads(asked.stdout or "{}")


def ages():
    return sorted(worker["age"] for worker in control("show all").get("dirty_workers", []))


def state(port, count, newer_than=0):
    """What both apps answer and gunicornc shows, once that many workers, and no older ones, have been there for 2 s."""
    for _ in range(200):
        if len(there := ages()) == count and there[0] > newer_than:
            break
        sleep(0.1)
    sleep(2)
    answers = [urlopen(f"http://127.0.0.1:{port}/{app}", timeout=30).read().decode() for app in ("Free", "Limited")]
    dirty = control("show dirty")
    shown = len(dirty["workers"]) + sum(app["current_workers"] for app in dirty["apps"])
    return (*answers, len(ages()), shown, control("show workers")["workers"][0]["booted"])


def run(steps):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = subprocess.Popen([f"{folder}/venv/bin/gunicorn", "--chdir", folder, "--bind", f"127.0.0.1:{port}",
                               "--control-socket", f"{folder}/ctl", "--dirty-app", "apps:Free", "--dirty-app", "apps:Limited",
                               "--dirty-workers", "4", "--log-level", "critical", "apps:web"], stderr=subprocess.DEVNULL)
    try:
        return [state(port, 4), steps(port)]
    finally:
        server.terminate()
        server.wait(timeout=30)


def reload_until_gone(port):
    for _ in range(6):
        newest = ages()[-1]
        control("reload")
        if (found := state(port, 4, newest))[1] == GONE:
            break
    return found


def remove(port):
    control("dirty remove 1")
    return state(port, 3)


found = run(reload_until_gone) + run(remove)
for what, (free, limited, workers, shown, booted) in zip(("start", "reload", "start", "dirty remove 1"), found):
    print(f"{what}: free {free}, limited {limited}; dirty workers: {workers}, by show dirty: {shown}; web booted: {booted}")
sys.exit(found != [(*what, 0, False) for what in (("3", "3", 4), ("3", GONE, 4), ("3", "3", 4), ("3", GONE, 3))])
END

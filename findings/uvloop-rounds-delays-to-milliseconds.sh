#!/bin/sh
# uvloop 0.23.0 rounds each delay to whole milliseconds, up or down: asyncio.sleep(0.0004), which takes 0.4 ms or longer by
# asyncio's own loop, does not wait at all, and asyncio.sleep(0.0104) ends after 10 ms. What paces its work by sleeps below half
# a millisecond is not paced and keeps a processor busy; what sleeps until a time, looks at the clock and sleeps for the
# rest, spins through that rest. uvloop's issue 739 (open) knows of sleeps that end a millisecond early.
#
# Seen: ended early, of 200 sleeps of 0.4 ms and 50 of 10.4 ms: asyncio 0 and 0, uvloop 200 and 49. The 200 took 235 ms by
# asyncio, 2 ms by uvloop. 20 waits of 10.4 ms took 20 sleeps by asyncio, 433 and 653 by uvloop.
# Prints one line for each loop; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check uvloop==0.23.0
"$folder/venv/bin/python" - <<'EOF'
import asyncio
import sys
from time import monotonic

import uvloop


async def slept(number, seconds):
    """How many of so many sleeps ended early, and how long all took."""
    early, begun = 0, monotonic()
    for _ in range(number):
        before = monotonic()
        await asyncio.sleep(seconds)
        early += monotonic() - before < seconds
    return early, monotonic() - begun


async def sleeps_until(seconds):
    """How many sleeps it takes until the clock says that the time is over."""
    due, number = monotonic() + seconds, 0
    while (left := due - monotonic()) > 0:
        await asyncio.sleep(left)
        number += 1
    return number


async def measured():
    (early, took), (early_long, _) = await slept(200, 0.0004), await slept(50, 0.0104)
    return early, early_long, took, sum([await sleeps_until(0.0104) for _ in range(20)])


found = {}
for name, new_loop in (("asyncio", asyncio.new_event_loop), ("uvloop", uvloop.new_event_loop)):
    loop = new_loop()
    early, early_long, took, number = loop.run_until_complete(measured())
    loop.close()
    print(f"{name}: ended early: {early} of 200 sleeps of 0.4 ms, {early_long} of 50 of 10.4 ms; "
          f"the 200 took {took * 1000:.0f} ms; 20 waits of 10.4 ms took {number} sleeps")
    found[name] = early > 100, early_long > 25, number > 100
sys.exit(found != {"asyncio": (False, False, False), "uvloop": (True, True, True)})
EOF

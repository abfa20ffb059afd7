#!/bin/sh
# throttled-py 3.5.0: two of its five algorithms let fewer requests through than the quota, and one names a time too early.
# - Its default, the token bucket, and the leaky bucket count whole seconds and whole tokens, and drop the rest each time that
#   they let one through: under steady load "59/m" gives 30 a minute, "100/m" and "119/m" give 60. With "60/m" or "120/m"
#   nothing is lost, and GCRA, of the same package, loses nothing. By its source the same is done in a script on Redis.
# - The sliding window with a cost above one, say the words of a text: retry_after, by the README "the time in seconds for the
#   request to be retried", is at first the end of the window. Then what it let through counts nearly in full, as that of the
#   window before, and the request is refused again. By its source, in memory the first request of a window counts even if it
#   is refused, which makes the third wait; on Redis it does not.
#
# Seen, of requests a minute, asking four times a second for ten minutes after the burst, for "59/m", "60/m", "100/m", "119/m"
# and "120/m": token and leaky bucket 30, 60, 60, 60, 120; GCRA 59, 60, 100, 119, 120. Of the waits of a third request with a
# cost of 5, where "10/m" is used up in the middle of a minute: sliding window 30, 33 and 27 s, the others 30 s. The script
# sets the clock.
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check throttled-py==3.5.0
"$folder/venv/bin/python" - <<'END'
import sys
import time

from throttled import MemoryStore, Throttled

MINUTE = 1_800_000_000  # seconds since 1970, the begin of a minute
clock = float(MINUTE)
time.time = time.monotonic = lambda: clock


def a_minute(using, quota):
    """Requests let through in a minute, on average, once the burst is used up."""
    global clock
    clock = float(MINUTE)
    throttle = Throttled(using=using, quota=quota, store=MemoryStore())
    for _ in range(1000):
        if throttle.limit("client").limited:
            break
    passed = 0
    for _ in range(10 * 60 * 4):
        clock += 0.25
        passed += not throttle.limit("client").limited
    return round(passed / 10)


def waits(using):
    """What a third request with a cost of 5 is told to wait, each time, until it is let through."""
    global clock
    clock = MINUTE + 30.0
    throttle = Throttled(using=using, quota="10/m", store=MemoryStore())
    told = []
    for _ in range(20):
        result = throttle.limit("client", cost=5)
        if result.limited:
            told.append(round(result.state.retry_after))
            clock += result.state.retry_after + 0.01
        elif told:
            break
    return told


QUOTAS = "59/m", "60/m", "100/m", "119/m", "120/m"
BUCKET = [30, 60, 60, 60, 120]
SEEN = {"token_bucket": BUCKET, "leaking_bucket": BUCKET, "gcra": [59, 60, 100, 119, 120]}
found = {using: [a_minute(using, quota) for quota in QUOTAS] for using in SEEN}
for using, passed in found.items():
    print(f"{using}: of {', '.join(QUOTAS)}: {passed}")
is_same = found == SEEN
for using in "token_bucket", "leaking_bucket", "gcra", "fixed_window", "sliding_window":
    told = waits(using)
    print(f"{using}, a cost of 5, twice let through: waits {told}")
    is_same &= told == ([30, 33, 27] if using == "sliding_window" else [30])
sys.exit(not is_same)
END

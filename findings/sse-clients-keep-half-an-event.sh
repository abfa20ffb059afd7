#!/bin/sh
# A stream of events that ends within an event, as when a server or a proxy stops: the HTML standard (9.2.6) drops what has
# no empty line after it. httpx-sse 0.4.3 and launchdarkly-eventsource 1.7.4 do.
# - sseclient-py 1.9.0 hands half of the event on as a whole one.
# - aiohttp-sse-client 0.2.1 and aiohttp-sse-client2 0.3.0 keep the half, ask again, and put it before the data of the
#   first event of the new answer, which is lost by that.
#
# Seen, of {"a": 1} and half of {"b": 2}, by two answers that are alike: sseclient-py {"a": 1}, {"b"; both aiohttp clients
# {"a": 1}, {"b"\n{"a": 1}; the other two {"a": 1}.
# Prints one line for each client; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sseclient-py==1.9.0 requests==2.34.2 \
  aiohttp-sse-client==0.2.1 aiohttp-sse-client2==0.3.0 aiohttp==3.14.5 httpx-sse==0.4.3 httpx==0.28.1 \
  launchdarkly-eventsource==1.7.4
"$folder/venv/bin/python" -W ignore - <<'EOF'
import asyncio
import importlib
import socket
import sys
import threading
from itertools import islice

import httpx
import httpx_sse
import ld_eventsource
import requests
import sseclient

ANSWER = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
          b'data: {"a": 1}\n\ndata: {"b"')
listener = socket.create_server(("127.0.0.1", 0))
URL = f"http://127.0.0.1:{listener.getsockname()[1]}/"


def serve():
    while True:
        connection = listener.accept()[0]
        connection.recv(4096)
        connection.sendall(ANSWER)
        connection.close()


threading.Thread(target=serve, daemon=True).start()


def by_sseclient_py():
    with requests.get(URL, stream=True, timeout=10) as answer:
        return [event.data for event in sseclient.SSEClient(answer).events()]


def by_httpx_sse():
    with httpx.Client() as client, httpx_sse.connect_sse(client, "GET", URL) as source:
        return [event.data for event in source.iter_sse()]


def by_launchdarkly():
    client = ld_eventsource.SSEClient(URL)
    try:
        return [event.data for event in islice(client.events, 2)]
    finally:
        client.close()


def by_aiohttp(package):
    async def two():
        data = []
        async with importlib.import_module(f"{package}.client").EventSource(URL) as source:
            async for event in source:
                data.append(event.data)
                if len(data) == 2:
                    return data

    return asyncio.run(asyncio.wait_for(two(), 30))


WHOLE, HALF = '{"a": 1}', '{"b"'
JOINED = [WHOLE, f"{HALF}\n{WHOLE}"]
SEEN = {
    "sseclient-py": (by_sseclient_py, [WHOLE, HALF]), "httpx-sse": (by_httpx_sse, [WHOLE]),
    "launchdarkly-eventsource": (by_launchdarkly, [WHOLE]),
    "aiohttp-sse-client": (lambda: by_aiohttp("aiohttp_sse_client"), JOINED),
    "aiohttp-sse-client2": (lambda: by_aiohttp("aiohttp_sse_client2"), JOINED),
}
found = {}
for name, (read, _) in SEEN.items():
    found[name] = read()
    print(f"{name}: {found[name]}")
sys.exit(found != {name: data for name, (_, data) in SEEN.items()})
EOF

#!/bin/sh
# CPython 3.11: urllib.request and http.client: a server dies within an answer, and what the program sees depends on how it
# reads. read() raises IncompleteRead. "for line in response", as one reads a stream of events, ends as if all had come, where
# the answer has a length, and where it is sent in chunks and breaks off between two of them, as a stream of events does.
# read(n), readinto() and read1() raise for chunks and end quietly for a length.
# requests 2.34.2, httpx 0.28.1 and aiohttp 3.14.5 raise for lines, too. Issue 115997 of CPython (open) has it for answers with
# a length, from 3.8 to 3.13.
#
# Seen, of an answer in chunks that breaks off after a chunk, within one, and of one with a length: read(): raises, raises,
# raises; lines: ends, raises, ends; read(n), readinto(), read1(): raises, raises, ends; requests, httpx, aiohttp, by lines:
# raises, raises, raises.
# Prints one line for each way to read; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check requests==2.34.2 httpx==0.28.1 aiohttp==3.14.5
"$folder/venv/bin/python" - <<'EOF'
import asyncio
import socket
import sys
import threading
from http.client import IncompleteRead
from urllib.request import urlopen

import aiohttp
import httpx
import requests

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n"
ANSWERS = {
    "/after": CHUNKED,
    "/within": CHUNKED + b"9\r\ndata",
    "/length": b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\ndata: 1\n\n",
}
server = socket.create_server(("127.0.0.1", 0))
url = f"http://127.0.0.1:{server.getsockname()[1]}"


def serve(connection):
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    connection.sendall(ANSWERS[head.split()[1].decode()])
    connection.close()


def accept():
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


def until_empty(read):
    while read():
        pass


def by_httpx(address):
    with httpx.stream("GET", address) as response:
        for _ in response.iter_lines():
            pass


def by_requests(address):
    for _ in requests.get(address, stream=True, timeout=10).iter_lines():
        pass


def by_aiohttp(address):
    async def lines():
        async with aiohttp.ClientSession() as session, session.get(address) as response:
            async for _ in response.content:
                pass
    asyncio.run(lines())


def by_readinto(address):
    response, buffer = urlopen(address, timeout=10), bytearray(4)
    until_empty(lambda: response.readinto(buffer))


def of_urllib(read):
    return lambda address: read(urlopen(address, timeout=10))


CUT = IncompleteRead, requests.exceptions.ChunkedEncodingError, httpx.RemoteProtocolError, aiohttp.ClientPayloadError
READERS = {
    "read()": of_urllib(lambda response: response.read()),
    "lines": of_urllib(list),
    "read(n)": of_urllib(lambda response: until_empty(lambda: response.read(4))),
    "readinto()": by_readinto,
    "read1()": of_urllib(lambda response: until_empty(response.read1)),
    "requests, lines": by_requests,
    "httpx, lines": by_httpx,
    "aiohttp, lines": by_aiohttp,
}
EXPECTED = dict.fromkeys(("read(n)", "readinto()", "read1()"), ["raises", "raises", "ends"])
EXPECTED["lines"] = ["ends", "raises", "ends"]


def how_it_ends(reader, address):
    try:
        reader(address)
    except CUT:
        return "raises"
    return "ends"


threading.Thread(target=accept, daemon=True).start()
is_same = True
for name, reader in READERS.items():
    found = [how_it_ends(reader, url + path) for path in ANSWERS]
    print(f"{name}: cut after a chunk: {found[0]}; within a chunk: {found[1]}; before its length: {found[2]}")
    is_same &= found == EXPECTED.get(name, ["raises"] * 3)
sys.exit(not is_same)
EOF

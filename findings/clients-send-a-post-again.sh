#!/bin/sh
# A server reads a POST, works on it, and the connection ends without an answer, as when a worker or a proxy is restarted.
# httplib2 0.32.1 then sends the same POST once more, by itself, and so do pycurl 7.49.0 and curl_cffi 0.17.0, both over libcurl,
# where an earlier request had used the connection: the work is done twice, the caller has one answer, 200, and is told
# nothing. RFC 9110, 9.2.2, has that a client must not do so with a method that may not be repeated, unless it knows that
# this request may.
# httplib2 has only a comment on its RETRIES. For libcurl it is public as pull request 18417 (open), by which a caller could
# forbid it. requests 2.34.2, httpx 0.28.1, aiohttp 3.14.5, http.client and, since issue 280 of urllib3.future, niquests 3.21.2
# raise an error and leave it to the caller.
# Give a request that costs something a key by which the server knows it again.
#
# Seen, how often the lost POST came to the server, and what its caller had, for the second on a connection: httplib2, pycurl,
# curl_cffi: 2, 200; the others: 1, an error. For the first: httplib2: 2, 200; the others: 1, an error.
# Prints one line for each client; exit 1 if one of them changes. The server is a thread that listens on loopback.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check httplib2==0.32.1 pycurl==7.49.0 \
  curl_cffi==0.17.0 requests==2.34.2 httpx==0.28.1 aiohttp==3.14.5 niquests==3.21.2
"$folder/venv/bin/python" - <<'EOF'
import asyncio
import io
import socket
import sys
from http.client import HTTPConnection
from threading import Thread

import aiohttp
import curl_cffi
import httplib2
import httpx
import niquests
import pycurl
import requests


class Server:
    """Answers each POST but the one that it is to lose: it reads that and closes the connection."""

    def __init__(self, lost):
        self.lost = lost
        self.bodies = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            connection, _ = self.listener.accept()
            Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        with connection, connection.makefile("rb") as lines:
            while lines.readline():
                length = 0
                while (line := lines.readline().strip()) != b"":
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                body = lines.read(length).decode()
                is_first = body not in self.bodies
                self.bodies.append(body)
                if body == self.lost and is_first:
                    return
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def by_httplib2(url, bodies):
    client = httplib2.Http()
    return [client.request(url, "POST", body=body)[0].status for body in bodies]


def by_pycurl(url, bodies):
    client = pycurl.Curl()
    client.setopt(pycurl.URL, url)
    client.setopt(pycurl.WRITEDATA, io.BytesIO())
    statuses = []
    for body in bodies:
        client.setopt(pycurl.POSTFIELDS, body)
        client.perform()
        statuses.append(client.getinfo(pycurl.RESPONSE_CODE))
    return statuses


def by_session(library):
    def post(url, bodies):
        with library.Session() as client:
            return [client.post(url, data=body.encode()).status_code for body in bodies]

    return post


def by_httpx(url, bodies):
    with httpx.Client() as client:
        return [client.post(url, content=body).status_code for body in bodies]


def by_aiohttp(url, bodies):
    async def post():
        async with aiohttp.ClientSession() as client:
            statuses = []
            for body in bodies:
                async with client.post(url, data=body) as answer:
                    statuses.append(answer.status)
            return statuses

    return asyncio.run(post())


def by_http_client(url, bodies):
    client = HTTPConnection(url.split("/")[2])
    statuses = []
    for body in bodies:
        client.request("POST", "/", body=body)
        answer = client.getresponse()
        answer.read()
        statuses.append(answer.status)
    return statuses


CLIENTS = {
    "httplib2": by_httplib2,
    "pycurl": by_pycurl,
    "curl_cffi": by_session(curl_cffi),
    "requests": by_session(requests),
    "httpx": by_httpx,
    "aiohttp": by_aiohttp,
    "niquests": by_session(niquests),
    "http.client": by_http_client,
}


def outcome(post, lost):
    server = Server(lost)
    try:
        ended = str(post(server.url, ["one", "two"])[-1])
    except Exception:
        ended = "an error"
    return server.bodies.count(lost), ended


found = {name: (outcome(post, "two"), outcome(post, "one")) for name, post in CLIENTS.items()}
for name, ((times, ended), (first_times, first_ended)) in found.items():
    print(f"{name}: second on its connection: came {times} times, {ended}; first: {first_times}, {first_ended}")
ONCE, AGAIN = (1, "an error"), (2, "200")
expected = dict.fromkeys(CLIENTS, (ONCE, ONCE)) | dict.fromkeys(("pycurl", "curl_cffi"), (AGAIN, ONCE))
sys.exit(found != expected | {"httplib2": (AGAIN, AGAIN)})
EOF

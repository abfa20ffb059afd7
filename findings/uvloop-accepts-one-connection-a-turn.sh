#!/bin/sh
# uvloop 0.23.0: a server takes one waiting connection in each turn of the loop; asyncio's own loop takes as many as its
# backlog, 100, in one. What a turn costs, each new connection waits for: where turns are long because the server is busy,
# the last of a burst comes to its turn late, a probe of a balancer among them.
#
# Seen, of 50 connections that wait: asyncio (CPython 3.11 to 3.13) takes them in 1 turn, uvloop in 50.
# Prints one line for each loop; exit 1 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check uvloop==0.23.0
"$folder/venv/bin/python" - <<'EOF'
import asyncio
import socket
import sys

import uvloop

WAITING = 50


async def turns_needed():
    """The number of turns of the loop in which connections were taken."""
    loop = asyncio.get_running_loop()
    turn, taken_in, all_taken = 0, [], loop.create_future()

    class Taken(asyncio.Protocol):
        def connection_made(self, transport):
            taken_in.append(turn)
            if len(taken_in) == WAITING:
                all_taken.set_result(None)

    def next_turn():
        nonlocal turn
        turn += 1
        if not all_taken.done():
            loop.call_soon(next_turn)

    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        clients = [socket.create_connection(listener.getsockname()) for _ in range(WAITING)]
        server = await loop.create_server(Taken, sock=listener, backlog=100)
        loop.call_soon(next_turn)
        await asyncio.wait_for(all_taken, 10)
        server.close()
    for client in clients:
        client.close()
    return len(set(taken_in))


found = {}
for name, factory in {"asyncio": asyncio.SelectorEventLoop, "uvloop": uvloop.new_event_loop}.items():
    with asyncio.Runner(loop_factory=factory) as runner:
        found[name] = runner.run(turns_needed())
    print(f"{name}: {WAITING} connections in {found[name]} turns")
sys.exit(found != {"asyncio": 1, "uvloop": WAITING})
EOF

#!/bin/sh
# A transport of asyncio pauses its writer above 64 KiB in its buffer and resumes it at a quarter of that, 16 KiB. uvloop
# 0.23.0 has 64 KiB and 16 bytes: whoever awaits drain() goes on only when all is sent.
# Marks that are set by set_write_buffer_limits(high=65536) are right.
#
# Seen: asyncio (16384, 65536), resumed with 16192 bytes left; uvloop (16, 65536), resumed with 0 left;
# set by hand (16384, 65536) for both.
# Prints one line for each; exit 1 if one of them changes.
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


class Writer(asyncio.Protocol):
    def __init__(self):
        self.left = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport
        self.limits = transport.get_write_buffer_limits()
        transport.write(b"x" * 1_000_000)

    def resume_writing(self):
        self.left.set_result(self.transport.get_write_buffer_size())


async def see():
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
    _, writer = await loop.create_connection(Writer, sock=ours)
    while not writer.left.done():
        await loop.sock_recv(theirs, 1_000)
        await asyncio.sleep(0)
    writer.transport.set_write_buffer_limits(high=65536)
    limits = writer.transport.get_write_buffer_limits()
    writer.transport.abort()
    theirs.close()
    return writer.limits, writer.left.result(), limits


def main():
    with asyncio.Runner() as runner:
        ours = runner.run(see())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        others = runner.run(see())
    for name, (limits, left, by_hand) in (("asyncio", ours), ("uvloop", others)):
        print(f"{name}: {limits}, resumed with {left} bytes left; set by hand {by_hand}")
    same = ours[0] == (16384, 65536) and 0 < ours[1] <= 16384 and others[:2] == ((16, 65536), 0)
    return 0 if same and ours[2] == others[2] == (16384, 65536) else 1


sys.exit(main())
EOF

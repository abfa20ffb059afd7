"""How many requests a second the generator itself can do: against a server that only sends one fixed answer.

The server is a process of its own, so that on two cores each has one, as in a real measurement.
"""

from __future__ import annotations

import asyncio
import socket
from multiprocessing import get_context
from typing import Any

from ops.load.arrivals import ClosedLoop, Limits
from ops.load.client import Client, run
from ops.load.generator import Generator

_BODY = b'{"corrected": "He went to school", "explanation": "Fixed.", "edits": [], "request_id": "0"}\n'
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


def measure(sentences: list[str], concurrency: int, seconds: float) -> dict[str, Any]:
    """The summary of a closed loop against the fixed answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        server = get_context("spawn").Process(target=_serve, args=(listener,), daemon=True)
        server.start()
        try:
            client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}")
            Generator(client, sentences, ClosedLoop(1), Limits(total=1)).run()  # until it is there
            generator = Generator(client, sentences, ClosedLoop(concurrency), Limits(duration_s=seconds))
            return generator.run().summary(slo_ms=None)
        finally:
            server.kill()
            server.join()


class _FixedAnswer(asyncio.Protocol):
    """A request is what one read brings: they are small and never pipelined."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(_ANSWER)


def _serve(listener: socket.socket) -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_FixedAnswer, sock=listener)
        await server.serve_forever()

    run(serve())

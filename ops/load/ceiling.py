"""How many requests a second the generator itself can do: against a server that only sends one fixed answer.

The server is a process of its own, so that on two cores each has one, as in a real measurement.
"""

from __future__ import annotations

import selectors
import socket
from multiprocessing import get_context
from typing import Any

from ops.load.arrivals import ClosedLoop, Limits
from ops.load.connection import Target
from ops.load.generator import Generator

_BODY = b'{"corrected": "He went to school", "explanation": "Fixed.", "edits": [], "request_id": "0"}\n'
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


def measure(sentences: list[str], concurrency: int, seconds: float) -> dict[str, Any]:
    """The summary of a closed loop against the fixed answer."""
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        server = get_context("spawn").Process(target=_serve, args=(listener,), daemon=True)
        server.start()
        try:
            target = Target.from_url(f"http://127.0.0.1:{listener.getsockname()[1]}")
            Generator(target, sentences, ClosedLoop(1), Limits(total=1), None).run()  # until it is there
            generator = Generator(target, sentences, ClosedLoop(concurrency), Limits(duration_s=seconds), None)
            return generator.run().summary(slo_ms=None)
        finally:
            server.kill()
            server.join()


def _serve(listener: socket.socket) -> None:
    """Answer every request, for ever. A request is what one read brings: they are small and never pipelined."""
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                _turn(key.fileobj, listener, selector)


def _turn(ready: socket.socket, listener: socket.socket, selector: selectors.BaseSelector) -> None:
    if ready is listener:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ)
    elif ready.recv(65_536):
        ready.sendall(_ANSWER)
    else:
        selector.unregister(ready)
        ready.close()

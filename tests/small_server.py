"""HTTP servers of a few lines for the load generator's tests: each answers what the test says."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Self

OK = {"corrected": "He went.", "explanation": "Fixed.", "edits": [], "request_id": "r"}
FULL = {"type": "urn:miniserve:problem:queue-full"}


def http(status: int, document: object, *headers: str) -> bytes:
    body = json.dumps(document).encode()
    head = "\r\n".join([f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers])
    return head.encode() + b"\r\n\r\n" + body


class LastWords(bytes):
    """An answer after which the server closes the connection, whatever it has promised."""


class SmallServer:
    """Answers request number n with `answer(n)`; None closes the connection instead."""

    def __init__(
        self, answer: Callable[[int], bytes | None], delay_s: float = 0.0, tls: ssl.SSLContext | None = None
    ) -> None:
        self.num_connections = self.num_requests = self.most_at_once = self._at_once = 0
        self.received: list[bytes] = []  # the requests, as they came
        self._answer, self._delay_s, self._tls = answer, delay_s, tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.num_connections += 1
            self._connections.append(connection)
            threading.Thread(target=self._serve_until_left, args=(connection,), daemon=True).start()

    def _serve_until_left(self, connection: socket.socket) -> None:
        with suppress(ConnectionError, ssl.SSLError):  # a client that was killed, or does not trust us
            self._serve(self._tls.wrap_socket(connection, server_side=True) if self._tls else connection)

    def _serve(self, connection: socket.socket) -> None:
        while received := _request(connection):
            with self._lock:
                self.received.append(received)
                self.num_requests += 1
                self._at_once += 1
                self.most_at_once = max(self.most_at_once, self._at_once)
                answer = self._answer(self.num_requests)
            time.sleep(self._delay_s)
            with self._lock:
                self._at_once -= 1
            if answer is None:
                break
            connection.sendall(answer)
            if isinstance(answer, LastWords):
                break
        connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hang_up(self) -> None:
        self._connections[-1].shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


StartServer = Callable[..., SmallServer]


@contextmanager
def small_servers() -> Iterator[StartServer]:
    """What starts one: `start(answer, delay_s=0.0)`. All are closed at the end."""
    with ExitStack() as servers:
        yield lambda answer, delay_s=0.0, **more: servers.enter_context(SmallServer(answer, delay_s, **more))


def _request(connection: socket.socket) -> bytes:
    """Head and body, which may come one after the other; what has come until the client leaves."""
    received = piece = connection.recv(65536)
    while piece and not _is_whole(received):
        piece = connection.recv(65536)
        received += piece
    return received


def _is_whole(received: bytes) -> bool:
    head, end, body = received.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)

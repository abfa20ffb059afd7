"""Servers that are posted to; the one for webhooks answers as it is told, and keeps what it got."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class PostReceiver(ABC):
    """An HTTP server on loopback for what is posted; a context manager."""

    def __init__(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.send_response(receiver.take(self, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @abstractmethod
    def take(self, request: BaseHTTPRequestHandler, body: bytes) -> int:
        """Returns the status of the answer."""


class WebhookReceiver(PostReceiver):
    """`answers`: statuses in turn, the last one for ever; 0 holds the answer back."""

    def __init__(self, *answers: int) -> None:
        super().__init__()
        self.payloads: list[dict[str, Any]] = []
        self.content_types: list[str] = []
        self.release = threading.Event()
        self._answers = list(answers or (200,))

    @property
    def url(self) -> str:
        return f"{super().url}/hook/S3CRET?token=S3CRET"

    def __exit__(self, *_: object) -> None:
        self.release.set()
        super().__exit__()

    def take(self, request: BaseHTTPRequestHandler, body: bytes) -> int:
        self.payloads.append(json.loads(body))
        self.content_types.append(request.headers["Content-Type"])
        status = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if status == 0:
            self.release.wait()
        return status or 200

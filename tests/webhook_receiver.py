"""A server that webhooks are posted to: it answers as it is told, and keeps what it got."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class WebhookReceiver:
    """Use it as a context manager. `answers`: statuses in turn, the last one for ever; 0 holds the answer back."""

    def __init__(self, *answers: int) -> None:
        self.payloads: list[dict[str, Any]] = []
        self.arrived_s: list[float] = []
        self.content_types: list[str] = []
        self.release = threading.Event()
        self._answers = list(answers or (200,))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hook/S3CRET?token=S3CRET"

    def __enter__(self) -> WebhookReceiver:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, payload: dict[str, Any], content_type: str) -> int:
        self.payloads.append(payload)
        self.content_types.append(content_type)
        self.arrived_s.append(time.monotonic())
        status = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if status == 0:
            self.release.wait(30)
        return status or 200

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.take(json.loads(body), self.headers["Content-Type"])
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return Handler

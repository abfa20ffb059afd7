"""A server that webhooks are posted to: it answers as it is told, and keeps what it got."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

from ops.drills.inbox import PostReceiver


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

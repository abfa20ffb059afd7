"""A server for webhooks that answers as it is told, and keeps what it got."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.small_server import SmallServer, http


class WebhookReceiver(SmallServer):
    """`answers`: statuses in turn, the last one for ever; 0 holds the answer back."""

    def __init__(self, *answers: int) -> None:
        self._answers = answers or (200,)
        super().__init__(self._reply)
        self.url += "/hook/S3CRET?token=S3CRET"

    def _reply(self, number: int) -> bytes:
        status = self._answers[min(number, len(self._answers)) - 1]
        return http(status, {}, "Location: /elsewhere") if status else b""

    @property
    def payloads(self) -> list[dict[str, Any]]:
        return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in self.received]

    @property
    def content_types(self) -> list[str]:
        return [re.search(rb"(?i)\r\ncontent-type: (\S+)", request)[1].decode() for request in self.received]

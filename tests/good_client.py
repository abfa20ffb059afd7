"""A good client, to be attacked by those of ops/drills/rude_clients.py."""

from __future__ import annotations

import http.client
import json

GOOD = "127.0.0.3"


class GoodClient:
    """Asks for one correction after the other on a connection that is kept."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, source_address=(GOOD, 0))

    def ask(self, number: int) -> tuple[int, str]:
        body = json.dumps({"sentence": f"He goed to {number} schools"})
        self._connection.request("POST", "/correct", body, {"Content-Type": "application/json"})
        reply = self._connection.getresponse()
        document = json.loads(reply.read())
        return reply.status, document.get("corrected", document.get("type"))

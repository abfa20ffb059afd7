"""A real monitor for drills, and its webhook, which keeps what the monitor posts and when it came."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from ops.drills.system import System
from ops.run import processes
from scheduler.settings import Settings

_STOP_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class Change:
    """An alert, as it came in; the time is that of `time.monotonic`."""

    at_s: float
    alert: str
    is_raised: bool
    sentence: str


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


class Inbox(PostReceiver):
    """Keeps the alerts that a monitor posts."""

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[Change] = []

    def take(self, request: BaseHTTPRequestHandler, body: bytes) -> int:
        at_s, payload = time.monotonic(), json.loads(body)
        self.changes.append(Change(at_s, payload["alert"], payload["status"] == "raised", payload["sentence"]))
        return 200

    def first(self, alert: str, is_raised: bool, since_s: float) -> float | None:
        """When it first arrived after that time."""
        found = (one.at_s for one in self.changes if one.alert == alert and one.is_raised is is_raised)
        return next((at_s for at_s in found if at_s >= since_s), None)

    def standing(self) -> set[str]:
        """What is raised now."""
        last = {one.alert: one.is_raised for one in self.changes}
        return {alert for alert, is_raised in last.items() if is_raised}


@contextmanager
def monitored(system: System, settings: Settings) -> Iterator[Inbox]:
    """A monitor watches the system until the end of the block."""
    with Inbox() as inbox:
        settings = replace(settings, redis_url=system.server.url, alert_webhook=inbox.url)
        env = {**system.apis[0].env, **settings.to_env()}
        monitor = processes.spawn(processes.miniserve_command("monitor"), env, output=subprocess.DEVNULL)
        try:
            yield inbox
        finally:
            processes.stop(monitor, _STOP_PATIENCE_S)

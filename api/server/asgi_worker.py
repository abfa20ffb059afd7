"""The gunicorn worker that serves the API: uvicorn's, with our protocol and a warm shutdown for every signal."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from typing import Any

from gunicorn.arbiter import Arbiter
from uvicorn import Server
from uvicorn_worker import UvicornWorker

from api.server.protocol import BoundedConnection


class ApiWorker(UvicornWorker):
    """One process, one event loop."""

    CONFIG_KWARGS: dict[str, Any] = {
        "loop": "auto", "http": BoundedConnection, "ws": "none", "lifespan": "on", "interface": "asgi3",
        "access_log": False, "proxy_headers": False, "server_header": False, "timeout_graceful_shutdown": 2,
        "h11_max_incomplete_event_size": 32 * 1024,
    }  # fmt: skip

    def run(self) -> None:
        with asyncio.Runner(loop_factory=self.config.get_loop_factory()) as runner:
            runner.run(self._serve_connections())

    async def _serve_connections(self) -> None:
        """The application hands connections to uvicorn: its loop would accept one in each iteration."""
        log = logging.getLogger("uvicorn.error")
        log.propagate = True  # else its lines are none of ours
        log.setLevel(logging.ERROR)  # the protocol logs what cannot be read
        self.config.app = self.wsgi
        server = Server(self.config)
        asyncio.get_running_loop().add_signal_handler(signal.SIGQUIT, self.wsgi.stop)  # what Ctrl-C makes gunicorn send
        self.wsgi.listen(server, self.sockets)
        await server.serve(sockets=[])
        if not server.started:
            sys.exit(Arbiter.WORKER_BOOT_ERROR)

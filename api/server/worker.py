"""The gunicorn worker that serves the API: one process, one event loop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from gunicorn.workers.base import Worker

from api.telemetry.line_writer import STDERR

try:
    from uvloop import new_event_loop
except ImportError:  # no wheel and no compiler
    from asyncio import new_event_loop  # type: ignore[assignment]

logger = logging.getLogger(__name__)


class ApiWorker(Worker):
    """gunicorn's base worker, whose application is a `Serving`."""

    def run(self) -> None:
        signal.set_wakeup_fd(-1)  # gunicorn's; the event loop has its own
        if not self.alive:
            return
        try:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(self.wsgi.serve(self.sockets, self._look_at_master))
        except Exception:
            logger.critical("the event loop failed, and this process ends", exc_info=True)
            STDERR.drain()
            os._exit(os.EX_SOFTWARE)  # at once, whatever its threads do; gunicorn starts another

    def _look_at_master(self) -> None:
        self.notify()
        if os.getppid() != self.ppid:  # it was killed, and the port would be held for nobody
            os._exit(1)

"""The gunicorn worker that serves the API: one process, one event loop."""

from __future__ import annotations

import asyncio
import os
import signal

from gunicorn.workers.base import Worker

try:
    from uvloop import new_event_loop
except ImportError:  # no wheel and no compiler
    from asyncio import new_event_loop  # type: ignore[assignment]


class ApiWorker(Worker):
    """gunicorn's base worker, whose application is a `Serving`."""

    def run(self) -> None:
        signal.set_wakeup_fd(-1)  # gunicorn's; the event loop has its own
        if self.alive:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(self.wsgi.serve(self.sockets, self._look_at_master))

    def _look_at_master(self) -> None:
        self.notify()
        if os.getppid() != self.ppid:  # it was killed, and the port would be held for nobody
            os._exit(1)

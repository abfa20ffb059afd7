"""Whether this API process is ready.

`Readiness` asks for the state of the queue again and again in a thread of the operating system, so that an answer waits
for nothing: what it knows is a quarter of a second old, and too old is not ready.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from scheduler.capacity.progress import Progress
from scheduler.errors import NotReady
from worker.queue.admission import shutting_down
from worker.queue.protocol import MailboxStatus

logger = logging.getLogger(__name__)
ASK_EVERY_S = 0.25
TOO_OLD_S = 1.5  # of an answer: one lost to a Redis that hangs, and the next
STUCK_AFTER_S = 3.0  # that requests are open and none is answered
DEGRADED_ABOVE = 0.05  # share of failing answers, as in the alert
LOOP_PATIENCE_S = 5.0  # without an iteration of this process's event loop; an overload delays it by one or two
_PROBE_AGAIN_S = 1.0


class Readiness:
    """Used in the event loop, but for `watch`."""

    def __init__(self) -> None:
        self.is_stopping = False
        self.is_full: Callable[[], bool] = lambda: False  # no further connection is taken
        self.last_iteration_s = time.monotonic()  # of the event loop that answers requests; written by it
        self.asked_s = 0.0  # when the last answered request for the status began: what was counted by then is reported
        self.progress = Progress()
        self._latest: tuple[MailboxStatus, float] | None = None  # and when it came

    def watch(self, ask: Callable[[], MailboxStatus]) -> None:
        """Ask for ever, in a thread."""
        while True:
            try:
                self.look(ask)
            except Exception:  # one that fails must not be the last one
                logger.exception("the state of the queue could not be asked for")
            time.sleep(ASK_EVERY_S)

    def look(self, ask: Callable[[], MailboxStatus]) -> None:
        began_s, status = time.monotonic(), ask()
        if status.redis_ok:
            self.asked_s = began_s
            self.progress.note(began_s, status.reserved_requests, status.num_done, status.num_failed)
        if status.redis_ok or status.refusal or self._latest is None:  # what is known holds until it is too old
            self._latest = status, time.monotonic()

    @property
    def has_asked(self) -> bool:
        return self._latest is not None

    def document(self) -> dict[str, Any]:
        """The body of GET /readyz. Raises NotReady, ShuttingDown."""
        status, failing_share = self.check(), self.progress.failing_share
        document: dict[str, Any] = {"status": "ready"}
        if failing_share > DEGRADED_ABOVE:
            why = f"{failing_share:.0%} of the answers fail: see answers-failing."
            document = {"status": "degraded", "detail": why}
        return document | {"live_workers": status.live_workers, "queue_depth": status.queue_depth}

    def check(self) -> MailboxStatus:
        """Returns the latest status. Raises NotReady, ShuttingDown."""
        if self.is_stopping:
            raise shutting_down()
        now = time.monotonic()
        if now - self.last_iteration_s > LOOP_PATIENCE_S:
            raise NotReady(f"This replica has done nothing for {LOOP_PATIENCE_S:g} s.", _PROBE_AGAIN_S)
        if self.is_full():
            raise NotReady("This replica has as many connections as it may.", _PROBE_AGAIN_S)
        if self._latest is None:
            raise NotReady("This replica has just started; try again shortly.", _PROBE_AGAIN_S)
        status, came_s = self._latest
        if now - came_s > TOO_OLD_S:
            raise NotReady(f"Redis does not answer within {TOO_OLD_S:g} s; try again shortly.", _PROBE_AGAIN_S)
        if status.refusal or not status.redis_ok:
            raise NotReady(status.refusal or "Redis does not answer; try again shortly.", _PROBE_AGAIN_S)
        if not status.live_workers:
            raise NotReady("No worker has completed an iteration, or idled, in the last 3 s.", _PROBE_AGAIN_S)
        if status.is_suspended:
            raise NotReady("`rq suspend` was called: workers take no request until `rq resume`.", _PROBE_AGAIN_S)
        if self.progress.stuck_s > STUCK_AFTER_S:
            why = f"Requests wait, and the workers have answered none for {self.progress.stuck_s:.0f} s."
            raise NotReady(f"{why} See no-progress.", _PROBE_AGAIN_S)
        return status

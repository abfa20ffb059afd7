"""Is this replica ready? One rule, for the application's own route and for the door that answers probes beside it.

Over a queue `Readiness` asks for its state again and again in a thread of the operating system, so that an answer costs
no wait and no turn: what it knows is a quarter of a second old, and too old is not ready. In the modes without a queue
the model is in this process, and the corrector knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog

from scheduler.errors import NotReady
from worker.mailbox.bounds import shutting_down
from worker.mailbox.protocol import MailboxStatus

logger = structlog.get_logger(__name__)
ASK_EVERY_S = 0.25
TOO_OLD_S = 1.5  # of an answer: one lost to a Redis that hangs, and the next
LOOP_PATIENCE_S = 5.0  # without a turn of this replica's own loop; an overload keeps it busy for one or two
_PROBE_AGAIN_S = 1.0


def check_status(status: MailboxStatus) -> MailboxStatus:
    """The status of a system that can answer. Raises NotReady."""
    if not status.redis_ok:
        raise NotReady("Redis does not answer; try again shortly.", _PROBE_AGAIN_S)
    if not status.live_workers:
        raise NotReady("No worker's loop has turned in the last 3 s.", _PROBE_AGAIN_S)
    return status


def ready_document(status: MailboxStatus) -> dict[str, Any]:
    """The body of GET /readyz."""
    document = {"status": "ready", "live_workers": status.live_workers, "queue_depth": status.queue_depth}
    return document | ({"batch_invariance": status.batch_invariance} if status.batch_invariance else {})


class Readiness:
    """`watch` runs in a thread of its own and for ever; the rest may be called from any."""

    def __init__(self, ask: Callable[[], MailboxStatus]) -> None:
        self.is_stopping = False
        self.turned_s = time.monotonic()  # when the loop that answers requests last turned; written by it
        self.asked_s = 0.0  # when the last question that was answered began: what was counted by then is reported
        self._ask = ask
        self._heard: tuple[MailboxStatus, float] | None = None  # and when

    def watch(self) -> None:
        while True:
            began_s = time.monotonic()
            try:
                status = self._ask()
                self.asked_s = began_s if status.redis_ok else self.asked_s
                if status.redis_ok or self._heard is None:  # what is known holds until it is too old
                    self._heard = status, time.monotonic()
            except Exception:  # a question that fails must not be the last one
                logger.exception("the state of the queue could not be asked for")
            time.sleep(ASK_EVERY_S)

    def check(self) -> MailboxStatus:
        """What was heard last. Raises NotReady, ShuttingDown."""
        if self.is_stopping:
            raise shutting_down()
        now = time.monotonic()
        if now - self.turned_s > LOOP_PATIENCE_S:
            raise NotReady(f"This replica has done nothing for {LOOP_PATIENCE_S:g} s.", _PROBE_AGAIN_S)
        if self._heard is None:
            raise NotReady("This replica has just started; try again shortly.", _PROBE_AGAIN_S)
        status, heard_s = self._heard
        if now - heard_s > TOO_OLD_S:
            raise NotReady(f"Redis does not answer within {TOO_OLD_S:g} s; try again shortly.", _PROBE_AGAIN_S)
        return check_status(status)

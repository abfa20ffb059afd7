"""Looks at all shards, each in a thread of its own, so that one that hangs delays no other; /readyz goes by the sum.

What this process has counted is reported to one of them, its home. Each gets what is counted for its learners.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from gevent.monkey import get_original

from api.shards.mailbox import ShardedMailbox
from api.shards.shard import UNSEEN, Shard
from worker.mailbox.connection import connect
from worker.mailbox.protocol import MailboxStatus
from worker.mailbox.status_client import StatusClient

LOOK_TIMEOUT_S = 0.5
_POLL_S = 0.004
logger = structlog.get_logger(__name__)


class ShardWatch:
    """`status` is asked again and again by one thread."""

    def __init__(self, mailbox: ShardedMailbox, totals: Callable[[], Mapping[str, float]]) -> None:
        self._mailbox = mailbox
        home = mailbox.home_of(f"{socket.gethostname()}-{os.getpid()}")
        self._looks = []
        for shard in mailbox.shards.values():
            own: Callable[[], Mapping[str, float]] = totals if shard is home else dict
            client = StatusClient(connect(shard.url, LOOK_TIMEOUT_S), own, shard.reports)
            self._looks.append(_Look(shard, client))

    def status(self) -> MailboxStatus:
        """Look at all that answer, for LOOK_TIMEOUT_S at most; never raises for one that is away."""
        began_s = time.monotonic()
        for look in self._looks:
            look.begin()
        while any(look.is_busy for look in self._looks) and time.monotonic() - began_s < LOOK_TIMEOUT_S:
            time.sleep(_POLL_S)
        return self._mailbox.status()


class _Look:
    """A thread of the operating system: a greenlet would wait for its turn behind requests."""

    def __init__(self, shard: Shard, client: StatusClient) -> None:
        self.is_busy = False
        self._shard, self._client = shard, client
        self._wanted: Any = get_original("_thread", "allocate_lock")()
        self._wanted.acquire()
        get_original("_thread", "start_new_thread")(self._run, ())

    def begin(self) -> None:
        if not self.is_busy:
            self.is_busy = True
            self._wanted.release()

    def _run(self) -> None:
        while True:
            self._wanted.acquire()
            try:
                self._shard.note(self._shard.mailbox.check_hearing(self._client.status()))
            except Exception:  # one that fails must not be the last one
                logger.exception("a shard could not be looked at", shard=self._shard.place)
                self._shard.note(UNSEEN)
            self.is_busy = False

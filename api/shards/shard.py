"""One shard as an API process knows it: its mailbox, and what the latest look at it found."""

from __future__ import annotations

import time
from typing import Any

import structlog

from scheduler.capacity.observed import Observed
from scheduler.errors import NotReady
from scheduler.messages import FinishReason
from scheduler.shards import QueueLoad, mark_of, place_of
from worker.mailbox.api_end import SUBMIT_PATIENCE_S, RedisApiMailbox
from worker.mailbox.connection import Command, connect, script
from worker.mailbox.learners import RedisLearners
from worker.mailbox.protocol import MailboxLimits, MailboxStatus, OnReply
from worker.mailbox.redis_observer import RedisObserver

AWAY_AFTER_S = 1.0  # without a good look: a Redis that restarts from its file is back by then
UNSEEN = MailboxStatus(redis_ok=False)
logger = structlog.get_logger(__name__)


class ShardMailbox(RedisApiMailbox):
    """A mailbox next to others: where its Redis is away, nobody waits for it to come back."""

    is_away = False  # written by the thread that looks

    @property
    def is_heard(self) -> bool:
        """Whether the subscription to answers stands: a Redis that was killed is noticed at once."""
        return self._listener.wait_until_subscribed(0.0)

    def post(self, command: Command, on_reply: OnReply) -> None:
        self._sender.post(command, SUBMIT_PATIENCE_S, on_reply)

    def _poll(self, older_than_s: float) -> None:
        if not self.is_away:
            super()._poll(older_than_s)
            return
        gone = NotReady("The Redis that held this request does not answer; send it again: others take it.", 1.0)
        job_ids = [job_id for job_id, _ in self._waiters.unanswered()]
        for job_id in job_ids:
            self._waiters.resolve(job_id, gone)
        if job_ids:  # of use where it stood still for a moment; else its jobs end by their deadlines
            cancel = script("cancel", self._channel, FinishReason.CANCELLED.value, *job_ids)
            self._sender.post(cancel, SUBMIT_PATIENCE_S)


class Shard:
    """`note` is called by the thread that looks, all else by those of requests."""

    def __init__(self, url: str, limits: MailboxLimits) -> None:
        self.place, self.mark = place_of(url), mark_of(url)
        self.url = url
        self.mailbox = ShardMailbox(connect(url), limits)
        self.observer = RedisObserver(self.ask)
        self.status = UNSEEN
        self.reports: RedisLearners | None = None  # what is counted for the learners it is home to
        self.is_seen = False  # whether it was looked at, with whatever result
        self.num_workers: int | None = None  # live ones, by the latest good look; None: there was none
        self.seen: Observed | None = None  # by the latest look for /metrics; None: it did not answer
        self.last_seen: Observed | None = None  # when it did
        self._good_s = time.monotonic()  # of the latest good look
        self._sent_tokens = 0  # to it since that look

    def note(self, status: MailboxStatus) -> None:
        """Take what a look has found. Of a shard that is away the counts are remembered."""
        now = time.monotonic()
        if status.redis_ok:
            self.status, self._good_s, self._sent_tokens = status, now, 0
            self.num_workers = status.live_workers
        else:
            done, failed = self.status.num_done, self.status.num_failed
            self.status = MailboxStatus(False, num_done=done, num_failed=failed, refusal=status.refusal)
        is_away = now - self._good_s >= AWAY_AFTER_S
        if is_away != self.mailbox.is_away:
            self.mailbox.is_away = is_away
            log = logger.warning if is_away else logger.info
            log("a shard is away: its requests go to others" if is_away else "a shard is back", shard=self.place)
        self.is_seen = True

    def note_sent(self, num_tokens: int) -> None:
        self._sent_tokens += num_tokens

    @property
    def is_up(self) -> bool:
        """Whether it may take a request, as far as is known."""
        return (self.status.redis_ok or not self.is_seen) and self.mailbox.is_heard

    @property
    def is_live(self) -> bool:
        """Whether a worker would answer one."""
        return self.is_up and self.status.live_workers > 0

    @property
    def load(self) -> QueueLoad:
        status = self.status
        tokens = status.reserved_tokens + self._sent_tokens
        return QueueLoad(tokens, status.service_rate_tokens_per_s, status.live_workers)

    def look(self) -> Observed | None:
        """What there is to see; None where it does not answer."""
        try:
            seen = self.last_seen = self.observer.observe()
        except NotReady:
            seen = None
        self.seen = seen
        return seen

    def ask(self, command: Command) -> Any:
        """Raises NotReady, of one that is away without a wait."""
        if self.mailbox.is_away:
            raise NotReady(f"The Redis of a shard ({self.place}) does not answer; try again shortly.", 1.0)
        return self.mailbox.ask(command)

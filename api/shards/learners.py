"""Counts of learners over several Redis: each learner in one of them, whichever answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from api.shards.mailbox import ShardedMailbox
from scheduler.shards import MARK_DIGITS
from worker.mailbox.connection import script
from worker.mailbox.learners import Answered, RedisLearners


class ShardedLearners:
    """Keeps the Learners protocol."""

    def __init__(self, mailbox: ShardedMailbox, max_memory_bytes: int) -> None:
        self._mailbox = mailbox
        for shard in mailbox.shards.values():
            shard.reports = RedisLearners(shard.ask, max_memory_bytes)

    def note(self, answered: Answered) -> None:
        """The shard that keeps an answer knows whether it was given before; then the learner's own counts it."""
        own = self._of(answered.learner)
        kept_by = self._mailbox.shards.get(answered.request_id[:MARK_DIGITS])
        if not answered.is_kept or kept_by is None:
            own.note(replace(answered, is_kept=False))
            return

        def count(_: Any, reply: Any, __: str) -> None:
            if reply == 1:
                own.note(replace(answered, is_kept=False))

        kept_by.mailbox.post(script("first", answered.request_id, "1" if answered.is_first else ""), count)

    def find(self, learner: str) -> Mapping[str, str]:
        return self._of(learner).find(learner)

    def forget(self, learner: str) -> None:
        self._of(learner).forget(learner)

    def _of(self, learner: str) -> RedisLearners:
        learners = self._mailbox.home_of(learner).reports
        assert learners is not None
        return learners

"""One API process, as far as learners know it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from worker.queue.connection import Address, Command, RedisConnection, checked
from worker.queue.learners import Answered, Learners

MEMORY = 2**31


class Replica:
    """Counts, and reports when it is told to."""

    def __init__(self, redis_url: str, max_memory_bytes: int = MEMORY) -> None:
        self.connection = RedisConnection(Address(redis_url))
        self.learners = Learners(self._ask, max_memory_bytes)

    async def _ask(self, command: Command) -> Any:
        return checked(self.connection.ask(command)[0])

    def find(self, learner: str) -> Mapping[str, str]:
        return asyncio.run(self.learners.find(learner))

    def forget(self, learner: str) -> None:
        asyncio.run(self.learners.forget(learner))

    def note(
        self, learner: str, request_id: str, *mistakes: tuple[str, str], is_first: bool = True, client: str = "1"
    ) -> None:
        self.learners.note(Answered(learner, client, request_id, is_first, True, 1, mistakes))

    def report(self, is_lost: bool = False) -> None:
        command = self.learners.command()
        assert command is not None
        (reply,) = self.connection.ask(command)
        assert reply == 0
        if not is_lost:
            self.learners.note_reply(reply)

    def corrections(self, learner: str) -> int:
        return int(self.find(learner).get("corrections", 0))

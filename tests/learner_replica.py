"""One API process, as far as learners know it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from redis import Redis, ResponseError

from worker.queue.connection import Command, checked, script, script_sources
from worker.queue.learners import Answered, Learners
from worker.queue.redis_py import in_our_words

MEMORY = 2**31


class ScriptClient:
    """Runs our scripts by a client of redis-py, fakeredis' too."""

    def __init__(self, client: Redis) -> None:
        self._client, self.close = client, client.close
        self._sources = {script(name)[1]: source for name, source in script_sources().items()}

    def ask(self, command: Command) -> list[Any]:
        _, digest, _, *arguments = command
        try:
            return [self._client.eval(self._sources[digest], 0, *arguments)]
        except ResponseError as error:
            return [in_our_words(error)]


class Replica:
    """Counts, and reports when it is told to."""

    def __init__(self, client: Redis, max_memory_bytes: int = MEMORY) -> None:
        self.connection = ScriptClient(client)
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

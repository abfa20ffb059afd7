"""What learners got wrong, counted by reason and verb in Redis, for all replicas.

A replica collects what it has answered and reports it with its next message, four times a second. A report whose reply
was lost is sent again as it was, and Redis adds it once. No text of a user comes here: a learner is a digest, a verb is
one of our table. Nothing of this is on the way of a request.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from worker.queue.connection import Command, script
from worker.queue.heartbeat import new_name
from worker.queue.line import ResponseError

logger = logging.getLogger(__name__)
KEPT_S = 90 * 86_400
MOST_VERBS = 128  # of one learner
_MOST_NEWS = 100_000  # answers that wait while Redis is away; the oldest are dropped
_AT_ONCE = 250  # in one report, and the words that end it: it takes Redis some ms
_MOST_WORDS = 8_192
_MOST_KINDS = 1_024  # of mistakes in one answer: those most often made count
_FORGETS_S = 2  # of what other replicas report of a learner who was just forgotten


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that a learner was given."""

    learner: str
    client: str  # that asked, as the queue counts it
    request_id: str
    is_first: bool  # of a POST: an answer that was kept for later may have been counted before
    is_kept: bool  # it can be had again
    num_texts: int
    mistakes: tuple[tuple[str, str], ...]  # reason and verb; '' where the verb is not known


class Learners:
    """Used in an event loop; `command` and `note_reply` by the one thread that reports."""

    def __init__(self, ask: Callable[[Command], Awaitable[Any]], max_memory_bytes: int) -> None:
        self._ask = ask
        self._max_memory_bytes = max_memory_bytes
        self._process = new_name()
        self._news: deque[Answered] = deque(maxlen=_MOST_NEWS)
        self._number = 1
        self._sent: Command | None = None  # by a report that may have been lost
        self._is_refused = False

    def note(self, answered: Answered) -> None:
        """Count it soon."""
        self._news.append(answered)

    def command(self) -> Command | None:
        """The report to send now; None where there is nothing to say."""
        if self._sent is None and self._news:
            words: list[Any] = []
            for _ in range(min(len(self._news), _AT_ONCE)):
                if len(words) >= _MOST_WORDS:
                    break
                one = self._news.popleft()
                kinds = Counter(one.mistakes).most_common(_MOST_KINDS)
                words += [one.learner, one.client, one.request_id if one.is_kept else "", "1" if one.is_first else ""]
                words += [one.num_texts, len(kinds)]
                for mistake, number in kinds:
                    words += [*mistake, number]
            bounds = (KEPT_S, self._max_memory_bytes, MOST_VERBS)
            self._sent = script("learn", self._process, self._number, *bounds, *words)
        return self._sent

    def note_reply(self, reply: Any) -> None:
        """Take the reply to that command. What Redis refused is sent again; what it broke off counts in part."""
        is_refused = isinstance(reply, ResponseError)
        if is_refused and not self._is_refused:  # once, not four times a second
            logger.error("Redis refused to count for learners: %s", reply)
        self._is_refused = is_refused
        if not is_refused:
            self._sent = None
            self._number += 1

    async def find(self, learner: str) -> Mapping[str, str]:
        """The fields of LEARN's hash; empty for one that is not known. Raises NotReady, NeedsAQueue."""
        words = [word.decode(errors="replace") for word in await self._ask(script("learner", learner))]
        return dict(zip(words[::2], words[1::2], strict=True))

    async def forget(self, learner: str) -> None:
        """Raises NotReady, NeedsAQueue."""
        await self._ask(script("forget", learner, _FORGETS_S))

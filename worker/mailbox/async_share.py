"""How much of one worker asynchronous requests may take while there are others."""

from __future__ import annotations

import time
from collections.abc import Container
from math import inf

from scheduler.messages import MAX_TOTAL_TOKENS

_OTHERS_S = 2.0  # after a request that somebody waits for, another may come
_PART = 16  # of 4,096 tokens: six short requests


class AsyncShare:
    """While others come: a sixteenth of the KV cache, and always one request; else all of it.

    A batch that they fill makes each iteration, and so everybody's answer, ten times as slow.
    """

    def __init__(self) -> None:
        self.turn = 0  # requests started since the last asynchronous one, as DRAIN counts them
        self.num_waiting = 0  # asynchronous ones in the queue, at the last DRAIN
        self._held: dict[str, int] = {}  # reserved tokens of each that the worker holds
        self._budget_tokens = 0  # the most capacity there ever was
        self._waited_for_s = -inf  # when a request came last that somebody waits for

    def note(self, request_id: str, reserved_tokens: int, is_async: bool) -> None:
        """A request has come."""
        if is_async:
            self._held[request_id] = reserved_tokens
        else:
            self._waited_for_s = time.monotonic()

    def keep(self, held_ids: Container[str]) -> None:
        """Forget those that have left the worker."""
        if self._held:
            self._held = {each: tokens for each, tokens in self._held.items() if each in held_ids}

    @property
    def is_quiet(self) -> bool:
        """Whether no others have come lately."""
        return time.monotonic() - self._waited_for_s > _OTHERS_S

    def capacity(self, free_tokens: int) -> int:
        """What they may still take while there are others; may be negative."""
        self._budget_tokens = max(self._budget_tokens, free_tokens)
        return max(self._budget_tokens // _PART, MAX_TOTAL_TOKENS) - sum(self._held.values())

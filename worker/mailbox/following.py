"""Waits for answers token by token, as streams of events do."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence

from scheduler.messages import Completion
from worker.mailbox.protocol import Ticket
from worker.mailbox.waiters import HAS_LEFT_EVERY_S, Wait, WaitingMailbox, completion_of

HEARTBEAT_S = 2.0  # between comments of an event stream without events


def follow(
    mailbox: WaitingMailbox, tickets: Sequence[Ticket], timeout_s: float, has_left: Callable[[], bool] | None = None
) -> Generator[Sequence[Completion | tuple[int, ...]]]:
    """Yield what there is so far, at every change and every HEARTBEAT_S; end with all completions. Waits as `wait_all`.

    Of requests that were submitted to be followed; of others nothing is seen before their completions.
    """
    with mailbox.waiting(tickets, _WaitForNews(timeout_s, has_left)) as wait:
        while True:
            wait.wait()
            if wait.is_over:
                break
            yield [each.output_ids if each.outcome is None else completion_of(each.outcome) for each in wait.waiters]
        yield wait.completions()


class _WaitForNews(Wait):
    """Every answer, and every token, wakes who waits."""

    _has_begun = False

    def note_news(self) -> None:
        if self.is_over or self._has_begun:
            self.news.set()

    def wait(self) -> None:
        """Return when there are any, or after HEARTBEAT_S; the first time at once."""
        if not self._has_begun:
            self._has_begun = True
            return
        until_s = time.monotonic() + HEARTBEAT_S
        while not self.news.wait(min(HAS_LEFT_EVERY_S, self.left_s())):
            self.check()
            if time.monotonic() >= until_s:
                return
        if time.monotonic() - self.checked_s >= HAS_LEFT_EVERY_S:  # news may come faster than that
            self.check()
        self.news.clear()

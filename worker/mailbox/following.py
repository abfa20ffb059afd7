"""Waits for answers token by token, as streams of events do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence

from scheduler.messages import Completion
from worker.mailbox.protocol import Submission
from worker.mailbox.waiters import HAS_LEFT_EVERY_S, Patience, WaitingMailbox, completion_of, completions_of

HEARTBEAT_S = 2.0  # between comments of an event stream without events


def follow(
    mailbox: WaitingMailbox, wanted: Submission, timeout_s: float, has_left: Callable[[], bool] | None = None
) -> Generator[Sequence[Completion | tuple[int, ...]]]:
    """Yield what there is so far, at every change and every HEARTBEAT_S; end with all completions. Waits as `wait_all`.

    Of requests that were submitted to be followed; of others nothing is seen before their completions.
    """
    job_ids, patience = list(wanted.outcomes), Patience(timeout_s, has_left)
    with mailbox.waiting(wanted, job_ids) as news:
        while wanted.missing:
            outcomes = [(each, wanted.outcomes[each]) for each in job_ids]
            yield [wanted.written.get(each, ()) if end is None else completion_of(end) for each, end in outcomes]
            _wait(news, patience)
        yield completions_of(wanted, job_ids)


def _wait(news: threading.Event, patience: Patience) -> None:
    """Return when there are any, or after HEARTBEAT_S. Raises as `Patience.wait`."""
    until_s = time.monotonic() + HEARTBEAT_S
    while not news.wait(min(HAS_LEFT_EVERY_S, patience.left_s())):
        patience.check()
        if time.monotonic() >= until_s:
            return
    if time.monotonic() - patience.checked_s >= HAS_LEFT_EVERY_S:  # news may come faster than that
        patience.check()
    news.clear()

"""Who waits for which answer: the books of one process, without a queue."""

from __future__ import annotations

from scheduler.messages import CorrectionRequest
from worker.mailbox.protocol import Submission
from worker.mailbox.waiters import Waiters


def submission(name: str, *job_ids: str) -> Submission:
    return Submission(name, requests=tuple(CorrectionRequest(each, (5,), (0,), 4, "t") for each in job_ids))


class LockOfAnother:
    """Another thread goes on as soon as the lock is given back."""

    def __init__(self, then: object) -> None:
        self._then = then

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        self._then()


def test_a_request_that_joins_another_while_somebody_looks_is_seen_as_it_was() -> None:
    waiters, wanted = Waiters(), submission("own", "own")
    waiters.add(wanted)

    def join() -> None:
        wanted.join("earlier")
        wanted.outcomes = {"earlier": None}

    waiters._lock = LockOfAnother(join)

    assert waiters.unanswered() == [("own", wanted)]

"""Who waits for which answer: the books of one process, without a queue."""

from __future__ import annotations

from scheduler.messages import Completion, CorrectionRequest, FinishReason
from worker.mailbox.protocol import Submission
from worker.mailbox.waiters import Waiters


def submission(name: str, *job_ids: str) -> Submission:
    return Submission(name, requests=tuple(CorrectionRequest(each, (5,), (0,), 4, "t") for each in job_ids))


def test_an_answered_job_of_a_request_that_is_accepted_again_holds_no_place() -> None:
    waiters, wanted = Waiters(), submission("r", "r-1", "r-2")
    waiters.add(wanted)
    waiters.accept(wanted, "a redis")
    waiters.resolve("r-1", Completion("r-1", FinishReason.STOP, (1,)))

    waiters.accept(wanted, "another redis")  # which had lost both

    assert waiters.open_ids == {"r-2"}


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

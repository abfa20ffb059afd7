"""The rule behind /readyz: what was heard last, how old it may be, and what this replica itself is up to."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from api.service.readiness import LOOP_PATIENCE_S, STUCK_AFTER_S, TOO_OLD_S, Readiness
from scheduler.capacity.progress import Progress
from scheduler.errors import NotReady, ShuttingDown
from worker.queue.protocol import MailboxStatus

READY = MailboxStatus(redis_ok=True, live_workers=2, queue_depth=3)
SILENT = MailboxStatus(False)
REFUSED = MailboxStatus(False, refusal="authentication refused")


class Over(BaseException):
    """Ends a watch that goes on for ever."""


def readiness(*heard: MailboxStatus | Exception) -> Readiness:
    """One that has heard all that."""
    answers = iter((*heard, Over()))

    def ask() -> MailboxStatus:
        answer = next(answers)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    subject = Readiness()
    with pytest.raises(Over):
        subject.watch(ask)
    return subject


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.service.readiness.ASK_EVERY_S", 0.0)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Lets time pass."""
    now = time.monotonic
    return lambda seconds: monkeypatch.setattr("api.service.readiness.time.monotonic", lambda: now() + seconds)


@pytest.mark.parametrize(
    ("heard", "later_s", "fault"),
    [
        ((), 0.0, "just started"),
        ((READY,), 0.0, ""),
        ((SILENT, READY), 0.0, ""),
        ((ValueError("unforeseen"), READY), 0.0, ""),
        ((SILENT,), 0.0, "Redis does not answer; try"),
        ((READY, MailboxStatus(True)), 0.0, "No worker"),
        ((READY, replace(READY, is_suspended=True)), 0.0, "rq suspend"),
        ((READY, SILENT, SILENT), 0.0, ""),  # one answer that fails to come ends nothing, but a silence does
        ((READY, SILENT, SILENT), TOO_OLD_S + 0.1, "Redis does not answer within"),
        ((READY,), TOO_OLD_S + 0.1, "Redis does not answer within"),
        ((READY, REFUSED), 0.0, "authentication refused"),
        ((READY, REFUSED), TOO_OLD_S - 0.1, "authentication refused"),
    ],
)
def test_what_was_heard_last_counts_until_it_is_too_old(
    heard: tuple[MailboxStatus | Exception, ...], later_s: float, fault: str, later: Callable[[float], None]
) -> None:
    subject = readiness(*heard)
    later(later_s)

    if not fault:
        assert subject.check() == READY
        return
    with pytest.raises(NotReady, match=fault):
        subject.check()


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("is_stopping", True, ShuttingDown),
        ("is_full", lambda: True, NotReady),
        ("last_iteration_s", time.monotonic() - LOOP_PATIENCE_S - 0.1, NotReady),
    ],
    ids=["stops", "is full", "hangs"],
)
def test_a_replica_that_stops_is_full_or_hangs_is_not_ready(name: str, value: object, kind: type[Exception]) -> None:
    subject = readiness(READY)

    setattr(subject, name, value)

    with pytest.raises(kind):
        subject.check()


def test_requests_that_wait_while_nothing_is_answered_for_three_seconds_end_readiness_until_one_is() -> None:
    waiting = replace(READY, reserved_requests=4, num_done=9)
    subject = readiness(READY, waiting)
    subject.progress.note(time.monotonic() + STUCK_AFTER_S - 0.5, 4, 9, 0)

    assert subject.document()["status"] == "ready"
    subject.progress.note(time.monotonic() + STUCK_AFTER_S + 0.5, 4, 9, 0)
    with pytest.raises(NotReady, match=r"answered none for \d s\. See no-progress"):
        subject.check()
    subject.progress.note(time.monotonic() + STUCK_AFTER_S + 1.0, 4, 10, 0)
    assert subject.check() == waiting


def test_answers_that_fail_degrade_the_document_and_leave_the_balancer_full() -> None:
    document = readiness(READY, replace(READY, num_done=10, num_failed=90)).document()

    assert (document["status"], document["detail"]) == ("degraded", "90% of the answers fail: see answers-failing.")


@pytest.mark.parametrize(
    ("looks", "stuck_s", "failing_share"),  # a look: when, and how many are open, answered, failed
    [
        ([(100.0, 5, 7, 0), (101.0, 5, 8, 0), (102.0, 6, 8, 1), (104.5, 6, 8, 9)], 3.5, 0.9),
        ([(100.0, 0, 7, 0), (160.0, 0, 7, 0), (161.0, 5, 7, 0)], 1.0, 0.0),  # not since the idle time
        ([(100.0, 5, 7, 0)], 0.0, 0.0),  # what a new process finds
        ([(100.0, 5, 0, 0), (109.0, 5, 60, 20)], 0.0, 0.25),
        ([(100.0, 5, 0, 0), (101.0, 5, 0, 20), (112.0, 5, 80, 20)], 0.0, 0.0),  # of the last ten seconds
        ([(100.0, 5, 1000, 400), (101.0, 1, 2, 1)], 0.0, 0.0),  # a Redis that was emptied
    ],
)
def test_what_is_open_and_unanswered_is_stuck_and_failures_are_a_share_of_what_ended(
    looks: list[tuple[float, int, int, int]], stuck_s: float, failing_share: float
) -> None:
    subject = Progress()
    for look in looks:
        subject.note(*look)

    assert (subject.stuck_s, subject.failing_share) == (stuck_s, failing_share)


def test_what_was_counted_is_reported_with_a_question_that_redis_answered() -> None:
    before = time.monotonic()

    assert readiness(SILENT).asked_s == 0.0
    assert before <= readiness(READY).asked_s <= time.monotonic()
    assert before <= readiness(READY, SILENT).asked_s

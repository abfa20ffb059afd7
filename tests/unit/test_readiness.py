"""The rule behind /readyz: what was heard last, how old it may be, and what this replica itself is up to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from api.service.readiness import LOOP_PATIENCE_S, STUCK_AFTER_S, TOO_OLD_S, Readiness
from scheduler.errors import NotReady, ShuttingDown
from tests.fake_corrector import FakeCorrector, client_of
from worker.queue.protocol import MailboxStatus

READY = MailboxStatus(redis_ok=True, live_workers=2, queue_depth=3)


class Over(BaseException):
    """Ends a watch that goes on for ever."""


def readiness(*heard: MailboxStatus) -> Readiness:
    """One that has heard all that."""
    answers = iter(heard)

    def ask() -> MailboxStatus:
        for status in answers:
            return status
        raise Over

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


def test_what_was_heard_last_counts():
    assert readiness(MailboxStatus(False), READY).check() == READY
    with pytest.raises(NotReady, match="Redis does not answer"):
        readiness(MailboxStatus(False)).check()
    with pytest.raises(NotReady, match="No worker"):
        readiness(READY, MailboxStatus(True)).check()


def test_one_answer_that_fails_to_come_does_not_end_readiness_but_a_silence_does(later: Callable[[float], None]):
    subject = readiness(READY, MailboxStatus(False), MailboxStatus(False))

    assert subject.check() == READY
    later(TOO_OLD_S + 0.1)
    with pytest.raises(NotReady, match="Redis does not answer within"):
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
    subject = readiness(READY, replace(READY, num_done=10, num_failed=90))

    document = subject.document()

    assert (document["status"], document["detail"]) == ("degraded", "90% of the answers fail: see answers-failing.")


def test_a_redis_that_refuses_the_password_is_no_silence_and_says_so_for_as_long(later: Callable[[float], None]):
    refused = MailboxStatus(False, refusal="authentication refused")
    subject = readiness(READY, refused)

    for seconds in (0.0, TOO_OLD_S - 0.1):
        later(seconds)
        with pytest.raises(NotReady, match="authentication refused"):
            subject.check()


def test_a_question_that_fails_by_a_fault_is_asked_again():
    answers = iter([ValueError("unforeseen"), READY])

    def ask() -> MailboxStatus:
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
            return answer
        raise Over

    subject = Readiness()
    with pytest.raises(Over):
        subject.watch(ask)

    assert subject.check() == READY


def test_a_hung_redis_delays_no_answer_and_is_asked_once():
    released = threading.Event()
    num_asked: list[int] = []

    def hang() -> MailboxStatus:
        num_asked.append(1)
        released.wait()  # whoever waited for it would wait for ever
        raise Over

    subject = Readiness()
    watch = threading.Thread(target=lambda: pytest.raises(Over, subject.watch, hang))
    watch.start()
    for _ in range(3):
        with pytest.raises(NotReady):
            subject.check()
    released.set()
    watch.join()

    assert num_asked == [1]


def test_before_anything_was_heard_nobody_is_ready():
    with pytest.raises(NotReady, match="just started"):
        readiness().check()


def test_what_was_heard_too_long_ago_counts_no_more(later: Callable[[float], None]):
    subject = readiness(READY)

    later(TOO_OLD_S + 0.1)

    with pytest.raises(NotReady, match="Redis does not answer within"):
        subject.check()


def test_a_replica_whose_own_loop_hangs_is_not_ready():
    subject = readiness(READY)

    subject.last_iteration_s -= LOOP_PATIENCE_S + 0.1

    with pytest.raises(NotReady, match="This replica has done nothing"):
        subject.check()


def test_a_replica_that_is_being_stopped_says_so_and_is_alive_all_the_same():
    subject = readiness(READY)

    subject.is_stopping = True

    with pytest.raises(ShuttingDown):
        subject.check()


def test_a_probe_is_answered_with_what_is_known(monkeypatch: pytest.MonkeyPatch):
    corrector = FakeCorrector()
    monkeypatch.setattr(corrector, "status", lambda: READY)
    client = client_of(corrector)

    asked = client.get("/readyz").get_json()
    client.application.readiness = known = readiness(READY)

    assert client.get("/readyz").get_json() == asked
    assert asked["queue_depth"] == 3
    known.is_stopping = True
    assert client.get("/readyz").get_json()["type"] == "urn:miniserve:problem:shutting-down"
    assert client.get("/healthz").status_code == 200


def test_what_was_counted_is_reported_with_a_question_that_redis_answered():
    before = time.monotonic()

    assert readiness(MailboxStatus(False)).asked_s == 0.0
    assert before <= readiness(READY).asked_s <= time.monotonic()
    assert before <= readiness(READY, MailboxStatus(False)).asked_s

"""The worker's loop, with a small random model."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from unittest.mock import patch

import pytest

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.errors import RequestFailed
from scheduler.messages import CorrectionRequest, FreeCapacity, Inbox
from scheduler.static import StaticBatching
from tests.mailbox_house import SteppedWorkerMailbox, SubmittingMailbox
from tests.pace import patient
from tests.running_system import wait_until
from tests.unit.small_model import an_engine, request
from worker.actor import RETRY_WAIT_S, Actor
from worker.engine import Engine
from worker.queue.connection import Address
from worker.queue.protocol import MailboxDown, WorkerReport


class End(SteppedWorkerMailbox):
    """Beats also while the loop does not iterate: on a slow machine it would end the process of the tests."""

    num_failures = 0  # of the next exchanges

    def open(self, is_fresh: Callable[[], bool], report: Callable[[], WorkerReport] = WorkerReport) -> None:
        super().open(lambda: True, report)

    def exchange(self, *arguments: object, **options: object) -> Inbox:
        self.num_failures -= 1
        if self.num_failures >= 0:
            raise MailboxDown("made up by a test")
        return super().exchange(*arguments, **options)


class Mailbox(SubmittingMailbox):
    """The API's end of a queue; knows how to make the worker's."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.ends: list[End] = []
        super().__init__(Address(url))

    def worker_end(self) -> End:
        self.ends.append(end := End(Address(self._url)))
        return end


@pytest.fixture
def mailbox(redis_url: str) -> Iterator[Mailbox]:
    mailbox = Mailbox(redis_url)
    yield mailbox
    for end in (mailbox, *mailbox.ends):
        end.close()


def actor(subject: Engine, mailbox: Mailbox, grace_s: float) -> Actor:
    return Actor(subject, mailbox.worker_end(), grace_s, idle_wait_s=0.02)


@contextmanager
def running(worker: Actor) -> Iterator[None]:
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(patient(20))
        assert not thread.is_alive()


@pytest.mark.parametrize("grace_s", [600.0, 0.0])
def test_a_stopped_worker_finishes_what_it_holds_or_hands_it_back(mailbox: Mailbox, grace_s: float):
    tickets = [mailbox.submit(request(f"r{i}", max_output=32)) for i in range(5)]
    worker = actor(an_engine(), mailbox, grace_s)
    worker.open()
    worker.iterate(FreeCapacity(2048))

    worker.stop()
    worker.run()

    assert mailbox.status().reserved_requests == (0 if grace_s else 5)
    with running(actor(an_engine(), mailbox, grace_s=1.0)):
        assert [mailbox.wait(ticket).request_id for ticket in tickets] == [f"r{i}" for i in range(5)]


def test_a_request_that_cannot_be_computed_fails_and_its_neighbours_are_answered(mailbox: Mailbox):
    """One is refused by the engine, one has three attempts."""
    subject = an_engine()
    subject.policy.plan = failing_for("poison", subject.policy.plan)
    refused = mailbox.submit(CorrectionRequest("refused", (9999,), (0,), 4, "test-tokenizer"))
    before, poison, behind = [mailbox.submit(request(name)) for name in ("before", "poison", "behind")]

    with running(actor(subject, mailbox, grace_s=1.0)):
        with pytest.raises(RequestFailed, match="after 3 attempts"):
            mailbox.wait(poison)
        with pytest.raises(RequestFailed, match="outside 0"):
            mailbox.wait(refused)
        answered = [mailbox.wait(ticket).request_id for ticket in (before, behind)]

    assert answered == ["before", "behind"]
    assert subject.model.arena.num_free == 2048


def failing_for(request_id: str, plan: Callable) -> Callable:
    """A plan that cannot be made with this request in it."""

    def plan_or_fail(now: float) -> StepPlan:
        planned = plan(now)
        if any(sequence.request.request_id == request_id for sequence in planned):
            raise FloatingPointError("made up by a test")
        return planned

    return plan_or_fail


def test_an_interruption_of_the_mailbox_loses_nothing_and_is_logged_once_with_its_end_as_loud(
    mailbox: Mailbox, caplog: pytest.LogCaptureFixture
):
    end = mailbox.worker_end()
    end.num_failures = 5
    worker = Actor(an_engine(), end, grace_s=1.0, idle_wait_s=0.02)
    ticket = mailbox.submit(request("r"))

    with running(worker):
        assert mailbox.wait(ticket).request_id == "r"

    told = [line for line in caplog.records if line.getMessage().startswith("the queue is")]
    assert "unreachable" in told[0].getMessage() and "reachable again" in told[1].getMessage()
    assert [line.levelname for line in told] == ["WARNING", "WARNING"]


def test_a_worker_that_never_reached_its_queue_is_never_ready(mailbox: Mailbox, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO)
    worker = Actor(an_engine(), mailbox.worker_end(), grace_s=1.0, idle_wait_s=0.02)
    never = patch.object(End, "open", side_effect=MailboxDown("made up by a test"))

    with never, running(worker):
        wait_until(lambda: "unreachable" in caplog.text, 5, "a word of the outage")

    assert "worker ready" not in caplog.messages


def static_engine(max_batch: int, max_wait_s: float) -> Engine:
    policy = StaticBatching(BatchLimits(2048, 64, 512), max_batch, max_wait_s)
    return an_engine(policy=policy, clock=monotonic)


def test_a_stopped_worker_runs_a_batch_that_is_not_full(mailbox: Mailbox) -> None:
    subject = static_engine(max_batch=3, max_wait_s=3600.0)

    with running(actor(subject, mailbox, grace_s=600.0)):
        ticket = mailbox.submit(request("r"))
        wait_until(lambda: len(subject.policy.waiting) == 1, 5.0, "taken")

    assert mailbox.wait(ticket).output_ids


def test_a_static_batch_that_waits_while_the_mailbox_is_away_does_not_spin(mailbox: Mailbox) -> None:
    end = mailbox.worker_end()
    worker = Actor(static_engine(max_batch=3, max_wait_s=60.0), end, grace_s=0.0)
    mailbox.submit(request("r"))
    worker.open()
    worker.iterate(FreeCapacity(2048))

    end.num_failures = 10**9
    with patch("worker.actor.sleep") as sleep:
        for _ in range(10):
            worker.iterate(FreeCapacity(2048))

    assert [call.args[0] for call in sleep.call_args_list] == [RETRY_WAIT_S] * 10


class StuckBatching(ContinuousBatching):
    """Admits nobody, as one does that has lost its slots."""

    def due_in_s(self, now: float) -> float | None:
        return None


def test_a_stopped_worker_that_can_compute_nothing_hands_back_at_once(mailbox: Mailbox) -> None:
    stuck = an_engine(policy=StuckBatching(BatchLimits(2048, 64, 512)))
    worker = actor(stuck, mailbox, grace_s=1.0)
    ticket = mailbox.submit(request("r"))
    worker.open()
    worker.iterate(FreeCapacity(2048))
    assert stuck.policy.has_work

    worker.stop()
    with patch.object(worker, "iterate") as turn:
        worker.run()

    assert turn.call_count == 0
    with running(actor(an_engine(), mailbox, grace_s=1.0)):
        assert mailbox.wait(ticket).request_id == "r"

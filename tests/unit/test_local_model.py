"""The model in the API process: the promises of a queue, kept without one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from ops.local_model import InlineModel, ThreadedModel
from scheduler.batching import BatchLimits
from scheduler.continuous import ContinuousBatching
from scheduler.errors import Cancelled, DeadlineExceeded, InvalidRequest, QueueFull, RequestFailed, ShuttingDown
from scheduler.messages import CorrectionRequest
from tests.running_system import wait_until
from tests.unit.small_model import random_weights
from tests.unit.test_actor import request
from worker.engine import Engine
from worker.mailbox.protocol import ApiMailbox, MailboxLimits, Ticket
from worker.mailbox.waiters import Waiter
from worker.model import MiniGPT


class GatedModel(MiniGPT):
    """Computes only while its gate is open."""

    def __init__(self) -> None:
        super().__init__(random_weights(), 160)
        self.gate = threading.Event()
        self.is_broken = False

    def forward(self, batch):
        assert self.gate.wait(10)
        if self.is_broken:
            raise FloatingPointError
        return super().forward(batch)


def engine_of(model: MiniGPT) -> Engine:
    return Engine(model, ContinuousBatching(BatchLimits(160, 1, 160)), clock=lambda: 0.0)


@pytest.fixture
def models() -> list[GatedModel]:
    return [GatedModel(), GatedModel()]


@pytest.fixture
def threaded(models: list[GatedModel]) -> Iterator[ThreadedModel]:
    mailbox = ThreadedModel([engine_of(model) for model in models], MailboxLimits(max_requests=4, max_tokens=400))
    yield mailbox
    open_gates(models)
    mailbox.close()


def open_gates(models: list[GatedModel]) -> None:
    for model in models:
        model.gate.set()


def two_kinds() -> list[ApiMailbox]:
    inline, threaded = GatedModel(), GatedModel()
    open_gates([inline, threaded])
    return [InlineModel(engine_of(inline)), ThreadedModel([engine_of(threaded)], MailboxLimits())]


def test_both_kinds_give_the_same_answers():
    requests = [request(f"r{number}" * (number + 1)) for number in range(6)]

    answers = []
    for mailbox in two_kinds():
        answers.append([one.output_ids for one in mailbox.wait_all(mailbox.submit_all(requests), timeout_s=10)])
        mailbox.close()

    assert answers[0] == answers[1]
    assert all(answers[0])


def test_a_request_the_model_cannot_run_fails_by_itself():
    stranger = CorrectionRequest("r", (2,) * 6, (0,) * 6, 4, "another tokenizer")

    for mailbox in two_kinds():
        with pytest.raises(RequestFailed, match="another tokenizer"):
            mailbox.wait(mailbox.submit(stranger), timeout_s=10)
        assert mailbox.wait(mailbox.submit(request("next")), timeout_s=10).output_ids


def test_a_model_that_breaks_fails_the_request_and_serves_the_next(threaded: ThreadedModel, models: list[GatedModel]):
    open_gates(models)
    for model in models:
        model.is_broken = True
    with pytest.raises(RequestFailed, match="internal error"):
        threaded.wait(threaded.submit(request("r")), timeout_s=10)

    for model in models:
        model.is_broken = False

    assert threaded.wait(threaded.submit(request("next")), timeout_s=10).output_ids


def test_more_than_the_bound_is_refused_at_once_and_room_comes_back(threaded: ThreadedModel, models: list[GatedModel]):
    tickets = [threaded.submit(request(f"r{number}")) for number in range(4)]

    with pytest.raises(QueueFull, match="4 of 4 requests"):
        threaded.submit(request("one too many"))
    assert threaded.status().queue_depth == 2

    open_gates(models)
    threaded.wait_all(tickets, timeout_s=10)
    assert threaded.status().reserved_requests == 0
    assert threaded.wait(threaded.submit(request("now it fits")), timeout_s=10).output_ids


def test_what_could_never_fit_is_a_fault_of_the_request(threaded: ThreadedModel):
    with pytest.raises(InvalidRequest):
        threaded.submit_all([request(f"r{number}") for number in range(5)])


def test_a_request_that_waits_too_long_is_given_up_and_never_runs(threaded: ThreadedModel, models: list[GatedModel]):
    running = [threaded.submit(request(f"r{number}")) for number in range(2)]
    late = threaded.submit(request("late"))

    with pytest.raises(DeadlineExceeded):
        threaded.wait(late, timeout_s=0.05)

    assert threaded.status().reserved_requests == 2
    open_gates(models)
    threaded.wait_all(running, timeout_s=10)


def test_a_client_that_hangs_up_takes_its_request_along(threaded: ThreadedModel):
    running = [threaded.submit(request(f"r{number}")) for number in range(2)]
    left = threaded.submit(request("left"))

    with pytest.raises(Cancelled):
        threaded.wait(left, timeout_s=5.0, has_left=lambda: True)

    assert threaded.status().reserved_requests == len(running)


def test_who_waits_when_the_process_stops_is_told_so(threaded: ThreadedModel):
    ticket = threaded.submit(request("r"))

    threaded.close()

    with pytest.raises(ShuttingDown):
        threaded.wait(ticket, timeout_s=5.0)
    with pytest.raises(ShuttingDown):
        threaded.submit(request("late"))


def test_who_is_being_accepted_while_the_process_stops_is_told_so_too(threaded: ThreadedModel):
    add, closing = threaded._waiters.add, threading.Thread(target=threaded.close)

    def add_slowly(ticket: Ticket) -> Waiter:
        closing.start()
        closing.join(0.2)
        return add(ticket)

    with patch.object(threaded._waiters, "add", add_slowly):
        ticket = threaded.submit(request("r"))
    closing.join()

    with pytest.raises(ShuttingDown):
        threaded.wait(ticket, timeout_s=5.0)


@pytest.mark.parametrize("name", ["running", "queued"])
def test_who_waits_for_a_cancelled_request_is_told_so(threaded: ThreadedModel, models: list[GatedModel], name: str):
    tickets = {name: threaded.submit(request(name)) for name in ("running", "too", "queued")}

    threaded.cancel(name)

    with pytest.raises(Cancelled):
        threaded.wait(tickets.pop(name), timeout_s=5.0)
    open_gates(models)
    assert all(threaded.wait_all(list(tickets.values()), timeout_s=10))
    wait_until(lambda: threaded.status().reserved_requests == 0, 5.0, "all forgotten")

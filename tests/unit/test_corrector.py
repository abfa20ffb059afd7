"""The way through the mailbox, and what /readyz learns from it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from api.agent import Agent
from api.corrector import Job, QueueCorrector
from api.edit_script import EOS_ID
from api.verbs import VerbTable
from scheduler.errors import NotReady, SentenceTooLong
from scheduler.messages import Completion, CorrectionRequest, FinishReason, Timings
from scheduler.settings import Settings
from tests.fake_tokenizer import FakeTokenizer
from worker.mailbox.protocol import MailboxStatus, Ticket


class FakeMailbox:
    """Answers every request with <eos>; its status is what the test says."""

    def __init__(self, status: Callable[[], MailboxStatus] = lambda: MailboxStatus(True, 1)) -> None:
        self.requests: list[CorrectionRequest] = []
        self.timeouts: list[float] = []
        self.status = status
        self.is_closed = False

    def submit(self, request: CorrectionRequest) -> Ticket:
        self.requests.append(request)
        return Ticket(request, 1)

    def wait(self, ticket: Ticket, timeout_s: float, has_left: Callable[[], bool] | None = None) -> Completion:
        self.timeouts.append(timeout_s)
        return Completion(ticket.request_id, FinishReason.STOP, (EOS_ID,), Timings(0.1, 0.2, 0.3))

    def abandon(self, ticket: Ticket) -> None: ...

    def cancel(self, request_id: str) -> None: ...

    def close(self) -> None:
        self.is_closed = True


def corrector(mailbox: FakeMailbox) -> QueueCorrector:
    agent = Agent(FakeTokenizer(), VerbTable.load())
    return QueueCorrector(agent, mailbox, Settings(request_timeout_s=7.0), probe_timeout_s=0.05)


def test_a_request_carries_the_prompt_and_never_the_text() -> None:
    mailbox = FakeMailbox()

    answer = corrector(mailbox).correct(Job("id1", "He went home", "anna"))

    (request,) = mailbox.requests
    assert (request.request_id, request.learner_id, request.tokenizer_fingerprint) == ("id1", "anna", "fake")
    assert len(request.prompt_ids) == len(request.word_numbers) == 4
    assert "went" not in str(request.to_wire())
    assert mailbox.timeouts == [7.0]
    assert (answer.correction.corrected, answer.timings.queue_s) == ("He went home", 0.1)


def test_a_sentence_over_the_limit_never_reaches_the_queue() -> None:
    mailbox = FakeMailbox()

    with pytest.raises(SentenceTooLong):
        corrector(mailbox).correct(Job("id1", "word " * 65))

    assert mailbox.requests == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [(MailboxStatus(False), "Redis does not answer"), (MailboxStatus(True, live_workers=0), "No worker")],
)
def test_not_ready_says_what_is_missing(status: MailboxStatus, reason: str) -> None:
    with pytest.raises(NotReady, match=reason):
        corrector(FakeMailbox(lambda: status)).check_ready()


def test_ready_needs_redis_and_a_live_worker() -> None:
    assert corrector(FakeMailbox()).check_ready().live_workers == 1


def test_a_hung_redis_delays_the_answer_by_no_more_than_the_probe_waits() -> None:
    released = threading.Event()
    num_asked: list[int] = []

    def hang() -> MailboxStatus:
        num_asked.append(1)
        released.wait(10)
        return MailboxStatus(True, 1)

    subject = corrector(FakeMailbox(hang))
    started = time.monotonic()
    probes = [threading.Thread(target=_expect_not_ready, args=(subject,)) for _ in range(3)]
    for probe in probes:
        probe.start()
    for probe in probes:
        probe.join()
    released.set()

    assert time.monotonic() - started < 8.0  # the hung one would have taken 10
    assert num_asked == [1]


def test_closing_closes_the_mailbox() -> None:
    mailbox = FakeMailbox()

    corrector(mailbox).close()

    assert mailbox.is_closed


def _expect_not_ready(subject: QueueCorrector) -> None:
    with pytest.raises(NotReady, match="within 0.05 s"):
        subject.check_ready()

"""The way through the mailbox, and what /readyz learns from it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NoReturn
from unittest.mock import AsyncMock

import pytest

from api.grammar.edit_script import EOS_ID
from api.grammar.pipeline import TextPipeline
from api.grammar.verbs import VerbTable
from api.service.batch import BatchBody, correct_batch
from api.service.body import CorrectionBody
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from api.service.readiness import check_status
from scheduler.errors import InvalidRequest, NotReady, QueueFull, SentenceTooLong
from scheduler.messages import Completion, CorrectionRequest, FinishReason, Timings
from scheduler.settings import Settings
from tests.fake_tokenizer import FakeTokenizer
from worker.queue.api_mailbox import ApiMailbox
from worker.queue.protocol import MailboxStatus, Submission


class FakeMailbox(ApiMailbox):
    """Answers every request with <eos>; its status is what the test says."""

    def __init__(self, status: Callable[[], MailboxStatus] = lambda: MailboxStatus(True, 1)) -> None:
        super().__init__()
        self.requests: list[CorrectionRequest] = []
        self.timeouts: list[float] = []
        self.deadlines: list[float | None] = []
        self._status = status
        self.is_closed = False

    async def enqueue(self, wanted: Submission) -> None:
        self.requests += wanted.requests
        self.deadlines.append(wanted.within_s)
        wanted.accepted_s = time.perf_counter()

    async def wait(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        self.timeouts.append(wanted.left_s())
        ids = [request.request_id for request in wanted.requests] if job_ids is None else job_ids
        return [
            Completion(job_id, FinishReason.STOP, (EOS_ID,), Timings(0.1 + number, 0.2, 3.3 - number))
            for number, job_id in enumerate(ids)
        ]

    def abandon(self, wanted: Submission) -> None: ...

    def status(self) -> MailboxStatus:
        return self._status()

    async def ask(self, command: tuple[object, ...]) -> NoReturn:
        raise AssertionError("Redis is not asked here")

    def follow(self, wanted: Submission) -> NoReturn:
        raise AssertionError("nothing is followed here")

    def close(self) -> None:
        self.is_closed = True


def corrector(mailbox: FakeMailbox) -> Corrector:
    pipeline = TextPipeline(FakeTokenizer(), VerbTable.load())
    return Corrector(pipeline, mailbox, Settings(request_timeout_s=300.0))


def asked(text: str, **facts: object) -> tuple[Exchange, CorrectionBody]:
    return Exchange("id1", received_s=time.perf_counter(), **facts), CorrectionBody(sentence=text, learner_id="anna")


def test_a_request_carries_the_prompt_and_neither_the_text_nor_whose_it_is() -> None:
    mailbox = FakeMailbox()

    exchange, body = asked("He went home")
    correction = asyncio.run(corrector(mailbox).correct(exchange, body))

    (request,) = mailbox.requests
    assert (request.request_id, request.tokenizer_fingerprint) == ("id1", "fake")
    assert len(request.prompt_ids) == len(request.word_numbers) == 4
    assert "went" not in str(request.to_wire()) and "anna" not in str(request.to_wire())
    assert mailbox.timeouts == [pytest.approx(300, abs=100)]
    assert mailbox.deadlines == [pytest.approx(300, abs=100)]
    assert (correction.corrected, exchange.timings.queue_s) == ("He went home", 0.1)


def test_the_sentences_of_a_text_are_jobs_of_their_own_under_ids_that_nobody_can_guess() -> None:
    mailbox = FakeMailbox()

    correction = asyncio.run(corrector(mailbox).correct(*asked("He came. She left.\n\nThey  stayed")))

    assert [request.request_id for request in mailbox.requests] == ["id1-1", "id1-2", "id1-3"]
    assert [len(request.prompt_ids) for request in mailbox.requests] == [4, 4, 3]
    assert mailbox.deadlines == [pytest.approx(300, abs=100)], "one deadline for all"
    assert correction.corrected == "He came. She left.\n\nThey  stayed"


def test_the_timings_of_a_text_are_the_longest_of_its_sentences() -> None:
    exchange, body = asked("He came. She left. They stayed.")

    asyncio.run(corrector(FakeMailbox()).correct(exchange, body))

    assert exchange.timings == Timings(queue_s=2.1, prefill_s=0.2, decode_s=3.3)


def test_a_text_that_is_refused_never_reaches_the_queue() -> None:
    mailbox = FakeMailbox()

    with pytest.raises(InvalidRequest):
        asyncio.run(corrector(mailbox).correct(*asked("He came. " * 65)))

    assert mailbox.requests == []


def test_a_sentence_over_the_limit_never_reaches_the_queue() -> None:
    mailbox = FakeMailbox()

    with pytest.raises(SentenceTooLong):
        asyncio.run(corrector(mailbox).correct(*asked("word " * 65)))

    assert mailbox.requests == []


@pytest.mark.parametrize(
    ("status", "reason"),
    [(MailboxStatus(False), "Redis does not answer"), (MailboxStatus(True, live_workers=0), "No worker")],
)
def test_not_ready_says_what_is_missing(status: MailboxStatus, reason: str) -> None:
    with pytest.raises(NotReady, match=reason):
        check_status(status)


def test_ready_needs_redis_and_a_live_worker() -> None:
    assert check_status(MailboxStatus(True, live_workers=1)).live_workers == 1


def test_an_earlier_deadline_of_the_client_takes_the_place_of_ours() -> None:
    mailbox = FakeMailbox()

    asyncio.run(corrector(mailbox).correct(*asked("He went home", allowed_s=150.0)))

    assert 50 < mailbox.timeouts[0] <= mailbox.deadlines[0] <= 150


def test_a_client_cannot_wait_longer_than_the_server_lets_it() -> None:
    mailbox = FakeMailbox()

    asyncio.run(corrector(mailbox).correct(*asked("He went home", allowed_s=600.0)))

    assert 200 < mailbox.deadlines[0] <= 300


class RefusingMailbox(FakeMailbox):
    """Refuses a request while it is waited for, as the queue does where it has not confirmed it before."""

    async def enqueue(self, wanted: Submission) -> None: ...

    async def wait(self, *_: object) -> list[Completion]:
        raise QueueFull("full", 1.0)


def test_a_refusal_that_comes_while_waiting_refuses_a_batch_of_one_sentence_as_a_whole() -> None:
    with pytest.raises(QueueFull):
        asyncio.run(correct_batch(corrector(RefusingMailbox()), Exchange("id1"), BatchBody(sentences=["He went home"])))


def test_a_request_that_was_refused_while_waiting_was_never_accepted() -> None:
    exchange, body = asked("He went home")

    with pytest.raises(QueueFull):
        asyncio.run(corrector(RefusingMailbox()).correct(exchange, body))

    assert exchange.sent_s > 0.0 == exchange.accepted_s


def test_an_answer_that_comes_before_the_queue_has_confirmed_its_request_counts_as_accepted() -> None:
    mailbox, (exchange, body) = FakeMailbox(), asked("He went home")
    mailbox.enqueue = AsyncMock()

    asyncio.run(corrector(mailbox).correct(exchange, body))

    assert exchange.accepted_s > 0.0

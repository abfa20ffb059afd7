"""The way of a text through the mailbox."""

from __future__ import annotations

import asyncio
import time
from unittest.mock import AsyncMock

import pytest

from api.grammar.correction import Correction
from api.service.body import BatchBody, CorrectionBody
from api.service.exchange import Exchange
from scheduler.errors import QueueFull, SentenceTooLong
from scheduler.messages import Completion, Timings
from scheduler.settings import Settings
from tests.fake_mailbox import TOKENIZER, FakeMailbox, corrector_of
from worker.queue.protocol import Submission


def correct(mailbox: FakeMailbox, text: str, **facts: object) -> tuple[Exchange, Correction]:
    exchange = Exchange("id1", received_s=time.perf_counter(), **facts)
    body = CorrectionBody(sentence=text, learner_id="anna")
    return exchange, asyncio.run(corrector_of(mailbox, Settings(request_timeout_s=300.0)).correct(exchange, body))


def test_the_sentences_of_a_text_are_jobs_of_their_own_and_carry_neither_the_text_nor_whose_it_is(
    mailbox: FakeMailbox,
) -> None:
    exchange, correction = correct(mailbox, "He came. She left.\n\nThey  stayed")

    assert [request.request_id for request in mailbox.requests] == ["id1-1", "id1-2", "id1-3"]
    for sentence, request in zip(("He came.", "She left.", "They stayed"), mailbox.requests, strict=True):
        prompt = TOKENIZER.encode(sentence)
        assert (request.prompt_ids, request.word_numbers) == (prompt.token_ids, prompt.word_numbers)
        assert request.tokenizer_fingerprint == TOKENIZER.fingerprint
    assert not any(word in str([one.to_wire() for one in mailbox.requests]) for word in ("came", "stayed", "anna"))
    assert correction.corrected == "He came. She left.\n\nThey  stayed"
    assert exchange.timings == pytest.approx(Timings(0.0014, 0.0034, 0.0058)), "of each the longest"


def test_a_sentence_alone_is_a_job_under_the_id_of_its_answer_and_one_that_is_too_long_none(
    mailbox: FakeMailbox,
) -> None:
    correct(mailbox, "He went home")
    with pytest.raises(SentenceTooLong):
        correct(mailbox, "word " * 65)

    assert [request.request_id for request in mailbox.requests] == ["id1"]


@pytest.mark.parametrize(("allowed_s", "least", "most"), [(None, 200, 300), (150.0, 50, 150), (600.0, 200, 300)])
def test_an_earlier_deadline_of_the_client_takes_the_place_of_ours_and_no_later_one(
    mailbox: FakeMailbox, allowed_s: float | None, least: float, most: float
) -> None:
    exchange, _ = correct(mailbox, "He came. She left.", allowed_s=allowed_s)

    assert least < exchange.left_s() <= exchange.within_s <= most


class RefusingMailbox(FakeMailbox):
    """Refuses a request while it is waited for, as the queue does where it has not confirmed it before."""

    async def enqueue(self, wanted: Submission) -> None:
        self.exchanges.append(wanted)

    async def wait(self, *_: object) -> list[Completion]:
        raise QueueFull("full", 1.0)


def test_a_refusal_that_comes_while_waiting_refuses_all_of_it_and_it_was_never_accepted() -> None:
    mailbox = RefusingMailbox()

    with pytest.raises(QueueFull):
        correct(mailbox, "He went home")
    with pytest.raises(QueueFull):
        asyncio.run(corrector_of(mailbox).correct(Exchange("id1"), BatchBody(sentences=["He went home"])))

    assert all(exchange.sent_s > 0.0 == exchange.accepted_s for exchange in mailbox.exchanges)
    assert len(mailbox.exchanges) == 2


def test_an_answer_that_comes_before_the_queue_has_confirmed_its_request_counts_as_accepted(
    mailbox: FakeMailbox,
) -> None:
    mailbox.enqueue = AsyncMock()

    exchange, _ = correct(mailbox, "He went home")

    assert exchange.accepted_s > 0.0

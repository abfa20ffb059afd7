"""What the queue keeps of a text is not much longer than what the client sent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from api.kept.routes import body_of
from api.service.body import CorrectionBody, parse_body
from api.service.corrector import note_content
from api.service.exchange import Account, Exchange
from tests.fake_mailbox import FakeMailbox, corrector_of
from worker.queue.protocol import ReplyMode

FILLINGS = (" ", "\t", "\n", '"', "\\", "\u3000", "\u00a0", "\u2028", "é", "\U0001f600", "/")


@pytest.mark.parametrize("filling", FILLINGS)
def test_a_stored_text_takes_at_most_twice_its_body(filling: str) -> None:
    text = "Go." + 30_000 * filling + "Go."
    body = json.dumps({"sentence": text}, ensure_ascii=False).encode()

    exchange = Exchange("id", manner=ReplyMode.ASYNC)

    note_content(exchange, parse_body(body), ())

    assert len(exchange.document.encode()) <= 2 * len(body)


def test_the_text_of_a_request_that_nobody_may_ask_for_again_is_not_kept() -> None:
    exchange, other = Exchange("id"), Exchange("id", key="key")
    corrector = corrector_of(FakeMailbox())

    for one in (exchange, other):
        asyncio.run(corrector.correct(one, CorrectionBody(sentence="Go.")))

    assert exchange.document == "" and "Go." in other.document


def test_a_retry_is_the_same_request_although_the_first_was_kept_without_its_account() -> None:
    def digest(account: Account | None) -> str:
        exchange = Exchange("id", account=account, key="lesson 1")
        note_content(exchange, CorrectionBody(sentence="Go."), ())
        return exchange.digest

    assert digest(None) == digest(Account("school"))


def test_what_a_request_asks_for_is_kept_and_tells_two_apart() -> None:
    def record(**options: Any) -> tuple[str, str]:
        exchange, body = Exchange("id1", key="key"), CorrectionBody(sentence="He goed", **options)
        note_content(exchange, body, ())
        assert body_of(exchange, json.loads(exchange.document)) == body
        return exchange.document, exchange.digest

    assert len({record(**options)[1] for options in ({}, {"min_confidence": 0.9}, {"level": "picky"})}) == 3
    assert {"min_confidence", "level"}.isdisjoint(json.loads(record()[0])), "what is not asked for takes no room"

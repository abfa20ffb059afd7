"""What the queue keeps of a text is not much longer than what the client sent."""

from __future__ import annotations

import json

import pytest

from api.grammar.pipeline import TextPipeline
from api.http.schema import parse_body
from api.service.jobs import Job, record_of
from api.telemetry.request_log import Exchange
from scheduler.accounts import Account
from worker.mailbox.protocol import ReplyMode

FILLINGS = (" ", "\t", "\n", '"', "\\", "\u3000", "\u00a0", "\u2028", "é", "\U0001f600", "/")


@pytest.mark.parametrize("filling", FILLINGS)
def test_a_stored_text_takes_at_most_twice_its_body(filling: str) -> None:
    text = "Go." + 30_000 * filling + "Go."
    body = json.dumps({"sentence": text}, ensure_ascii=False).encode()
    job = Job(Exchange("id", 0.0), (parse_body(body).sentence,))

    record = record_of(job, [TextPipeline.load().prepare_text("Go.")], "fingerprint", ReplyMode.WAIT)

    assert len(record.document.encode()) <= 2 * len(body)


def test_a_retry_is_the_same_request_although_the_first_was_kept_without_its_account() -> None:
    def digest(account: Account | None) -> str:
        job = Job(Exchange("id", 0.0, account=account), ("Go.",), key="lesson 1")
        return record_of(job, [TextPipeline.load().prepare_text("Go.")], "fingerprint", ReplyMode.WAIT).digest

    assert digest(None) == digest(Account("school"))

"""POST /correct/batch: one HTTP request, many texts, each with an answer or a problem of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from flask.testing import FlaskClient

from api.grammar.correction import Correction
from api.service.body import BatchBody
from api.service.exchange import Exchange
from scheduler.errors import (
    Cancelled,
    DeadlineExceeded,
    InvalidRequest,
    RequestFailed,
    SentenceTooLong,
    ServingError,
    ShuttingDown,
)
from scheduler.messages import Completion, FinishReason, Timings
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, corrector_of
from worker.queue.protocol import Submission


def test_results_stand_in_the_order_of_the_sentences_and_what_is_wrong_with_one_in_its_place(
    client: FlaskClient,
) -> None:
    sentences = ["He goed", "", 5, "a\u0007b", "She goed home. They goed.", "\u00c9l\u00e9a goed"]

    response = client.post("/correct/batch", json={"sentences": sentences})

    document = response.get_json()
    results = document["results"]
    assert response.status_code == 200
    assert [result.get("corrected", result.get("type")) for result in results] == [
        "He went", *["urn:miniserve:problem:invalid-request"] * 3, "She went home. They went.", "\u00c9l\u00e9a went",
    ]  # fmt: skip
    assert results[2]["detail"] == "`sentences[2]` has the wrong type; each must be a string."
    assert [result["request_id"] for result in results] == [
        f"{document['request_id']}-{number}" for number in range(1, 7)
    ]


class FailingMailbox(FakeMailbox):
    """Fails the requests it is told to, each with its error."""

    def __init__(self, errors: dict[str, ServingError]) -> None:
        super().__init__()
        self.errors = errors
        self.abandoned: list[str] = []

    async def wait(self, wanted: Submission, job_ids: Sequence[str] | None = None) -> list[Completion]:
        for job_id in job_ids or ():
            if job_id in self.errors:
                wanted.has_left = isinstance(self.errors[job_id], Cancelled) and str(self.errors[job_id]) == "left"
                raise self.errors[job_id]
        return await super().wait(wanted, job_ids)

    def abandon(self, wanted: Submission) -> None:
        self.abandoned += [request.request_id for request in wanted.requests]


def run(mailbox: FakeMailbox, *items: str | ServingError) -> Sequence[Correction | ServingError]:
    corrector = corrector_of(mailbox, Settings(request_timeout_s=300.0))
    body = BatchBody(sentences=list(items), learner_id="anna")
    return asyncio.run(corrector.correct(Exchange("id"), body))


def test_all_of_a_batch_is_submitted_at_once_and_shares_one_deadline(mailbox: FakeMailbox) -> None:
    outcomes = run(mailbox, "He came.", InvalidRequest("sentence", "no"), "She left. They stayed.", "word " * 65)

    (exchange,) = mailbox.exchanges
    assert [request.request_id for request in mailbox.requests] == ["id-1", "id-3-1", "id-3-2"]
    assert "anna" not in str([request.to_wire() for request in mailbox.requests])
    assert [type(outcome) for outcome in outcomes] == [Correction, InvalidRequest, Correction, SentenceTooLong]
    assert exchange.within_s == pytest.approx(300, abs=100)
    assert exchange.timings == pytest.approx(Timings(0.0013, 0.0034, 0.0057))


@pytest.mark.parametrize("error", [RequestFailed("gave up"), DeadlineExceeded("late"), Cancelled("by hand")])
def test_an_item_that_fails_fails_alone(error: ServingError) -> None:
    outcomes = run(FailingMailbox({"id-2": error}), "He came.", "She left.", "They stayed.")

    assert type(outcomes[1]) is type(error)
    assert [outcome.corrected for outcome in (outcomes[0], outcomes[2])] == ["He came.", "They stayed."]


@pytest.mark.parametrize("error", [Cancelled("left"), ShuttingDown("stopping", 1.0)])
def test_who_leaves_or_is_sent_away_takes_the_whole_batch_along(error: ServingError) -> None:
    mailbox = FailingMailbox({"id-1": error})

    with pytest.raises(type(error)):
        run(mailbox, "He came.", "She left.", "They stayed.")

    assert mailbox.abandoned == ["id-1", "id-2", "id-3"]


def test_an_answer_that_comes_before_the_queue_has_confirmed_its_request_counts_as_accepted() -> None:
    exchange = Exchange("id")

    exchange.note_answers([Completion("id", FinishReason.STOP, (1,))])

    assert exchange.accepted_s > 0.0

"""POST /correct/batch: one HTTP request, many texts, each with an answer or a problem of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from flask.testing import FlaskClient

from api.grammar.correction import Correction
from api.grammar.pipeline import MAX_TEXT_CHARACTERS, PAUSE_AFTER, TextPipeline
from api.grammar.verbs import VerbTable
from api.service.batch import BatchBody, correct_batch
from api.service.corrector import Corrector
from api.service.exchange import Exchange
from scheduler.errors import (
    Cancelled,
    DeadlineExceeded,
    InvalidRequest,
    QueueFull,
    RequestFailed,
    SentenceTooLong,
    ServingError,
    ShuttingDown,
)
from scheduler.messages import Completion, Timings
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector, assert_problem, client_of
from tests.fake_tokenizer import FakeTokenizer
from tests.unit.test_corrector import FakeMailbox
from worker.queue.protocol import Submission


@pytest.fixture
def client(corrector: FakeCorrector) -> FlaskClient:
    return client_of(corrector)


def send(client: FlaskClient, sentences: object, **more: object):
    return client.post("/correct/batch", json={"sentences": sentences} | more)


def test_the_results_stand_in_the_order_of_the_sentences(client: FlaskClient) -> None:
    document = send(client, ["He goed", "She goed home. They goed.", "\u00c9l\u00e9a goed"]).get_json()

    found = [result["corrected"] for result in document["results"]]
    assert found == ["He went", "She went home. They went.", "\u00c9l\u00e9a went"]
    ids = [result["request_id"] for result in document["results"]]
    assert ids == [f"{document['request_id']}-{number}" for number in (1, 2, 3)]


def test_what_is_wrong_with_one_item_is_told_in_its_place(client: FlaskClient) -> None:
    response = send(client, ["He goed", "", 5, "a\u0007b", "They goed"])

    results = response.get_json()["results"]
    assert response.status_code == 200
    assert [result.get("corrected") for result in results] == ["He went", None, None, None, "They went"]
    assert [result.get("status") for result in results] == [None, 422, 422, 422, None]
    assert {result["type"] for result in results[1:4]} == {"urn:miniserve:problem:invalid-request"}
    assert results[2]["detail"] == "`sentences[2]` has the wrong type; each must be a string."


@pytest.mark.parametrize(
    ("body", "field", "named"),
    [
        ("{}", "sentences", '{"sentences": ["He goed to school"]}'),
        ('{"sentence": "He goed"}', "sentences", " `sentence` goes to POST /correct."),
        ('{"sentences": "He goed"}', "sentences", "a list of strings"),
        ('{"sentences": []}', "sentences", "0 items; allowed are 1 to 64"),
        (json.dumps({"sentences": ["He goed"] * 65}), "sentences", "65 items; allowed are 1 to 64"),
        ('{"sentences": ["He"], "learner_id": 5}', "learner_id", "a string"),
        ('["He goed"]', "body", '{"sentences": ["He goed to school"]}'),
    ],
)
def test_a_body_that_is_no_batch_is_refused_as_a_whole(client: FlaskClient, body: str, field: str, named: str) -> None:
    response = client.post("/correct/batch", data=body, content_type="application/json")

    problem = assert_problem(response, 422, "invalid-request")
    assert problem["field"] == field and named in problem["detail"]


def test_a_batch_that_finds_the_queue_full_is_refused_as_a_whole(client: FlaskClient, corrector: FakeCorrector) -> None:
    corrector.error = QueueFull("full", 3.0)

    response = send(client, ["He goed"])

    assert_problem(response, 503, "queue-full")
    assert response.headers["Retry-After"] == "3"


class FailingMailbox(FakeMailbox):
    """Fails the requests it is told to, each with its error."""

    def __init__(self, errors: dict[str, ServingError]) -> None:
        super().__init__()
        self.errors = errors
        self.abandoned: list[str] = []
        self.submissions: list[list[str]] = []

    async def enqueue(self, wanted: Submission) -> None:
        self.submissions.append([request.request_id for request in wanted.requests])
        await super().enqueue(wanted)

    async def wait(self, wanted: Submission, job_ids: Sequence[str]) -> list[Completion]:
        for job_id in job_ids:
            if job_id in self.errors:
                wanted.has_left = isinstance(self.errors[job_id], Cancelled) and str(self.errors[job_id]) == "left"
                raise self.errors[job_id]
        return await super().wait(wanted, job_ids)

    def abandon(self, wanted: Submission) -> None:
        self.abandoned += [request.request_id for request in wanted.requests]


def batch(*items: str | ServingError) -> tuple[Exchange, BatchBody]:
    return Exchange("id"), BatchBody(sentences=list(items), learner_id="anna")


def run(mailbox: FakeMailbox, asked: tuple[Exchange, BatchBody]) -> Sequence[Correction | ServingError]:
    pipeline = TextPipeline(FakeTokenizer(), VerbTable.load())
    return asyncio.run(correct_batch(Corrector(pipeline, mailbox, Settings(request_timeout_s=300.0)), *asked))


def test_all_of_a_batch_is_submitted_at_once_and_shares_one_deadline() -> None:
    mailbox = FailingMailbox({})

    asked = batch("He came.", InvalidRequest("sentence", "no"), "She left. They stayed.", "word " * 65)
    outcomes = run(mailbox, asked)

    assert mailbox.submissions == [["id-1", "id-3-1", "id-3-2"]]
    assert "anna" not in str([request.to_wire() for request in mailbox.requests])
    assert [type(outcome) for outcome in outcomes] == [Correction, InvalidRequest, Correction, SentenceTooLong]
    assert mailbox.deadlines == [pytest.approx(300, abs=100)]
    assert asked[0].timings == Timings(1.1, 0.2, 3.3)


def test_a_long_batch_lets_others_go_first_before_it_is_submitted_and_after_its_answers() -> None:
    mailbox, pauses = FailingMailbox({}), []
    pipeline = TextPipeline(FakeTokenizer(), VerbTable.load(), pause=lambda: pauses.append(len(mailbox.submissions)))

    asked = batch(*["He came."] * 60, *["word " * 65] * 4)
    asyncio.run(correct_batch(Corrector(pipeline, mailbox, Settings()), *asked))

    assert [pauses.count(0), pauses.count(1)] == [64 // PAUSE_AFTER] * 2


@pytest.mark.parametrize("error", [RequestFailed("gave up"), DeadlineExceeded("late"), Cancelled("by hand")])
def test_an_item_that_fails_fails_alone(error: ServingError) -> None:
    outcomes = run(FailingMailbox({"id-2": error}), batch("He came.", "She left.", "They stayed."))

    assert type(outcomes[1]) is type(error)
    assert [outcome.corrected for outcome in (outcomes[0], outcomes[2])] == ["He came.", "They stayed."]


@pytest.mark.parametrize("error", [Cancelled("left"), ShuttingDown("stopping", 1.0)])
def test_who_leaves_or_is_sent_away_takes_the_whole_batch_along(error: ServingError) -> None:
    mailbox = FailingMailbox({"id-1": error})

    with pytest.raises(type(error)):
        run(mailbox, batch("He came.", "She left.", "They stayed."))

    assert mailbox.abandoned == ["id-1", "id-2", "id-3"]


def test_a_batch_without_one_good_item_never_reaches_the_queue() -> None:
    mailbox = FailingMailbox({})

    (outcome,) = run(mailbox, batch("word " * 65))

    assert isinstance(outcome, SentenceTooLong)
    assert mailbox.submissions == []


@pytest.mark.parametrize(
    ("items", "told"),
    [
        (["He came. She left."] * 33, "The items of `sentences` hold 66 sentences; at most 64 are taken at once."),
        (["a " * 10_000] * 3, f"have 60,000 characters; at most {MAX_TEXT_CHARACTERS:,} are read."),
    ],
)
def test_more_than_a_request_may_hold_is_refused_before_anything_is_queued(items: list[str], told: str) -> None:
    mailbox = FailingMailbox({})

    with pytest.raises(InvalidRequest, match=told) as refusal:
        run(mailbox, batch(*items))

    assert refusal.value.field == "sentences"
    assert mailbox.submissions == []

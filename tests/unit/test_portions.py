"""Texts of any length: their sentences go to the queue in portions, one after the other, whoever asks."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.access.keys import new_key
from api.http.incoming import IncomingRequest
from api.service import corrector as corrector_module
from scheduler.errors import DeadlineExceeded, NotReady, RequestFailed, ServingError, ShuttingDown
from scheduler.messages import MAX_SENTENCES, MAX_TOTAL_TOKENS
from scheduler.settings import Settings
from tests.fake_mailbox import FailingMailbox, FakeMailbox, LimitedMailbox, assert_problem, client_of
from worker.queue.protocol import Submission

MANY = "He goed home. " * 150
SIZES = [MAX_SENTENCES, MAX_SENTENCES, 22]
Way = Callable[..., TestResponse]


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def correct(client: FlaskClient, text: str, **headers: str) -> TestResponse:
    return client.post("/correct", json={"sentence": text}, headers=named(headers))


def correct_batch(client: FlaskClient, text: str, **headers: str) -> TestResponse:
    return client.post("/correct/batch", json={"sentences": [text]}, headers=named(headers))


def checked(client: FlaskClient, text: str, **headers: str) -> TestResponse:
    return client.post("/v2/check", data={"language": "en", "text": text}, headers=named(headers))


WAYS = pytest.mark.parametrize("way", [correct, correct_batch, checked])


@WAYS
def test_a_long_text_goes_to_the_queue_in_portions_under_ids_of_one_series(
    way: Way, client: FlaskClient, mailbox: FakeMailbox
) -> None:
    assert way(client, MANY).status_code == 200

    first = mailbox.exchanges[0]
    name = f"{first.request_id}-1" if way is correct_batch else first.request_id
    assert mailbox.batches == SIZES
    assert [request.request_id for request in mailbox.requests] == [f"{name}-{number}" for number in range(1, 151)]
    assert [exchange.may_be_known for exchange in mailbox.exchanges] == [False, True, True]


def test_the_answer_for_a_long_text_is_that_for_its_parts(client: FlaskClient) -> None:
    text = f"He goed \U0001f600 home. {'word ' * 65}it. " * 100

    answer = correct(client, text).get_json()

    assert answer["corrected"] == text.replace("goed", "went")
    assert [edit["start"] for edit in answer["edits"]] == [match.start() for match in re.finditer("goed", text)]
    assert [note["code"] for note in answer["notes"]] == ["too-long"] * 100


def test_the_texts_of_a_batch_share_portions(client: FlaskClient, mailbox: FakeMailbox) -> None:
    texts = ["He goed home. " * number for number in (1, 40, 50, 60)] + [""]

    results = client.post("/correct/batch", json={"sentences": texts}).get_json()["results"]

    assert mailbox.batches == [64, 64, 23]
    assert [result.get("corrected") for result in results] == [text.replace("goed", "went") or None for text in texts]
    assert len({request.request_id for request in mailbox.requests}) == 151


@WAYS
def test_only_the_first_portion_is_refused_at_once_and_the_others_wait_for_room(way: Way) -> None:
    assert way(client_of(LimitedMailbox(1, 2)), MANY).status_code == 200
    assert way(client_of(LimitedMailbox(0)), MANY).status_code == 429


@WAYS
def test_who_leaves_while_a_portion_waits_for_room_is_not_waited_for(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    mailbox = LimitedMailbox(1, retry_after_s=20.0)
    monkeypatch.setattr(IncomingRequest, "when_left", lambda _, call: call and mailbox.exchanges and call())

    response = way(client_of(mailbox), MANY)

    assert response.status_code == 409 and mailbox.batches == [MAX_SENTENCES]


class LateMailbox(LimitedMailbox):
    """The time is over while a portion waits for room."""

    async def pause(self, *_: object) -> NoReturn:
        raise DeadlineExceeded("late")


def test_what_was_checked_is_answered_where_the_time_is_over_in_front_of_the_queue() -> None:
    document = checked(client_of(LateMailbox(1)), MANY).get_json()

    assert len(document["matches"]) == MAX_SENTENCES
    assert "The time was over after 30 s" in document["warnings"]["incompleteResultsReason"]


class SlowMailbox(FakeMailbox):
    """Each portion takes ten seconds."""

    async def enqueue(self, wanted: Submission) -> None:
        await super().enqueue(wanted)
        self.exchanges[0].until_s -= 10.0


def test_a_text_that_cannot_be_ready_in_its_time_ends_as_soon_as_that_is_seen() -> None:
    mailbox = SlowMailbox()

    problem = assert_problem(correct(client_of(mailbox), "He goed home. " * 640), 504, "deadline-exceeded")

    assert mailbox.batches == [MAX_SENTENCES]
    assert re.search(r"would take some 1\d\d s, and has 30 s", problem["detail"]), "100 s, and what this machine takes"


@WAYS
def test_all_portions_share_one_deadline_and_count_as_one_request(
    way: Way, client: FlaskClient, mailbox: FakeMailbox
) -> None:
    answered = way(client, MANY, X_Deadline_Ms="60000")

    totals = client.application.services.recorder.totals()
    first, second, third = [exchange.within_s for exchange in mailbox.exchanges]
    assert answered.status_code == 200 and 30.0 >= first > second > third
    assert sum(count for name, count in totals.items() if name.startswith("http:")) == 1
    assert sum(count for name, count in totals.items() if re.fullmatch(r"e2e_request_latency:\d+", name)) == 1
    assert "queue;dur=18.3, prefill;dur=10.2" in answered.headers["Server-Timing"]  # the longest of each, added up


@WAYS
def test_the_tokens_of_a_text_count_once_for_its_key_and_only_what_the_queue_took(way: Way, tmp_path: Path) -> None:
    keys, (key, line) = tmp_path / "keys", new_key("school")
    keys.write_text(line)

    def tokens_of(num_sentences: int, *refused: int) -> float:
        client = client_of(LimitedMailbox(*refused, retry_after_s=60.0), Settings(api_keys_file=str(keys)))
        way(client, "He goed home. " * num_sentences, Authorization=f"Bearer {key}")
        return client.application.services.recorder.totals()["key_tokens:school"]

    assert tokens_of(150) == 150 * tokens_of(1)
    assert tokens_of(150, 1) == MAX_SENTENCES * tokens_of(1)


ENDS = [
    (DeadlineExceeded("x"), 504, "deadline-exceeded", "The time was over after 30 s. Send the text in parts, or try"),
    (NotReady("Redis is away.", 60.0), 503, "not-ready", "Redis is away."),
    (RequestFailed("3 attempts failed."), 502, "request-failed", "3 attempts failed."),
    (ShuttingDown("bye", 1.0), 503, "shutting-down", "bye"),
]


@pytest.mark.parametrize(("error", "status", "slug", "words"), ENDS)
def test_a_text_of_which_a_later_portion_fails_has_one_clear_problem(
    error: ServingError, status: int, slug: str, words: str
) -> None:
    mailbox = FailingMailbox(MAX_SENTENCES, error)

    problem = assert_problem(correct(client_of(mailbox), MANY), status, slug)

    assert problem["detail"].startswith(words)
    assert mailbox.batches == SIZES[:2], "nothing more of it is queued"


def test_a_queue_smaller_than_a_portion_takes_a_long_text_too(mailbox: FakeMailbox) -> None:
    client = client_of(mailbox, Settings(max_queue_requests=50))

    assert correct(client, MANY).status_code == 200 and mailbox.batches == [50, 50, 50]


def test_a_queue_of_few_tokens_takes_a_long_text_too(mailbox: FakeMailbox) -> None:
    client = client_of(mailbox, Settings(max_queue_tokens=50 * MAX_TOTAL_TOKENS))

    assert correct(client, MANY).status_code == 200 and mailbox.batches == [50, 50, 50]


def test_a_process_corrects_a_bounded_number_of_long_texts_at_once(
    client: FlaskClient, mailbox: FakeMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrector_module, "MOST_LONG", 0)
    long_one = "He goed. " + "x" * corrector_module.LONG

    problem = assert_problem(correct(client, long_one), 503, "queue-full")

    assert problem["detail"].startswith("0 long texts are corrected in this process already")
    assert client.application.services.recorder.totals()["rejected:queue-full"] == 1
    assert correct(client, "He goed").status_code == 200 and len(mailbox.exchanges) == 1
    monkeypatch.setattr(corrector_module, "MOST_LONG", 1)
    assert {correct(client, long_one).status_code for _ in range(3)} == {200}, "each leaves its place"

    meanwhile: list[int] = []
    take = mailbox.enqueue

    async def enqueue(wanted: Submission) -> None:
        monkeypatch.setattr(mailbox, "enqueue", take)
        meanwhile.append((await asyncio.to_thread(correct, client, long_one)).status_code)
        await take(wanted)

    monkeypatch.setattr(mailbox, "enqueue", enqueue)
    assert correct(client, long_one).status_code == 200 and meanwhile == [503]


@pytest.mark.parametrize("way", [correct, correct_batch])
def test_a_request_that_is_kept_is_queued_as_a_whole(way: Way, client: FlaskClient, mailbox: FakeMailbox) -> None:
    def ask(number: int) -> Any:
        return way(client, "He goed home. " * number, Idempotency_Key=f"k{number}")

    assert ask(corrector_module.MOST_KEPT).status_code == 200
    assert mailbox.batches == [corrector_module.MOST_KEPT]
    assert_problem(ask(corrector_module.MOST_KEPT + 1), 422, "invalid-request")

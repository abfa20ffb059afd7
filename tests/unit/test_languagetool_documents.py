"""Documents of an editor: any length, sentences that cannot be read, one deadline, one record."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

import api.languagetool.answer as answer_module
from api.access.keys import new_key
from api.http.incoming import IncomingRequest
from scheduler.errors import DeadlineExceeded, NotReady, RateLimited, RequestFailed, ShuttingDown
from scheduler.messages import MAX_SENTENCES, Completion
from scheduler.settings import Settings
from tests.went_mailbox import WentMailbox, check, client_of_mailbox, utf16
from worker.queue.protocol import Submission

LONG = " ".join(["word"] * 65) + "."


@pytest.fixture
def mailbox() -> WentMailbox:
    return WentMailbox()


@pytest.fixture
def client(mailbox: WentMailbox) -> FlaskClient:
    return client_of_mailbox(mailbox)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_is_found_in_nothing(client: FlaskClient, mailbox: WentMailbox, text: str) -> None:
    assert check(client, text).get_json()["matches"] == [] and mailbox.requests == []


class LimitedMailbox(WentMailbox):
    """Refuses these batches the first time, as for a key that has used what a second brings."""

    def __init__(self, *refused: int, retry_after_s: float = 0.001) -> None:
        super().__init__()
        self._refused, self._retry_after_s = set(refused), retry_after_s

    async def enqueue(self, wanted: Submission) -> None:
        number = len(self.batches)
        if number in self._refused:
            self._refused.remove(number)
            raise RateLimited("used up", self._retry_after_s)
        await super().enqueue(wanted)


def test_the_later_batches_of_a_document_wait_for_the_limit_of_its_key() -> None:
    text = "He goed home. " * 150

    assert len(check(client_of_mailbox(LimitedMailbox(1, 2)), text).get_json()["matches"]) == 150
    assert check(client_of_mailbox(LimitedMailbox(0)), text).status_code == 429


def test_who_leaves_while_the_limit_of_its_key_is_waited_for_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    mailbox = LimitedMailbox(1, retry_after_s=20.0)
    monkeypatch.setattr(IncomingRequest, "when_left", lambda _, call: call and mailbox.batches and call())

    response = check(client_of_mailbox(mailbox), "He goed home. " * 150)

    assert response.status_code == 409 and mailbox.batches == [MAX_SENTENCES]


def test_a_long_document_goes_to_the_queue_in_batches(client: FlaskClient, mailbox: WentMailbox) -> None:
    text = "He goed \U0001f600 home. " * 150

    matches = check(client, text).get_json()["matches"]

    assert [utf16(text, match["offset"], match["length"]) for match in matches] == ["goed"] * 150
    assert mailbox.batches == [MAX_SENTENCES, MAX_SENTENCES, 150 - 2 * MAX_SENTENCES]
    assert len({record.request_id for record in mailbox.records}) == 3
    assert len({request.request_id for request in mailbox.requests}) == 150


def test_a_document_is_cut_into_the_sentences_that_are_read(client: FlaskClient, mailbox: WentMailbox) -> None:
    text = "He\u200b go\u00aded.\u200b " * 130  # behind such a period the text itself goes on

    document = check(client, text).get_json()

    assert [text[match["offset"] :][: match["length"]] for match in document["matches"]] == ["go\u00aded"] * 130
    assert len(document["sentenceRanges"]) == 130
    assert mailbox.batches == [64, 64, 2]


def test_a_batch_holds_no_more_characters_than_a_request_may(client: FlaskClient, mailbox: WentMailbox) -> None:
    text = ("He goed " + "x" * 3000 + " home. ") * 30

    assert len(check(client, text).get_json()["matches"]) == 30
    assert mailbox.batches == [13, 13, 4]


def test_an_answer_that_is_full_says_so_and_the_rest_of_the_document_is_not_checked(
    client: FlaskClient, mailbox: WentMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "He goed home. " * 150
    whole = check(client, text).get_json()

    monkeypatch.setattr(answer_module, "MOST_BYTES", 100 * len(json.dumps(whole["matches"][0])))
    cut = check(client, text).get_json()

    assert whole["warnings"] == {"incompleteResults": False} and cut["warnings"]["incompleteResults"]
    assert "in parts" in cut["warnings"]["incompleteResultsReason"]
    assert cut["matches"] == whole["matches"][: 2 * MAX_SENTENCES]
    assert cut["sentenceRanges"] == whole["sentenceRanges"][: 2 * MAX_SENTENCES]
    assert mailbox.batches[3:] == [MAX_SENTENCES, MAX_SENTENCES]


def test_a_document_whose_last_sentence_fills_the_answer_is_checked_completely(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_module, "MOST_BYTES", 1)

    document = check(client, "He goed home. " * MAX_SENTENCES).get_json()

    assert len(document["matches"]) == MAX_SENTENCES and document["warnings"] == {"incompleteResults": False}


@pytest.mark.parametrize("long", [LONG, "x" * 50_000 + ".", "x" * 8_001 + "."], ids=["words", "huge", "characters"])
def test_a_sentence_that_is_too_long_is_skipped_and_marked(client: FlaskClient, long: str) -> None:
    text = f"He goed home. {long} They goed home."

    document = check(client, text).get_json()

    assert [match["rule"]["id"] for match in document["matches"]] == [
        "irregular_past", "sentence_too_long", "irregular_past",
    ]  # fmt: skip
    mark = document["matches"][1]
    assert utf16(text, mark["offset"], mark["length"]) == long and mark["replacements"] == []
    assert "64 words" in mark["message"] and document["warnings"]["incompleteResults"]
    without = check(client, text, disabledRules="sentence_too_long").get_json()
    assert len(without["matches"]) == 2 and without["warnings"]["incompleteResults"]


def test_controls_and_halves_of_characters_are_read_as_blanks(client: FlaskClient) -> None:
    text = "He\x0cgoed\x00 home.\x85 \x1fThey goed"
    halves = json.dumps({"annotation": [{"text": "He goed \ud83d"}, {"text": "\ude00 home"}]})

    matches = check(client, text).get_json()["matches"]

    assert [utf16(text, match["offset"], match["length"]) for match in matches] == ["goed", "goed"]
    assert check(client, data=halves).get_json()["matches"][0]["offset"] == 3


@pytest.mark.parametrize(
    ("error", "status"), [(RequestFailed("x"), 502), (DeadlineExceeded("x"), 504), (OSError(), 500)]
)
def test_a_sentence_without_an_answer_fails_the_check(
    client: FlaskClient, mailbox: WentMailbox, error: Exception, status: int
) -> None:
    mailbox.error = error

    assert check(client, "He goed").status_code == status


class FailingMailbox(WentMailbox):
    """Answers so many sentences; every later one fails."""

    def __init__(self, num_answered: int, error: Exception) -> None:
        super().__init__()
        self._num_left, self._later = num_answered, error

    async def wait(self, wanted: Submission, *about: object) -> list[Completion]:
        self.error = None if self._num_left > 0 else self._later
        self._num_left -= 1
        return await super().wait(wanted, *about)


@pytest.mark.parametrize("num_answered", [10, MAX_SENTENCES, MAX_SENTENCES + 10])
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DeadlineExceeded("x"), "after 0.001 s. Send the document in parts"),
        (NotReady("Redis is away.", 60.0), "Redis is away."),
        (RequestFailed("3 attempts failed."), "3 attempts failed."),
    ],
)
def test_what_was_checked_is_answered_where_the_rest_fails(num_answered: int, error: Exception, words: str) -> None:
    mailbox = FailingMailbox(num_answered, error)
    headers = {"X-Deadline-Ms": "1"} if isinstance(error, DeadlineExceeded) else {}
    form = {"language": "en", "text": "He goed home. " * 150}

    document = client_of_mailbox(mailbox).post("/v2/check", data=form, headers=headers).get_json()

    assert len(document["matches"]) == len(document["sentenceRanges"]) == num_answered
    assert document["warnings"]["incompleteResults"] and words in document["warnings"]["incompleteResultsReason"]


def test_a_time_that_is_over_before_anything_was_checked_is_named_with_the_remedy() -> None:
    form = {"language": "en", "text": "He goed home. " * 150}
    client = client_of_mailbox(FailingMailbox(0, DeadlineExceeded("x")))

    response = client.post("/v2/check", data=form, headers={"X-Deadline-Ms": "1"})

    line = "Error: The time was over after 0.001 s. Send the document in parts, or try again later."
    assert (response.status_code, response.get_data(as_text=True)) == (504, line)


def test_a_server_that_stops_leaves_the_whole_document_to_another() -> None:
    client = client_of_mailbox(FailingMailbox(MAX_SENTENCES, ShuttingDown("bye", 1.0)))

    assert check(client, "He goed home. " * 150).status_code == 503


def test_all_batches_of_a_document_share_one_deadline(client: FlaskClient, mailbox: WentMailbox) -> None:
    form = {"language": "en", "text": "He goed home. " * 100}

    answered = client.post("/v2/check", data=form, headers={"X-Deadline-Ms": "60000"})

    assert answered.status_code == 200
    first, second = dict.fromkeys(mailbox.deadlines)
    assert 30.0 >= first > second


def test_a_document_counts_as_one_request(client: FlaskClient) -> None:
    check(client, "He goed home. " * 70)

    totals = client.application.services.recorder.totals()
    assert totals["http:/v2/check:200"] == 1
    assert sum(count for name, count in totals.items() if re.fullmatch(r"e2e_request_latency:\d+", name)) == 1


def test_the_tokens_of_a_document_count_once_for_its_key_and_only_what_the_queue_took(tmp_path: Path) -> None:
    keys, (key, line) = tmp_path / "keys", new_key("school")
    keys.write_text(line)

    def tokens_of(num_sentences: int, *refused: int) -> float:
        mailbox = LimitedMailbox(*refused, retry_after_s=60.0)
        client = client_of_mailbox(mailbox, Settings(mode="sync", api_keys_file=str(keys)))
        assert check(client, "He goed home. " * num_sentences, apiKey=key).status_code == 200
        return client.application.services.recorder.totals()["key_tokens:school"]

    assert tokens_of(150) == 150 * tokens_of(1)
    assert tokens_of(150, 1) == MAX_SENTENCES * tokens_of(1)

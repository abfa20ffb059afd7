"""LanguageTool's HTTP API: documents of any length, and the answer in UTF-16 code units."""

from __future__ import annotations

import json

import pytest
from flask.testing import FlaskClient

import api.languagetool.answer as answer_module
from api.grammar.language import PARTLY_ENGLISH
from api.languagetool.document import Document, Part
from scheduler.errors import DeadlineExceeded, NotReady, RequestFailed, ShuttingDown
from scheduler.messages import EOS_ID, MAX_SENTENCES
from tests.fake_mailbox import FailingMailbox, FakeMailbox, check, client_of

LONG = " ".join(["word"] * 65) + "."
MANY = "He goed home. " * 150


def utf16(text: str, offset: int, length: int) -> str:
    """What a client of JavaScript or Java cuts out of the text."""
    return text.encode("utf-16-le")[2 * offset : 2 * (offset + length)].decode("utf-16-le")


def test_a_match_has_the_members_that_clients_of_languagetool_read(client: FlaskClient) -> None:
    response = check(client, "He goed to school")

    document = response.get_json()
    (match,) = document["matches"]
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert document["software"]["name"] == "miniserve" and document["software"]["apiVersion"] == 1
    assert document["warnings"] == {"incompleteResults": False}
    assert document["language"]["code"] == document["language"]["detectedLanguage"]["code"] == "en-US"
    assert document["sentenceRanges"] == [[0, 17]]
    assert match["replacements"] == [{"value": "went", "confidence": 0.97}]
    assert match["message"] == "The past tense of 'go' is the irregular form 'went'."
    assert match["shortMessage"] == "Irregular past"
    assert match.keys() == {
        "message", "shortMessage", "replacements", "offset", "length", "context", "sentence", "type", "rule",
        "ignoreForIncompleteSentence", "contextForSureMatch",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_nothing_is_found_in_nothing(client: FlaskClient, mailbox: FakeMailbox, text: str) -> None:
    assert check(client, text).get_json()["matches"] == [] and mailbox.exchanges == []


def test_the_context_is_one_line_around_the_match(client: FlaskClient) -> None:
    text = (
        "He goed to the big market in the middle of the old town.\nThey goed there, too, and stayed for all of the day."
    )

    context = check(client, text).get_json()["matches"][1]["context"]

    assert context["text"].startswith("...") and context["text"].endswith("...") and "\n" not in context["text"]
    assert utf16(context["text"], context["offset"], context["length"]) == "goed"


def test_markup_is_not_read_and_its_length_counts(client: FlaskClient) -> None:
    parts = [{"text": "He "}, {"markup": "<b>"}, {"text": "goed"}, {"markup": "</b>"}, {"text": " to \U0001f600."},
             {"markup": "<br>", "interpretAs": "\n\n"}, {"text": "They goed"}]  # fmt: skip
    original = "He <b>goed</b> to \U0001f600.<br>They goed"

    document = check(client, data=json.dumps({"annotation": parts})).get_json()

    cut = [utf16(original, match["offset"], match["length"]) for match in document["matches"]]
    assert cut == ["goed", "goed"]
    assert [utf16(original, start, end - start) for start, end in document["sentenceRanges"]] == [
        "He <b>goed</b> to \U0001f600.", "They goed",
    ]  # fmt: skip
    assert document["matches"][0]["sentence"] == "He goed to \U0001f600."
    assert "<b>goed</b>" in document["matches"][0]["context"]["text"]


def test_a_word_with_markup_in_it_is_one_place_and_markup_alone_is_none() -> None:
    document = Document(
        [Part("go", "go", True), Part("<i>", "", False), Part("ed ", "ed ", True), Part("`x`", "#", False)]
    )

    assert document.plain == "goed #"
    assert document.original[slice(*document.span(0, 4))] == "go<i>ed"
    assert document.span(5, 6) is None
    assert document.original[slice(*document.span(0, 6))] == "go<i>ed `x`"


def test_controls_and_halves_of_characters_are_read_as_blanks(client: FlaskClient) -> None:
    text = "He\x0cgoed\x00 home.\x85 \x1fThey goed"
    halves = json.dumps({"annotation": [{"text": "He goed \ud83d"}, {"text": "\ude00 home"}]})

    matches = check(client, text).get_json()["matches"]

    assert [utf16(text, match["offset"], match["length"]) for match in matches] == ["goed", "goed"]
    assert check(client, data=halves).get_json()["matches"][0]["offset"] == 3


def test_a_document_that_is_partly_not_english_is_checked_and_says_so(
    client: FlaskClient, mailbox: FakeMailbox
) -> None:
    mailbox.output = (EOS_ID,)
    text = "We were at home and it was late. Er kam dann auch noch nach Hause."

    found = {language: check(client, text, language=language).get_json()["warnings"] for language in ("auto", "en-GB")}

    assert found["auto"] == {"incompleteResults": True, "incompleteResultsReason": PARTLY_ENGLISH}
    assert found["en-GB"] == {"incompleteResults": False}  # whose language was given is not asked about it


def test_an_answer_that_is_full_says_so_and_the_rest_of_the_document_is_not_checked(
    client: FlaskClient, mailbox: FakeMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = check(client, MANY).get_json()

    monkeypatch.setattr(answer_module, "MOST_BYTES", 100 * len(json.dumps(whole["matches"][0])))
    cut, all_of_it = check(client, MANY).get_json(), check(client, "He goed home. " * 2 * MAX_SENTENCES).get_json()

    assert whole["warnings"] == all_of_it["warnings"] == {"incompleteResults": False}
    assert cut["warnings"]["incompleteResults"] and "in parts" in cut["warnings"]["incompleteResultsReason"]
    assert cut["matches"] == whole["matches"][: 2 * MAX_SENTENCES]
    assert len(all_of_it["matches"]) == 2 * MAX_SENTENCES
    assert cut["sentenceRanges"] == whole["sentenceRanges"][: 2 * MAX_SENTENCES]
    assert mailbox.batches[3:5] == [MAX_SENTENCES, MAX_SENTENCES]


@pytest.mark.parametrize("long", [LONG, "x" * 50_000 + ".", "x" * 8_001 + "."], ids=["words", "huge", "characters"])
def test_a_sentence_that_is_too_long_is_skipped_and_marked(client: FlaskClient, long: str) -> None:
    text = f"He goed home. {long} They goed home."

    document = check(client, text).get_json()

    found = [match["rule"]["id"] for match in document["matches"]]
    assert found == ["irregular_past", "sentence_too_long", "irregular_past"]
    mark = document["matches"][1]
    assert utf16(text, mark["offset"], mark["length"]) == long and mark["replacements"] == []
    assert "64 words" in mark["message"] and document["warnings"]["incompleteResults"]
    without = check(client, text, disabledRules="sentence_too_long").get_json()
    assert len(without["matches"]) == 2 and without["warnings"]["incompleteResults"]


FAILURES = [
    (DeadlineExceeded("No answer within 30 s."), 504, "30 s."),
    (NotReady("Redis is away.", 60.0), 503, "Redis is away."),
    (RequestFailed("3 attempts failed."), 502, "3 attempts failed."),
]


@pytest.mark.parametrize("num_answered", [0, 10, MAX_SENTENCES, MAX_SENTENCES + 10])
@pytest.mark.parametrize(("error", "status", "words"), FAILURES)
def test_what_was_checked_is_answered_where_the_rest_fails(
    num_answered: int, error: Exception, status: int, words: str
) -> None:
    response = check(client_of(FailingMailbox(num_answered, error)), MANY)

    if not num_answered:
        assert response.status_code == status and response.text.startswith("Error: ") and words in response.text
        return
    document = response.get_json()
    assert len(document["matches"]) == len(document["sentenceRanges"]) == num_answered
    assert document["warnings"]["incompleteResults"] and words in document["warnings"]["incompleteResultsReason"]


@pytest.mark.parametrize(("error", "status"), [(ShuttingDown("bye", 1.0), 503), (OSError(), 500)])
def test_a_server_that_stops_or_has_a_bug_leaves_the_whole_document_to_another(error: Exception, status: int) -> None:
    assert check(client_of(FailingMailbox(MAX_SENTENCES, error)), MANY).status_code == status

"""LanguageTool's HTTP API: its form, its answer in UTF-16 code units, its errors."""

from __future__ import annotations

import json

import pytest
from flask.testing import FlaskClient

from api.grammar.language import PARTLY_ENGLISH
from api.languagetool.document import Document, Part
from scheduler.errors import QueueFull
from tests.went_mailbox import WentMailbox, check, client_of_mailbox, utf16


@pytest.fixture
def mailbox() -> WentMailbox:
    return WentMailbox()


@pytest.fixture
def client(mailbox: WentMailbox) -> FlaskClient:
    return client_of_mailbox(mailbox)


def test_a_match_has_the_members_that_clients_of_languagetool_read(client: FlaskClient) -> None:
    response = check(client, "He goed to school")

    document = response.get_json()
    (match,) = document["matches"]
    assert (response.status_code, response.content_type) == (200, "application/json")
    assert document["software"]["name"] == "miniserve" and document["software"]["apiVersion"] == 1
    assert document["warnings"] == {"incompleteResults": False}
    assert document["language"]["code"] == document["language"]["detectedLanguage"]["code"] == "en-US"
    assert document["sentenceRanges"] == [[0, 17]]
    why = "The past tense of 'go' is the irregular form 'went'."
    assert match == {
        "message": why, "shortMessage": "Irregular past", "replacements": [{"value": "went", "confidence": 1.0}],
        "offset": 3, "length": 4, "context": {"text": "He goed to school", "offset": 3, "length": 4},
        "sentence": "He goed to school", "type": {"typeName": "Other"},
        "rule": {
            "id": "irregular_past", "description": "Irregular past", "issueType": "grammar",
            "category": {"id": "GRAMMAR", "name": "Grammar"},
        },
        "ignoreForIncompleteSentence": False, "contextForSureMatch": 0,
    }  # fmt: skip


def test_offsets_count_utf_16_code_units(client: FlaskClient) -> None:
    text = "\U0001f600 He goed \u201chome\u201d. She goed \U0001f469\u200d\U0001f3eb late.\nWe\u2019ve goed \U0001f680."

    matches = check(client, text).get_json()["matches"]

    cut = [utf16(text, match["offset"], match["length"]) for match in matches]
    shown = [utf16(*(match["context"][name] for name in ("text", "offset", "length"))) for match in matches]
    assert cut == shown == ["goed", "goed", "goed"]
    assert [match["offset"] for match in matches] == [6, 23, 46]


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


def test_data_may_hold_the_text_alone_and_the_other_field_may_be_empty(client: FlaskClient) -> None:
    for fields in ({"data": '{"text": "He goed"}'}, {"data": '{"text": "He goed"}', "text": ""}):
        assert check(client, **fields).get_json()["matches"][0]["offset"] == 3
    assert check(client, "He goed", data="").get_json()["matches"][0]["offset"] == 3


@pytest.mark.parametrize(
    ("fields", "num_found"),
    [
        ({"disabledRules": "irregular_past"}, 0),
        ({"disabledRules": "WHITESPACE_RULE, past_tense"}, 1),
        ({"disabledCategories": "GRAMMAR"}, 0),
        ({"disabledCategories": "TYPOS"}, 1),
        ({"disabledCategories": "GRAMMAR", "enabledRules": "irregular_past"}, 1),
        ({"enabledRules": "past_tense"}, 1),
        ({"enabledRules": "past_tense", "enabledOnly": "true"}, 0),
        ({"enabledRules": "irregular_past", "enabledOnly": "true"}, 1),
        ({"enabledCategories": "GRAMMAR", "enabledOnly": "yes"}, 1),
        *[({"enabledRules": "past_tense", "enabledOnly": no}, 1) for no in ("False", "True", "1", "0", "", "perhaps")],
        ({"mode": "textLevelOnly"}, 0),
        ({"level": "picky", "motherTongue": "de", "username": "x", "unknown": "1"}, 1),
    ],
)
def test_rules_are_chosen_by_reason_and_by_category(
    client: FlaskClient, fields: dict[str, str], num_found: int
) -> None:
    assert len(check(client, "He goed home", **fields).get_json()["matches"]) == num_found


def test_a_language_is_an_english_or_found_out(client: FlaskClient, mailbox: WentMailbox) -> None:
    given = check(client, "He goed", language="en-gb").get_json()["language"]
    found = check(client, "He goed", language="auto", preferredVariants="de-AT,en-AU").get_json()["language"]
    before = len(mailbox.requests)
    other = check(client, "Ich habe das nicht gewusst und bin nicht da gewesen.", language="auto").get_json()

    assert (given["code"], found["code"], found["detectedLanguage"]["confidence"]) == ("en-GB", "en-AU", 1.0)
    assert other["matches"] == [] and other["language"]["detectedLanguage"]["confidence"] == 0.0
    assert other["warnings"]["incompleteResults"] and len(mailbox.requests) == before


def test_a_document_that_is_partly_not_english_is_checked_and_says_so(
    client: FlaskClient, mailbox: WentMailbox
) -> None:
    mailbox.output = tuple(mailbox.tokenizer.encode_output([]))
    text = "We were at home and it was late. Er kam dann auch noch nach Hause."

    found = {language: check(client, text, language=language).get_json()["warnings"] for language in ("auto", "en-GB")}

    assert found["auto"] == {"incompleteResults": True, "incompleteResultsReason": PARTLY_ENGLISH}
    assert found["en-GB"] == {"incompleteResults": False}  # whose language was given is not asked about it


def test_the_languages_are_those_that_a_check_takes(client: FlaskClient) -> None:
    languages = client.get("/v2/languages").get_json()

    assert {"name": "English (US)", "code": "en", "longCode": "en-US"} in languages
    for language in languages:
        assert check(client, "He goed", language=language["longCode"]).status_code == 200


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"language": "en-US"}, "'text'"),
        ({"text": "He goed"}, "'language'"),
        ({"text": "He goed", "data": "{}", "language": "en"}, "'data'"),
        ({"text": "He goed", "language": "de-DE"}, "English only"),
        ({"data": "no JSON", "language": "en"}, "'data'"),
        ({"data": "[" * 50_000, "language": "en"}, "'data'"),
        ({"data": "{}", "language": "en"}, "'annotation'"),
        ({"data": '{"annotation": [{"text": "a", "markup": "b"}]}', "language": "en"}, "Item 0"),
        ({'{"text": "He goed", "language": "en"}': ""}, "'language'"),
        ({"text": "He goed", "language": "en", "enabledOnly": "true"}, "'enabledRules'"),
        ({"text": "a", "language": "en", "enabledOnly": "true", "disabledRules": "habit"}, "'enabledOnly'"),
        ({"text": "He goed", "language": "en"} | {f"f{n}": "" for n in range(64)}, "64 fields"),
    ],
)
def test_a_form_that_is_wrong_is_refused_in_a_line_that_names_the_field(
    client: FlaskClient, fields: dict[str, str], named: str
) -> None:
    response = client.post("/v2/check", data=fields)

    text = response.get_data(as_text=True)
    assert (response.status_code, response.content_type) == (400, "text/plain; charset=utf-8")
    assert text.startswith("Error: ") and named in text and "goed" not in text
    assert response.headers["X-Request-ID"] and response.headers["Server-Timing"]


def test_documents_over_the_bound_of_a_process_are_refused(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.languagetool.routes.MOST_DOCUMENTS", 0)

    response = check(client, "He goed")

    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")


def test_a_full_queue_keeps_its_status_and_says_when_to_come_back(client: FlaskClient, mailbox: WentMailbox) -> None:
    mailbox.refusal = QueueFull("full", 2.5)

    response = check(client, "He goed")

    assert (response.status_code, response.headers["Retry-After"]) == (503, "3")
    assert response.get_data(as_text=True) == "Error: full"

"""What clients of LanguageTool send, rightly or not: forms, rules, languages; and how they are refused."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient

from api.languagetool.form import parse_form
from tests.fake_mailbox import FakeMailbox, check

FORM = b"language=en-US&text=He+goed+home."


@pytest.mark.parametrize(
    "kind", ["application/json", "text/json", "text/plain", "multipart/form-data; boundary=x", "", "?"]
)
def test_a_form_is_read_whatever_its_media_type_says(client: FlaskClient, kind: str) -> None:
    response = client.post("/v2/check", data=FORM, content_type=kind)

    assert [match["offset"] for match in response.get_json()["matches"]] == [3]


@pytest.mark.parametrize("text", ["Tom & she goed, 2% & 1+1&x=1", "50%25 + 1", "Caf\u00e9s &mode=a b", "\u00c9&data=x"])
@pytest.mark.parametrize(
    "body",
    [
        "text={}&language=en-US",  # LibreOffice 7.4
        "username=a&apiKey=k&text={}&language=en-US",
        "language=en-US&text={}",
        "language=en-US&text={}&disabledRules=irregular_past&apiKey=k",
        "text={}&apiKey=k&level=picky&language=en-US&disabledRules=irregular_past",
        "text={}&disabledRules=irregular_past&apiKey=k&language=en-US",
    ],
)
def test_a_form_that_is_not_encoded_is_read_as_it_is(body: str, text: str) -> None:
    form = parse_form(b"", body.format(text).encode())

    assert (form.text, form.language) == (text, "en-US")
    assert (form.api_key == "k", form.disabled_rules == "irregular_past") == ("apiKey" in body, "disabled" in body)


def test_the_last_language_ends_a_text_that_is_not_encoded() -> None:
    form = parse_form(b"", "text=It said &language=en-GB, and \u00c9he&text=goed&language=en-US&level=picky".encode())

    assert (form.text, form.language) == ("It said &language=en-GB, and \u00c9he&text=goed", "en-US")


def test_an_encoded_form_without_a_blank_is_no_raw_one() -> None:
    assert parse_form(b"", b"text=caf%C3%A9+goed%2Bx&language=en").text == "caf\u00e9 goed+x"
    assert parse_form(b"", b"language=en-US&text=Tom%20%26%20she\n").text == "Tom & she\n"  # TeXstudio 4.3


@pytest.mark.parametrize(
    "fields",
    [{"data": '{"text": "He goed"}'}, {"data": '{"text": "He goed"}', "text": ""}, {"text": "He goed", "data": ""}],
)
def test_data_may_hold_the_text_alone_and_the_other_field_may_be_empty(
    client: FlaskClient, fields: dict[str, str]
) -> None:
    assert check(client, **fields).get_json()["matches"][0]["offset"] == 3


def test_the_query_goes_before_the_body_and_is_enough_by_itself(client: FlaskClient) -> None:
    query = "/v2/check?text=She+goed.&language=en-GB"

    found = [client.get(query), client.post(query), client.post(query, data=FORM, content_type="application/json")]
    mixed = client.post("/v2/check?language=en-AU", data={"text": "They goed."}).get_json()

    assert [one.get_json()["matches"][0]["sentence"] for one in found] == ["She goed."] * 3
    assert mixed["matches"][0]["sentence"] == "They goed." and mixed["language"]["code"] == "en-AU"


@pytest.mark.parametrize("base", ["/v2/", "//v2", "//v2//"])
def test_a_base_url_may_end_with_a_slash(client: FlaskClient, base: str) -> None:
    statuses = [
        client.get("/", environ_overrides={"PATH_INFO": f"{base}{path}", "QUERY_STRING": FORM.decode()}).status_code
        for path in ("/languages", "/check")
    ]

    assert statuses == [200, 200]


@pytest.mark.parametrize(
    ("form", "named"),
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
        (b"language=en&text=%ff", "The form is not UTF-8."),
        (b"language=en&text=\xff", "The form is not UTF-8."),
        (b"language=en&text=a \xff", "The form is not UTF-8."),
    ],
)
def test_a_form_that_is_wrong_is_refused_in_a_line_that_names_the_field(
    client: FlaskClient, form: dict[str, str] | bytes, named: str
) -> None:
    response = client.post("/v2/check", data=urlencode(form) if isinstance(form, dict) else form)

    assert (response.status_code, response.content_type) == (400, "text/plain; charset=utf-8")
    assert response.text.startswith("Error: ") and named in response.text and "goed" not in response.text
    assert response.headers["X-Request-ID"] and response.headers["Server-Timing"]


HTTPS = {"X-Forwarded-Proto": "https"}  # of the proxy in front of us


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v2/v2/check", 404),
        ("POST", "/v2/checks", 404),
        ("POST", "/v2/languages", 405),
        ("PUT", "/v2/check", 405),
    ],
)
def test_an_error_below_v2_is_a_line_that_names_the_base_url(
    client: FlaskClient, method: str, path: str, status: int
) -> None:
    response = client.open(
        path, method=method, base_url="http://lt.example:8443", data={"text": "He goed"}, headers=HTTPS
    )

    assert (response.status_code, response.content_type) == (status, "text/plain; charset=utf-8")
    assert response.text.startswith("Error: ")
    assert "base URL of this API is https://lt.example:8443/v2;" in response.text
    assert ("Allow" in response.headers) == (status == 405) and "/correct" not in response.text
    strange = client.open(path, method=method, headers={"Host": "<script>"}).text
    assert "is /v2;" in strange and "<" not in strange


def test_other_errors_below_v2_are_lines_of_text_too(client: FlaskClient) -> None:
    too_large = check(client, "x" * 300_000)
    header = client.get("/v2/languages", headers={"X-Request-ID": "x" * 200})
    packed = client.post("/v2/check", data=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    elsewhere = client.get("/v3/check")

    assert [one.status_code for one in (too_large, header, packed, elsewhere)] == [413, 400, 415, 404]
    assert "uncompressed" in packed.text
    assert [one.mimetype for one in (too_large, header, packed, elsewhere)] == [
        "text/plain", "text/plain", "text/plain", "application/problem+json",
    ]  # fmt: skip


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
        *[({"enabledRules": "past_tense", "enabledOnly": no}, 1) for no in ("False", "True", "1", "perhaps")],
        ({"mode": "textLevelOnly"}, 0),
        ({"level": "picky", "motherTongue": "de", "username": "x", "unknown": "1"}, 1),
    ],
)
def test_rules_are_chosen_by_reason_and_by_category(
    client: FlaskClient, fields: dict[str, str], num_found: int
) -> None:
    assert len(check(client, "He goed home", **fields).get_json()["matches"]) == num_found


GERMAN = "Ich habe das nicht gewusst und bin nicht da gewesen."


@pytest.mark.parametrize("language", ["en-GB", "auto"])
@pytest.mark.parametrize("text", ["He goed home.", "Word", GERMAN])
def test_the_detected_language_is_that_of_the_text_whatever_was_asked(
    client: FlaskClient, text: str, language: str
) -> None:
    guessed = client.post("/correct", json={"sentence": text}).get_json()["language"]

    detected = check(client, text, language=language, preferredVariants="en-GB").get_json()["language"][
        "detectedLanguage"
    ]

    assert detected["confidence"] == guessed["confidence"]
    assert (detected["code"] == "en-GB") == (guessed["code"] == "en") and detected["code"] in ("en-GB", "und")


def test_a_language_is_an_english_or_found_out(client: FlaskClient, mailbox: FakeMailbox) -> None:
    given = check(client, "He goed", language="en-gb").get_json()["language"]
    found = check(client, "He goed", language="auto", preferredVariants="de-AT,en-AU").get_json()["language"]
    before = len(mailbox.exchanges)
    other = check(client, GERMAN, language="auto").get_json()

    assert (given["code"], found["code"]) == ("en-GB", "en-AU")
    assert other["matches"] == []
    assert other["warnings"]["incompleteResults"] and len(mailbox.exchanges) == before
    languages = client.get("/v2/languages").get_json()
    assert {"name": "English (US)", "code": "en", "longCode": "en-US"} in languages
    assert {check(client, "He goed", language=one["longCode"]).status_code for one in languages} == {200}

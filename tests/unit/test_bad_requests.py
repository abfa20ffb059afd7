"""Bodies and media types that the HTTP face refuses, and what it just takes."""

from __future__ import annotations

import json

import pytest
from flask.testing import FlaskClient

from api.service.body import parse_body
from scheduler.errors import MalformedJson, SentenceTooLong
from tests.fake_corrector import FakeCorrector, assert_problem, client_of, post

GOED = {"sentence": "He goed to school"}


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"He goed", b'{"sentence": NaN}', b'{"sentence": "\xff"}', b"[" * 900, b'{"a": 1' + b"0" * 900,
        '{"sentence": "He goed"}'.encode("utf-16"), b'{"sentence": "tab\there"}',
    ],
)  # fmt: skip
def test_what_is_no_json_is_called_malformed(client: FlaskClient, body: bytes) -> None:
    assert_problem(post(client, body), 400, "malformed-json")


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"sentence": 1' + b"0" * 5_000 + b"}"])
def test_json_too_deep_or_with_too_long_a_number_is_malformed_too(body: bytes) -> None:
    with pytest.raises(MalformedJson):
        parse_body(body)


def test_a_byte_order_mark_does_no_harm(client: FlaskClient) -> None:
    assert post(client, b"\xef\xbb\xbf" + json.dumps(GOED).encode()).status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("[]", "body"), ("null", "body"), ('"He goed"', "body"), ("7", "body"),
        ("{}", "sentence"), ('{"sentence": null}', "sentence"), ('{"sentence": 5}', "sentence"),
        ('{"sentence": ["He goed"]}', "sentence"), ('{"sentence": ""}', "sentence"),
        (r'{"sentence": " \t\n\u00a0"}', "sentence"), (r'{"sentence": "a\u0000b"}', "sentence"),
        (r'{"sentence": "a\u0007b"}', "sentence"), (r'{"sentence": "a\u0085b"}', "sentence"),
        (r'{"sentence": "a\ud83d b"}', "sentence"), (r'{"sentence": "\udc00"}', "sentence"),
        ('{"sentence": "He", "learner_id": 5}', "learner_id"), ('{"sentence": "He", "learner_id": ""}', "learner_id"),
        (json.dumps({"sentence": "He", "learner_id": "x" * 65}), "learner_id"),
        (r'{"sentence": "He", "learner_id": "a\u0000"}', "learner_id"),
        ('{"sentence": "He", "min_confidence": 1.1}', "min_confidence"),
        ('{"sentence": "He", "min_confidence": true}', "min_confidence"),
    ],
)  # fmt: skip
def test_a_field_that_cannot_be_used_is_named(
    client: FlaskClient, corrector: FakeCorrector, body: str, field: str
) -> None:
    document = assert_problem(post(client, body), 422, "invalid-request")

    assert document["field"] == field
    assert corrector.jobs == []


@pytest.mark.parametrize("sentence", [r"tab\tand\r\nlines", r"\ud83d\ude00 went", "e\u0301 \u200d \u201chi\u201d"])
def test_tabs_line_breaks_and_all_of_unicode_are_text(client: FlaskClient, sentence: str) -> None:
    assert post(client, '{"sentence": "' + sentence + '"}').status_code == 200


@pytest.mark.parametrize(
    ("body", "named"),
    [(b"", "He goed to school"), (b'{"sentence": NaN}', "NaN"), (b'{"sentence": "\n"}', "character 14"),
     (rb'{"sentence": "ab\u0000"}', "U+0000 at character 2"), (b'{"sentences": ["He"]}', "POST /correct/batch.")],
)  # fmt: skip
def test_a_refusal_says_what_is_wrong_and_where(client: FlaskClient, body: bytes, named: str) -> None:
    assert named in post(client, body).get_json(force=True)["detail"]


def test_a_sentence_that_is_too_long_is_told_its_size_and_the_limits() -> None:
    text = str(SentenceTooLong(1, 300))

    assert all(part in text for part in ("1 word and 300 tokens", "64 words", "128 tokens"))


def test_a_refusal_never_repeats_the_text(client: FlaskClient) -> None:
    for body in (r'{"sentence": "secret\u0000"}', '{"sentence": {"secret": 1}}', '{"sentence": secret}'):
        assert b"secret" not in post(client, body).get_data()


def test_ten_thousand_words_are_too_long_and_counted(corrector: FakeCorrector) -> None:
    client = client_of(corrector)

    document = assert_problem(client.post("/correct", json={"sentence": "word " * 10_000}), 422, "sentence-too-long")

    assert (document["num_words"], document["max_words"], document["max_tokens"]) == (10_000, 64, 128)


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("size", [1025, 10_000_000])
def test_a_body_over_the_limit_is_read_and_refused(client: FlaskClient, is_chunked: bool, size: int) -> None:
    chunked = {"environ_overrides": {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}} if is_chunked else {}
    response = client.post("/correct", data=b" " * size, content_type="application/json", **chunked)

    problem = assert_problem(response, 413, "body-too-large")
    said = "more than 1,024" if is_chunked else f"{size:,}"
    assert problem["detail"].startswith(f"The body has {said} bytes; at most 1,024 are taken: send ")


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_at_the_limit_is_taken(client: FlaskClient, is_chunked: bool) -> None:
    chunked = {"environ_overrides": {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": ""}} if is_chunked else {}
    body = json.dumps(GOED).ljust(1024)

    assert client.post("/correct", data=body, content_type="application/json", **chunked).status_code == 200


@pytest.mark.parametrize("media_type", ["text/plain", "", "application/x-www-form-urlencoded", "application/jsonp"])
def test_only_json_is_taken(client: FlaskClient, media_type: str) -> None:
    response = client.post("/correct", data=json.dumps(GOED), content_type=media_type)

    assert_problem(response, 415, "unsupported-media-type")


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json; charset=utf-8", 200), ('Application/JSON;charset="UTF-8"', 200),
        ("application/merge-patch+json", 200), ("application/json; charset=latin-1", 415),
    ],
)  # fmt: skip
def test_the_charset_must_be_utf8_if_one_is_named(client: FlaskClient, media_type: str, status: int) -> None:
    assert client.post("/correct", data=json.dumps(GOED), content_type=media_type).status_code == status


@pytest.mark.parametrize("path", ["/correct", "/correct/batch", "/v2/check"])
@pytest.mark.parametrize(("encoding", "is_taken"), [("gzip", False), ("br", False), ("Identity", True), ("", True)])
def test_a_compressed_body_is_refused_with_the_remedy(
    client: FlaskClient, path: str, encoding: str, is_taken: bool
) -> None:
    headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}

    response = client.post(path, data=b"\x1f\x8b\x08 \xff", headers=headers)

    said = response.get_data(as_text=True)
    assert (response.status_code, "Content-Encoding" in said) == ((400, False) if is_taken else (415, True))
    assert is_taken or "uncompressed" in said


@pytest.mark.parametrize("value", ["", "0", "-5", "1.5", "soon", "600001", "1" * 5000, "\xb2"])
def test_a_deadline_is_a_whole_number_of_milliseconds_up_to_ten_minutes(client: FlaskClient, value: str) -> None:
    problem = assert_problem(post(client, json.dumps(GOED), **{"X-Deadline-Ms": value}), 400, "invalid-header")

    shown = ascii(value) if len(value) <= 32 else "5,000 characters"
    assert problem["detail"].startswith(f"X-Deadline-Ms is {shown}; send ") and "1 to 600,000" in problem["detail"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [("2", "is 2"), ("-1", "is -1"), ("1" * 99, f"is {'1' * 32};"), ("true", "wrong type"), ('"He"', "wrong type")],
)
def test_a_confidence_out_of_range_is_shown_with_the_range(client: FlaskClient, value: str, shown: str) -> None:
    problem = post(client, f'{{"sentence": "He", "min_confidence": {value}}}').get_json(force=True)

    assert shown in problem["detail"] and "number from 0 to 1" in problem["detail"]


@pytest.mark.parametrize(
    ("header", "value", "found", "limit"),
    [
        ("Idempotency-Key", "k" * 256, "256 characters", "1 to 255"),
        ("Idempotency-Key", "k\u00e4", "U+00E4 as character 2", "1 to 255"),
        ("X-Request-ID", "x" * 129, "129 characters", "at most 128"),
        ("X-Request-ID", "a\tb", "U+0009 as character 2", "at most 128"),
    ],
)
def test_a_refused_header_says_what_is_wrong_with_it(
    client: FlaskClient, header: str, value: str, found: str, limit: str
) -> None:
    problem = assert_problem(post(client, json.dumps(GOED), **{header: value}), 400, "invalid-header")

    assert all(part in problem["detail"] for part in (header, found, limit))

"""The HTTP face before a queue that answers at once: what it takes, what it refuses and in which words."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import Mock

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.grammar.correction import Correction, Edit, Note, NoteCode
from api.grammar.language import Language
from api.grammar.reasons import Reason
from api.http.replies import answer_text
from api.service import problems
from scheduler import errors
from scheduler.settings import Settings
from tests.by_handler import ByHandler
from tests.fake_mailbox import FakeMailbox, assert_problem, client_of

LIMIT = 150_000
CORRECT, BATCH = "POST /correct", "POST /correct/batch"
GOED = {"sentence": "He goed to school"}
ALSO = '{"sentence": "He goed", '
SURROGATE = r"\ud800"
LONG_KEY, LONG_ID = "k" * 256, "x" * 129
CHUNKED = {"Transfer-Encoding": "chunked"}
ASYNC, KEPT = {"Prefer": "respond-async"}, {"Idempotency-Key": "k"}


def typed(media_type: str, **headers: str) -> dict[str, str]:
    return {"Content-Type": media_type, **headers}


def deadline(value: str) -> dict[str, str]:
    return {"X-Deadline-Ms": value}


REFUSED = [  # request, body, headers; status, slug or the field that is invalid, what the detail says
    (CORRECT, b"", {}, 400, "malformed-json", '{"sentence": "He goed to school"}'),
    (CORRECT, b"He goed", {}, 400, "malformed-json", "not JSON: Expecting value at character 0"),
    (CORRECT, b'{"sentence": "\n"}', {}, 400, "malformed-json", "control character at character 14"),
    (CORRECT, b'{"sentence": NaN}', {}, 400, "malformed-json", "NaN is not a JSON value"),
    (CORRECT, b'{"sentence": "\xff"}', {}, 400, "malformed-json", "not UTF-8: byte 14"),
    (CORRECT, '{"sentence": "He goed"}'.encode("utf-16"), {}, 400, "malformed-json", "not UTF-8: byte 0"),
    (CORRECT, b"[" * 100_000, {}, 400, "malformed-json", "nesting too deep"),
    (CORRECT, b'{"sentence": 1' + b"0" * 5_000 + b"}", {}, 400, "malformed-json", "a number too long"),
    (CORRECT, GOED, deadline("0"), 400, "invalid-header", "X-Deadline-Ms is '0'; send "),
    (CORRECT, GOED, deadline("600001"), 400, "invalid-header", "X-Deadline-Ms is '600001'; send "),
    (CORRECT, GOED, deadline("1" * 5000), 400, "invalid-header", "X-Deadline-Ms is 5,000 characters; send "),
    (CORRECT, GOED, deadline("\xb2"), 400, "invalid-header", r"X-Deadline-Ms is '\xb2'; send "),
    (CORRECT, GOED, {"Idempotency-Key": LONG_KEY}, 400, "invalid-header", "256 characters; it may have 1 to 255"),
    (CORRECT, GOED, {"Idempotency-Key": "k\xe4"}, 400, "invalid-header", "Idempotency-Key has U+00E4 as character 2"),
    (CORRECT, GOED, {"X-Request-ID": LONG_ID}, 400, "invalid-header", "129 characters; it may have at most 128"),
    (CORRECT, GOED, {"X-Request-ID": "a\tb"}, 400, "invalid-header", "X-Request-ID has U+0009 as character 2"),
    ("GET /corect", b"", {}, 404, "not-found", "POST /correct"),
    ("GET /static/%2e%2e/files.py", b"", {}, 404, "not-found", ""),
    ("GET /static/index.html", b"", {}, 404, "not-found", "no such file"),
    ("GET /learners/nobody", b"", {}, 501, "needs-a-queue", "Redis is not asked"),
    ("GET /correct", b"", {}, 405, "method-not-allowed", "GET is not allowed here; allowed: OPTIONS, POST."),
    ("POST /healthz", b"", {}, 405, "method-not-allowed", "allowed: GET, HEAD, OPTIONS."),
    (CORRECT, b" " * (LIMIT + 1), {}, 413, "body-too-large", "has 150,001 bytes; at most 150,000 are taken: send "),
    (CORRECT, b" " * 10_000_000, CHUNKED, 413, "body-too-large", "has more than 150,000 bytes; at most 150,000"),
    (CORRECT, GOED, typed(""), 415, "unsupported-media-type", "Content-Type: application/json"),
    (CORRECT, GOED, typed("application/jsonp"), 415, "unsupported-media-type", "UTF-8 JSON"),
    (CORRECT, GOED, typed("application/json; charset=latin-1"), 415, "unsupported-media-type", "UTF-8 JSON"),
    (CORRECT, b"\x1f\x8b\x08", {"Content-Encoding": "gzip"}, 415, "unsupported-media-type", "uncompressed"),
    (CORRECT, "[]", {}, 422, "body", "a JSON object such as"),
    (CORRECT, "{}", {}, 422, "sentence", "`sentence` is missing; send {"),
    (CORRECT, '{"sentences": ["He"]}', {}, 422, "sentence", "`sentences` goes to POST /correct/batch."),
    (CORRECT, '{"sentence": null}', {}, 422, "sentence", "wrong type; it must be a string"),
    (CORRECT, '{"sentence": ""}', {}, 422, "sentence", "empty"),
    (CORRECT, r'{"sentence": " \t\n\u00a0"}', {}, 422, "sentence", "blank"),
    (CORRECT, r'{"sentence": "a\u0000b"}', {}, 422, "sentence", "control character U+0000 at character 1"),
    (CORRECT, r'{"sentence": "a\u007fb"}', {}, 422, "sentence", "U+007F"),
    (CORRECT, r'{"sentence": "a\ud83d b"}', {}, 422, "sentence", "lone surrogate U+D83D at character 1"),
    (CORRECT, ALSO + '"learner_id": 5}', {}, 422, "learner_id", "must be a string"),
    (CORRECT, ALSO + '"learner_id": ""}', {}, 422, "learner_id", "0 characters; allowed: 1 to 64"),
    ("GET /learners/a%1bb", b"", {}, 422, "learner_id", "U+001B"),
    ("DELETE /learners/" + "x" * 65, b"", {}, 422, "learner_id", "65 characters"),
    (CORRECT, ALSO + '"min_confidence": -1}', {}, 422, "min_confidence", "is -1; send a number from 0 to 1"),
    (CORRECT, ALSO + '"min_confidence": 1.1}', {}, 422, "min_confidence", "is 1.1; send a number from 0 to 1"),
    (CORRECT, ALSO + f'"min_confidence": {"1" * 99}}}', {}, 422, "min_confidence", f"is {'1' * 32};"),
    (CORRECT, ALSO + '"min_confidence": true}', {}, 422, "min_confidence", "it must be a number from 0 to 1"),
    (CORRECT, ALSO + '"text": "He goed"}', {}, 422, "text", "`text` is another name of `sentence`"),
    (CORRECT, '{"sentance": "He goed"}', {}, 422, "sentance", "`sentance` is unknown; did you mean `sentence`?"),
    (CORRECT, ALSO + '"learnerId": "x"}', {}, 422, "learnerId", "did you mean `learner_id`?"),
    (CORRECT, ALSO + rf'"{SURROGATE * 99}": 1}}', {}, 422, SURROGATE * 32, "known are sentence, learner_id, min_con"),
    (CORRECT, ALSO + '"offsets": "utf8"}', {}, 422, "offsets", "is 'utf8'; send codepoints or utf16."),
    (CORRECT, ALSO + '"offsets": ["utf16"]}', {}, 422, "offsets", "must be a string"),
    (CORRECT, ALSO + '"level": "strict"}', {}, 422, "level", "is 'strict'; send quiet or picky."),
    (CORRECT, ALSO + '"level": null}', {}, 422, "level", "must be a string"),
    (CORRECT + "?level=picky&level=pikcy", GOED, {}, 422, "level", "`level` is 'pikcy'; send quiet or picky."),
    (CORRECT + "?offset=utf16", GOED, {}, 422, "offset", "parameter `offset` is unknown; did you mean `offsets`?"),
    (BATCH + "?text=He", {"sentences": ["He"]}, {}, 422, "text", "`text` is unknown; known are offsets, level."),
    (CORRECT + "?offsets=utf8", ALSO + '"offsets": "utf16"}', {}, 422, "offsets", "send codepoints or utf16."),
    (BATCH, "[]", {}, 422, "body", '{"sentences": ["He goed to school"]}'),
    (BATCH, GOED, {}, 422, "sentences", " `sentence` goes to POST /correct."),
    (BATCH, '{"sentences": "He goed"}', {}, 422, "sentences", "a list of strings"),
    (BATCH, '{"sentences": []}', {}, 422, "sentences", "0 items; allowed are 1 to 64"),
    (BATCH, {"sentences": ["He goed"] * 65}, {}, 422, "sentences", "65 items; allowed are 1 to 64"),
    (BATCH, {"sentences": ["He came. " * 9] * 57}, KEPT, 422, "sentences", "holds more than 512 sentences"),
    (CORRECT, {"sentence": "He came. " * 513}, ASYNC, 422, "sentence", "without them and wait for the answer"),
    (CORRECT, {"sentence": "word " * 10_000}, {}, 422, "sentence-too-long", "10,000 words; the model takes 64 words"),
]
TAKEN = [
    (CORRECT, b"\xef\xbb\xbf" + json.dumps(GOED).encode(), {}),  # a byte order mark
    (CORRECT, json.dumps(GOED).ljust(LIMIT), {}),
    (CORRECT, json.dumps(GOED).ljust(LIMIT), CHUNKED),
    (CORRECT, r'{"sentence": "tab\tand\r\nlines \ud83d\ude00"}', {}),
    (CORRECT, '{"sentence": "e\u0301 \u200d \u201chi\u201d"}', {}),
    (CORRECT, GOED | {"learner_id": None}, {}),
    (CORRECT, {"text": "He goed"}, {}),
    (CORRECT, GOED | {"learner_id": "l" * 64, "min_confidence": 1}, {}),
    (CORRECT, GOED, typed('Application/JSON; charset="UTF-8"')),
    (CORRECT, GOED, typed("application/merge-patch+json", **{"Content-Encoding": "Identity"})),
    ("GET /healthz/", b"", {}),
    ("HEAD /healthz", b"", {}),
    ("GET /readyz/", b"", {}),
]  # fmt: skip


@pytest.fixture
def client(mailbox: FakeMailbox) -> FlaskClient:
    return client_of(mailbox, Settings(max_body_bytes=LIMIT))


def send(client: FlaskClient, request: str, body: Any, headers: dict[str, str]) -> TestResponse:
    method, path = request.split(" ", 1)
    data = json.dumps(body) if isinstance(body, dict) else body
    return client.open(path, method=method, data=data, headers=typed("application/json") | headers)


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_is_wrong_and_asks_no_queue(
    client: FlaskClient, mailbox: FakeMailbox, case: tuple[Any, ...]
) -> None:
    request, body, headers, status, name, said = case
    field = name if status == 422 and "-" not in name else None

    problem = assert_problem(send(client, request, body, headers), status, "invalid-request" if field else name)

    assert said in problem["detail"]
    assert problem.get("field") == field
    assert mailbox.exchanges == []


@pytest.mark.parametrize(("request_line", "body", "headers"), TAKEN)
def test_what_is_odd_and_right_is_taken(client: FlaskClient, request_line: str, body: Any, headers: dict) -> None:
    assert send(client, request_line, body, headers).status_code == 200


def test_a_text_of_zero_width_characters_stays_as_it_is(client: FlaskClient) -> None:
    for text in ("\u00ad", "\u200b\u2060"):
        response = client.post("/correct", json={"sentence": text})

        assert (response.status_code, response.get_json()["corrected"]) == (200, text)


def test_a_sentence_that_is_too_long_is_told_its_size_and_the_limits(client: FlaskClient) -> None:
    problem = send(client, CORRECT, {"sentence": "word " * 10_000}, {}).get_json(force=True)

    assert (problem["num_words"], problem["max_words"], problem["max_tokens"]) == (10_000, 64, 128)
    told = problems.problem(errors.SentenceTooLong(1, 300))
    assert told["num_tokens"] == 300
    assert "1 word and 300 tokens; the model takes 64 words and 128 tokens" in told["detail"]


def test_a_refusal_never_repeats_the_text(client: FlaskClient) -> None:
    for body in (r'{"sentence": "secret\u0000"}', '{"sentence": {"secret": 1}}', '{"sentence": secret}'):
        assert b"secret" not in send(client, CORRECT, body, {}).data


def test_an_answer_has_an_id_of_its_own_and_the_times_of_its_request(client: FlaskClient, mailbox: FakeMailbox) -> None:
    responses = [send(client, CORRECT, GOED, {"X-Request-ID": given}) for given in ("a b~", "x" * 128)]

    ids = [response.get_json()["request_id"] for response in responses]
    assert [response.headers["X-Request-ID"] for response in responses] == ["a b~", "x" * 128]
    assert (
        responses[0].headers["Server-Timing"].startswith("queue;dur=1.2, prefill;dur=3.4, decode;dur=5.6, total;dur=")
    )
    assert [exchange.request_id for exchange in mailbox.exchanges] == ids and [*map(len, set(ids))] == [32, 32]
    assert (responses[0].status_code, responses[0].content_type) == (200, "application/json")


@pytest.mark.parametrize("number", [0, 1, 3])
def test_an_answer_is_what_the_json_library_makes_of_its_parts(number: int) -> None:
    text = 'Er sagte: "\u044f\u2028\\" \n\x7f \U0001f642 % %s {'
    edits = (Edit(3, 7, text, '"went"\t', Reason.PAST_IRREG, text, 0.1234),) * number
    notes = (Note(NoteCode.LEFT_OUT, 0, 3, text),) * number
    correction = Correction(text, edits, text, 0, language=Language("und", 0.5), notes=notes)
    edit = {"start": 3, "end": 7, "original": text, "replacement": '"went"\t', "reason": "irregular_past"}
    edit |= {"title": "Irregular past", "explanation": text, "confidence": 0.1234}

    answer = answer_text(correction, ', "request_id": "a1"')

    document = {"corrected": text, "explanation": text, "edits": [edit] * number}
    document |= {"language": {"code": "und", "confidence": 0.5}}
    document |= {"notes": [{"code": "left-out", "start": 0, "end": 3, "detail": text}] * number, "request_id": "a1"}
    assert json.dumps(document, ensure_ascii=False) == answer


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (errors.Cancelled("x"), 409, None),
        (errors.RemovedByOperator("x"), 410, None),
        (errors.RequestFailed("x"), 502, None),
        (errors.DeadlineExceeded(), 504, None),
        (errors.QueueFull("x", 0.0), 503, 1),
        (errors.NotReady("x", 2.0), 503, 2),
        (errors.ShuttingDown("x", 2.01), 503, 3),
        (errors.RateLimited("x", 7.0), 429, 7),
    ],
)
@pytest.mark.parametrize(("route", "body"), [("/correct", GOED), ("/correct/batch", {"sentences": ["He goed"]})])
def test_what_the_queue_says_becomes_a_problem_with_whole_seconds_until_it_may_be_sent_again(
    client: FlaskClient, mailbox: FakeMailbox, route: str, body: Any, error: errors.ServingError, status: int,
    retry_after: int | None,
) -> None:  # fmt: skip
    mailbox.error = error

    response = client.post(route, json=body)

    assert assert_problem(response, status, error.slug).get("retry_after_s") == retry_after
    assert response.headers.get("Retry-After", type=int) == retry_after


@pytest.mark.parametrize("is_in_the_queue", [True, False])
def test_a_bug_is_logged_with_its_id_and_counted_and_leaks_nothing(
    client: FlaskClient, mailbox: FakeMailbox, caplog: pytest.LogCaptureFixture, is_in_the_queue: bool
) -> None:
    app, raised = client.application, RuntimeError("secret text of the user")
    mailbox.error = raised
    if not is_in_the_queue:
        app.wsgi_app = ByHandler(app, Mock(side_effect=raised))

    response = client.post("/correct", json=GOED)

    document = assert_problem(response, 500, "internal-error")
    logged = str([vars(line) for line in caplog.records])
    assert "secret" not in response.text + logged
    assert document["request_id"] in logged and "RuntimeError" in logged
    assert app.services.recorder.totals()[f"http:{'/correct' if is_in_the_queue else 'none'}:500"] == 1


def test_a_deadline_goes_along_with_the_job(client: FlaskClient, mailbox: FakeMailbox) -> None:
    client = client_of(mailbox, Settings(request_timeout_s=300.0))
    for headers in ({}, deadline("1500"), deadline("600000")):
        assert send(client, CORRECT, GOED, headers).status_code == 200

    assert [exchange.allowed_s for exchange in mailbox.exchanges] == [300.0, 1.5, 300.0]


def test_where_nothing_can_be_read_an_asynchronous_request_is_answered_at_once_and_not_kept(
    client: FlaskClient, mailbox: FakeMailbox
) -> None:
    body = {"sentences": ["", {"a": "x" * 1000}, "word " * 65]}

    response = client.post("/correct/batch", json=body, headers={"Prefer": "respond-async"})

    assert [item["status"] for item in response.get_json()["results"]] == [422, 422, 422]
    assert mailbox.exchanges == []

"""The HTTP face with a corrector that answers at once: every status, slug and header it can give."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.agent import Agent
from api.app import create_app
from api.corrector import Answer, Job
from api.edit_script import ScriptEdit
from api.reasons import Reason
from api.verbs import VerbTable
from scheduler import errors
from scheduler.messages import Timings
from scheduler.settings import Settings
from tests.fake_tokenizer import FakeTokenizer
from worker.mailbox.protocol import MailboxStatus

SETTINGS = Settings(max_body_bytes=1024)
GOED = {"sentence": "He goed to school"}


class FakeCorrector:
    """Puts 'went' for word 1, or raises what it is told to."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.error: Exception | None = None
        self._tokenizer = FakeTokenizer()
        self._agent = Agent(self._tokenizer, VerbTable.load())

    def correct(self, job: Job) -> Answer:
        self.jobs.append(job)
        if self.error:
            raise self.error
        draft = self._agent.prepare(job.sentence)
        output = self._tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])
        return Answer(self._agent.conclude(draft, output), Timings(0.0012, 0.0034, 0.0056))

    def check_ready(self) -> MailboxStatus:
        if self.error:
            raise self.error
        return MailboxStatus(redis_ok=True, live_workers=2, queue_depth=3)

    def close(self) -> None:
        pass


@pytest.fixture
def corrector() -> FakeCorrector:
    return FakeCorrector()


@pytest.fixture
def client(corrector: FakeCorrector) -> FlaskClient:
    return create_app(corrector, SETTINGS).test_client()


def post(client: FlaskClient, data: bytes | str, **headers: str) -> TestResponse:
    return client.post("/correct", data=data, content_type="application/json", headers=headers)


def assert_problem(response: TestResponse, status: int, slug: str) -> dict[str, Any]:
    document = json.loads(response.get_data(as_text=True))
    assert (response.status_code, document["type"]) == (status, f"urn:miniserve:problem:{slug}")
    assert response.content_type == "application/problem+json"
    assert document["status"] == status
    assert document["title"] and document["detail"] and document["request_id"]
    assert response.headers["X-Request-ID"]
    return document


def test_a_correction_has_the_shape_of_the_contract(client: FlaskClient) -> None:
    response = client.post("/correct", json=GOED)

    document = json.loads(response.get_data(as_text=True))
    why = "The past tense of 'go' is the irregular form 'went'."
    assert response.status_code == 200
    assert response.content_type == "application/json"
    assert len(document.pop("request_id")) == 32
    assert document == {
        "corrected": "He went to school",
        "explanation": why,
        "edits": [
            {
                "start": 3, "end": 7, "original": "goed", "replacement": "went",
                "reason": "irregular_past", "explanation": why,
            }
        ],
    }  # fmt: skip


def test_the_answer_keeps_other_scripts_readable(client: FlaskClient) -> None:
    response = client.post("/correct", json={"sentence": "\u00c9l\u00e9a goed \U0001f600"})

    assert "\u00c9l\u00e9a went \U0001f600".encode() in response.get_data()


def test_server_timing_tells_where_the_time_went(client: FlaskClient) -> None:
    header = client.post("/correct", json=GOED).headers["Server-Timing"]

    assert header.startswith("queue;dur=1.2, prefill;dur=3.4, decode;dur=5.6, total;dur=")


def test_every_request_gets_an_id_of_its_own(client: FlaskClient, corrector: FakeCorrector) -> None:
    responses = [client.post("/correct", json=GOED) for _ in range(2)]

    ids = [json.loads(response.get_data())["request_id"] for response in responses]
    assert len(set(ids)) == 2
    assert [job.request_id for job in corrector.jobs] == ids


@pytest.mark.parametrize("given", ["abc-123", "x" * 128, "a b~"])
def test_a_request_id_of_the_client_is_echoed_but_never_used(client: FlaskClient, given: str) -> None:
    response = client.post("/correct", json=GOED, headers={"X-Request-ID": given})

    assert response.headers["X-Request-ID"] == given
    assert json.loads(response.get_data())["request_id"] != given


@pytest.mark.parametrize("given", ["x" * 129, "a\tb", "\x7f"])
def test_a_request_id_that_is_too_long_or_unprintable_is_refused(client: FlaskClient, given: str) -> None:
    response = client.post("/correct", json=GOED, headers={"X-Request-ID": given})

    assert_problem(response, 400, "invalid-header")
    assert response.headers["X-Request-ID"] != given


def test_learner_id_is_passed_along_and_may_be_left_out(client: FlaskClient, corrector: FakeCorrector) -> None:
    for extra in ({}, {"learner_id": None}, {"learner_id": "l" * 64}, {"unknown": 1}):
        assert client.post("/correct", json=GOED | extra).status_code == 200

    assert [job.learner_id for job in corrector.jobs] == [None, None, "l" * 64, None]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"He goed", b'{"sentence": NaN}', b'{"sentence": "\xff"}', b"[" * 900, b'{"a": 1' + b"0" * 900,
        '{"sentence": "He goed"}'.encode("utf-16"), b'{"sentence": "tab\there"}',
    ],
)  # fmt: skip
def test_what_is_no_json_is_called_malformed(client: FlaskClient, body: bytes) -> None:
    assert_problem(post(client, body), 400, "malformed-json")


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


def test_a_refusal_never_repeats_the_text(client: FlaskClient) -> None:
    for body in (r'{"sentence": "secret\u0000"}', '{"sentence": {"secret": 1}}', '{"sentence": secret}'):
        assert b"secret" not in post(client, body).get_data()


def test_ten_thousand_words_are_too_long_and_counted(corrector: FakeCorrector) -> None:
    client = create_app(corrector, Settings()).test_client()

    document = assert_problem(client.post("/correct", json={"sentence": "word " * 10_000}), 422, "sentence-too-long")

    assert (document["num_words"], document["max_words"], document["max_tokens"]) == (10_000, 64, 128)


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("size", [1025, 10_000_000])
def test_a_body_over_the_limit_is_read_and_refused(client: FlaskClient, is_chunked: bool, size: int) -> None:
    chunked = {"environ_overrides": {"wsgi.input_terminated": True, "CONTENT_LENGTH": ""}} if is_chunked else {}
    response = client.post("/correct", data=b" " * size, content_type="application/json", **chunked)

    assert_problem(response, 413, "body-too-large")


def test_a_body_at_the_limit_is_taken(client: FlaskClient) -> None:
    body = json.dumps(GOED)

    assert post(client, body + " " * (1024 - len(body))).status_code == 200


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


@pytest.mark.parametrize("path", ["/", "/corect", "/correct/batch"])
def test_an_unknown_path_is_a_problem_too(client: FlaskClient, path: str) -> None:
    assert_problem(client.get(path), 404, "not-found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("GET", "/correct", "OPTIONS, POST"), ("POST", "/healthz", "GET, HEAD, OPTIONS")]
)
def test_a_wrong_method_is_told_which_are_allowed(client: FlaskClient, method: str, path: str, allowed: str) -> None:
    response = client.open(path, method=method)

    assert_problem(response, 405, "method-not-allowed")
    assert response.headers["Allow"] == allowed


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (errors.Cancelled("x"), 409, "cancelled"),
        (errors.RemovedByOperator("x"), 410, "removed-by-operator"),
        (errors.RequestFailed("x"), 502, "request-failed"),
        (errors.DeadlineExceeded("x"), 504, "deadline-exceeded"),
        (errors.DeadlineExceeded(), 504, "deadline-exceeded"),
    ],
)
def test_an_error_of_serving_becomes_its_problem(
    client: FlaskClient, corrector: FakeCorrector, error: Exception, status: int, slug: str
) -> None:
    corrector.error = error

    assert_problem(client.post("/correct", json=GOED), status, slug)


@pytest.mark.parametrize(("wait_s", "header"), [(0.0, "1"), (0.2, "1"), (2.0, "2"), (2.01, "3")])
@pytest.mark.parametrize("kind", [errors.QueueFull, errors.NotReady, errors.ShuttingDown])
def test_an_overload_says_when_to_come_back_in_whole_seconds(
    client: FlaskClient, corrector: FakeCorrector, kind: type[errors.Overloaded], wait_s: float, header: str
) -> None:
    corrector.error = kind("x", wait_s)

    response = client.post("/correct", json=GOED)

    assert assert_problem(response, 503, kind.slug)["retry_after_s"] == int(header)
    assert response.headers["Retry-After"] == header


def test_a_bug_is_logged_with_its_id_and_leaks_nothing(
    client: FlaskClient, corrector: FakeCorrector, capsys: pytest.CaptureFixture[str]
) -> None:
    corrector.error = RuntimeError("secret text of the user")

    response = client.post("/correct", json=GOED)

    document = assert_problem(response, 500, "internal-error")
    logged = "".join(capsys.readouterr())
    assert "secret" not in response.get_data(as_text=True) + logged
    assert document["request_id"] in logged
    assert "RuntimeError" in logged


def test_health_says_that_the_process_lives(client: FlaskClient, corrector: FakeCorrector) -> None:
    corrector.error = errors.NotReady("x", 1.0)

    assert client.get("/healthz").status_code == 200


def test_readiness_follows_the_corrector(client: FlaskClient, corrector: FakeCorrector) -> None:
    ready = client.get("/readyz")
    corrector.error = errors.NotReady("Redis does not answer.", 1.0)
    document = assert_problem(client.get("/readyz"), 503, "not-ready")

    assert ready.get_json() == {"status": "ready", "live_workers": 2, "queue_depth": 3}
    assert document["detail"] == "Redis does not answer."

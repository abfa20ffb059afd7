"""The HTTP face with a corrector that answers at once: every status, slug and header it can give."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf
from unittest.mock import Mock

import pytest
from flask.testing import FlaskClient

from api.grammar.correction import Correction, Edit, Note, NoteCode
from api.grammar.language import Language
from api.grammar.reasons import Reason
from api.http.replies import answer_text
from api.telemetry.recorder import RequestLog
from scheduler import errors
from scheduler.settings import Settings
from tests.by_handler import ByHandler
from tests.fake_corrector import FakeCorrector, assert_problem
from tests.log_lines import capture_logs

GOED = {"sentence": "He goed to school"}


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
                "reason": "irregular_past", "explanation": why, "confidence": 0.9933,
            }
        ],
        "language": {"code": "en", "confidence": 0.88},
        "notes": [],
    }  # fmt: skip


@pytest.mark.parametrize("path", ["/healthz", "/healthz/"])
def test_a_probe_may_be_spelled_as_every_other_path(client: FlaskClient, path: str) -> None:
    assert client.get(path).get_json() == {"status": "ok"}
    assert client.head(path).status_code == 200


def test_the_answer_keeps_other_scripts_readable(client: FlaskClient) -> None:
    response = client.post("/correct", json={"sentence": "\u00c9l\u00e9a goed \U0001f600"})

    assert "\u00c9l\u00e9a went \U0001f600".encode() in response.get_data()


@pytest.mark.parametrize("number", [0, 1, 3])
def test_an_answer_is_what_the_json_library_makes_of_its_parts(number: int) -> None:
    text = 'Er sagte: "\u044f\u2028\\" \n\x7f \U0001f642 % %s {'
    edits = (Edit(3, 7, text, '"went"\t', Reason.PAST_IRREG, text, 0.1234),) * number
    notes = (Note(NoteCode.LEFT_OUT, 0, 3, text),) * number
    correction = Correction(text, edits, text, 0, language=Language("und", 0.5), notes=notes)
    edit = {"start": 3, "end": 7, "original": text, "replacement": '"went"\t', "reason": "irregular_past"}
    edit |= {"explanation": text, "confidence": 0.1234}

    answer = answer_text(correction, ', "request_id": "a1"')

    document = {"corrected": text, "explanation": text, "edits": [edit] * number}
    document |= {"language": {"code": "und", "confidence": 0.5}}
    document |= {"notes": [{"code": "left-out", "start": 0, "end": 3, "detail": text}] * number, "request_id": "a1"}
    assert json.dumps(document, ensure_ascii=False) == answer


def test_server_timing_tells_where_the_time_went(client: FlaskClient) -> None:
    header = client.post("/correct", json=GOED).headers["Server-Timing"]

    assert header.startswith("queue;dur=1.2, prefill;dur=3.4, decode;dur=5.6, total;dur=")


def test_every_request_gets_an_id_of_its_own(client: FlaskClient, corrector: FakeCorrector) -> None:
    responses = [client.post("/correct", json=GOED) for _ in range(2)]

    ids = [json.loads(response.get_data())["request_id"] for response in responses]
    assert len(set(ids)) == 2
    assert [job.exchange.request_id for job in corrector.jobs] == ids


@pytest.mark.parametrize("given", ["abc-123", "x" * 128, "a b~"])
def test_a_request_id_of_the_client_is_echoed_but_never_used(client: FlaskClient, given: str) -> None:
    response = client.post("/correct", json=GOED, headers={"X-Request-ID": given})

    assert response.headers["X-Request-ID"] == given
    assert json.loads(response.get_data())["request_id"] != given


@pytest.mark.parametrize(("asked", "corrected"), [(0.99, "He went to school"), (1, "He goed to school")])
@pytest.mark.parametrize("route", ["/correct", "/correct/batch"])
def test_an_edit_below_min_confidence_is_left_out(
    client: FlaskClient, route: str, asked: float, corrected: str
) -> None:
    body = {"sentence": "He goed to school", "sentences": ["He goed to school"], "min_confidence": asked}

    document = client.post(route, json=body).get_json()

    (result,) = document.get("results", [document])
    assert result["corrected"] == corrected
    assert [edit["confidence"] for edit in result["edits"]] == ([0.9933] if asked < 1 else [])
    assert ("1 edit that is less certain" in result["explanation"]) is (asked == 1)


def test_learner_id_is_passed_along_and_may_be_left_out(client: FlaskClient, corrector: FakeCorrector) -> None:
    for extra in ({}, {"learner_id": None}, {"learner_id": "l" * 64}, {"unknown": 1}):
        assert client.post("/correct", json=GOED | extra).status_code == 200

    assert [job.content["learner_id"] for job in corrector.jobs] == [None, None, "l" * 64, None]


@pytest.mark.parametrize("path", ["/index.html", "/corect", "/correct/batches"])
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


def test_a_bug_is_logged_with_its_id_and_leaks_nothing(client: FlaskClient, corrector: FakeCorrector) -> None:
    corrector.error = RuntimeError("secret text of the user")

    with capture_logs() as lines:
        response = client.post("/correct", json=GOED)

    document = assert_problem(response, 500, "internal-error")
    logged = str(lines)
    assert "secret" not in response.get_data(as_text=True) + logged
    assert document["request_id"] in logged
    assert "RuntimeError" in logged


def test_a_bug_outside_of_all_handlers_is_a_problem_that_is_logged_and_counted(client: FlaskClient) -> None:
    app, raised = client.application, RuntimeError("secret text of the user")
    app.wsgi_app = ByHandler(app, Mock(side_effect=raised))

    with capture_logs() as lines:
        response = client.get("/docs")

    document = assert_problem(response, 500, "internal-error")
    logged = str(lines)
    assert document["request_id"] in logged
    assert "secret" not in logged + response.get_data(as_text=True)
    assert app.services.recorder.totals()["http:none:500"] == 1


@pytest.mark.parametrize(
    ("method", "path", "logged"),
    [
        ("GET", "/secret", {"method": "GET", "route": "none", "status": 404, "outcome": "not-found"}),
        ("GET", "/correct", {"method": "GET", "route": "none", "status": 405, "outcome": "method-not-allowed"}),
        ("POST", "/correct", {"method": "POST", "route": "/correct", "outcome": "unsupported-media-type"}),
    ],
)  # fmt: skip
def test_a_refusal_is_logged_with_its_route_and_outcome_and_never_with_the_path(
    client: FlaskClient, method: str, path: str, logged: dict[str, object]
) -> None:
    texts: list[Callable[[], str]] = []
    client.application.services.recorder.log = RequestLog(Settings(log_format="json"), texts.append)

    client.open(path, method=method)
    client.open(path, method=method, headers={"X-Request-ID": "abc"})

    lines = [json.loads(text()) for text in texts]
    assert [line["level"] for line in lines] == ["info", "info"]
    assert all(line.items() >= logged.items() for line in lines)
    assert "correlation_id" not in lines[0] and lines[1]["correlation_id"] == "abc"
    assert "secret" not in str(lines)


def test_health_says_that_the_process_lives(client: FlaskClient, corrector: FakeCorrector) -> None:
    corrector.error = errors.NotReady("x", 1.0)

    assert client.get("/healthz").status_code == 200


def test_readiness_follows_the_corrector(client: FlaskClient, corrector: FakeCorrector) -> None:
    ready = client.get("/readyz")
    corrector.error = errors.NotReady("x", 1.0)
    document = assert_problem(client.get("/readyz"), 503, "not-ready")

    assert ready.get_json() == {"status": "ready", "live_workers": 2, "queue_depth": 3}
    assert document["detail"] == "No worker has completed an iteration, or idled, in the last 3 s."


def test_a_deadline_goes_along_with_the_job(client: FlaskClient, corrector: FakeCorrector) -> None:
    for headers in ({}, {"X-Deadline-Ms": "1500"}, {"X-Deadline-Ms": "600000"}):
        assert client.post("/correct", json=GOED, headers=headers).status_code == 200

    assert [job.exchange.allowed_s for job in corrector.jobs] == [inf, 1.5, 600.0]


def test_an_asynchronous_request_is_accepted_and_says_where_its_answer_will_be(
    client: FlaskClient, corrector: FakeCorrector
) -> None:
    response = client.post("/correct", json=GOED, headers={"Prefer": "respond-async"})

    (job,) = corrector.jobs
    assert (response.status_code, response.get_json()) == (
        202,
        {"request_id": job.exchange.request_id, "status": "queued"},
    )
    assert response.headers["Location"] == f"/requests/{job.exchange.request_id}"
    assert response.headers["Preference-Applied"] == "respond-async"
    assert response.headers["Retry-After"] == "1"

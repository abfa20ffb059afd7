"""The waterfall of a request: parts of different clocks put together, as JSON and as a picture."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from api.observe.waterfall import waterfall_document, waterfall_text
from api.site import create_site
from scheduler.messages import FinishReason
from scheduler.phases import Phase
from scheduler.settings import Settings
from scheduler.trace_parts import FoundTrace, RequestPart, SequencePart, Step, TracedJob
from tests.fake_corrector import FakeCorrector, assert_problem

REQUEST = RequestPart(("r-1", "r-2"), 200, "", 1_700_000_000.0, 0.001, 0.003, 0.004, 0.006, 0.050, 0.052)
SEQUENCE = SequencePart(
    attempt=1, slot=3, prompt_tokens=11, output_tokens=3, finish_reason=FinishReason.STOP, queue_s=0.010,
    prefill_s=0.005, steps=(Step(0.5, 4), Step(0.003, 5), Step(0.004, 6)),
)  # fmt: skip
FOUND = FoundTrace(REQUEST, (TracedJob("r-1", SEQUENCE), TracedJob("r-2", replace(SEQUENCE, slot=4))))


class TracingCorrector(FakeCorrector):
    found: FoundTrace | None = FOUND

    def trace(self, request_id: str) -> FoundTrace | None:
        return self.found if request_id == "r" else None


@pytest.fixture
def corrector() -> TracingCorrector:
    return TracingCorrector()


@pytest.fixture
def client(corrector: TracingCorrector) -> FlaskClient:
    return create_site(corrector, Settings()).test_client()


def test_every_event_of_a_request_is_told_since_it_was_received(client: FlaskClient) -> None:
    document = client.get("/requests/r/trace").get_json()

    first = [event for event in document["events"] if event.get("sentence") in (None, 1)]
    told = [(event["name"], event["start_ms"], event["duration_ms"], event.get("batch_size")) for event in first]
    assert told == [
        ("received", 0.0, 1.0, None),
        ("tokenized", 1.0, 2.0, None),
        ("reserved", 4.0, 2.0, None),
        ("queued", 4.0, 10.0, None),
        ("prefill", 14.0, 5.0, 4),
        ("decode", 19.0, 3.0, 5),
        ("decode", 22.0, 4.0, 6),
        ("published", 26.0, 24.0, None),
        ("delivered", 50.0, 2.0, None),
    ]
    assert (document["request_id"], document["status"], document["is_complete"]) == ("r", 200, True)
    assert (document["received_at"], document["duration_ms"]) == ("2023-11-14T22:13:20.000Z", 52.0)


def test_each_sentence_is_told_with_its_tokens_its_slot_and_its_attempt(client: FlaskClient) -> None:
    sentences = client.get("/requests/r/trace").get_json()["sentences"]

    assert sentences[1] == {
        "sentence": 2, "job_id": "r-2", "attempt": 1, "slot": 4, "prompt_tokens": 11, "output_tokens": 3,
        "finish_reason": "stop",
    }  # fmt: skip


@pytest.mark.parametrize(("query", "accept"), [("?format=text", "*/*"), ("", "text/plain")])
def test_the_picture_for_the_terminal_shows_bars_in_their_place(client: FlaskClient, query: str, accept: str) -> None:
    response = client.get(f"/requests/r/trace{query}", headers={"Accept": accept})

    text = response.get_data(as_text=True)
    bars = {line.split()[0]: line for line in text.splitlines() if "█" in line}
    assert response.content_type == "text/plain; charset=utf-8"
    assert text.index("tokenized") < text.index("sentence 1: 11 prompt tokens") < text.index("delivered")
    assert bars["received"].index("█") < bars["prefill"].index("█") < bars["published"].index("█")
    assert bars["queued"].count("█") == pytest.approx(10 / 52 * 60, abs=1)
    assert bars["delivered"].rindex("█") == max(line.rindex("█") for line in bars.values())
    assert max(map(len, text.splitlines())) <= 110


def test_who_asks_for_no_format_gets_json(client: FlaskClient) -> None:
    response = client.get("/requests/r/trace", headers={"Accept": "*/*"})

    assert response.content_type == "application/json"


def test_a_format_that_there_is_not_is_refused_by_name(client: FlaskClient) -> None:
    assert_problem(client.get("/requests/r/trace?format=svg"), 422, "invalid-request")


@pytest.mark.parametrize("phase", Phase)
def test_a_request_that_runs_is_to_be_asked_for_again(
    client: FlaskClient, corrector: TracingCorrector, phase: Phase
) -> None:
    corrector.found = FoundTrace(None, (TracedJob("r", None, phase),))

    response = client.get("/requests/r/trace?format=text")

    assert (response.status_code, response.headers["Retry-After"]) == (202, "1")
    assert json.loads(response.get_data()) == {"request_id": "r", "status": phase.value}


def test_a_request_nobody_knows_has_no_trace(client: FlaskClient) -> None:
    assert "no longer kept" in assert_problem(client.get("/requests/s/trace"), 404, "not-found")["detail"]


def test_a_server_without_traces_says_why() -> None:
    client = create_site(TracingCorrector(), Settings(traces="off")).test_client()

    assert "MINISERVE_TRACES" in assert_problem(client.get("/requests/r/trace"), 404, "not-found")["detail"]


@pytest.mark.parametrize(("status", "name"), [(202, "acknowledged"), (504, "refused")])
def test_a_request_nobody_waited_for_to_its_end_was_not_delivered(status: int, name: str) -> None:
    request = replace(REQUEST, status=status, answered_s=0.0)

    names = [event["name"] for event in waterfall_document("r", FoundTrace(request, FOUND.jobs))["events"]]

    assert name in names and "delivered" not in names


def test_a_sentence_that_was_called_off_was_not_published() -> None:
    part = replace(SEQUENCE, finish_reason=FinishReason.CANCELLED)

    document = waterfall_document("r", FoundTrace(REQUEST, (TracedJob("r", part),)))
    names = [event["name"] for event in document["events"]]

    assert "decode" in names and "published" not in names


def test_what_is_missing_in_the_end_is_said_to_be_missing() -> None:
    found = FoundTrace(None, (TracedJob("r-1", SEQUENCE), TracedJob("r-2", None)))

    document = waterfall_document("r", found)
    text = waterfall_text(document)

    assert found.phase is None
    assert document["is_complete"] is False
    assert "missing" in text and "sentence 2: nothing is known of its worker" in text
    assert next(event for event in document["events"] if event["name"] == "queued")["start_ms"] == 0.0

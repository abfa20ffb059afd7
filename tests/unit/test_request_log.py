"""The line that is logged of each request: its form, its cost to those who do not read it, and what is not in it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from flask.testing import FlaskClient

from api.service.exchange import Exchange
from api.telemetry import recorder
from api.telemetry.line_writer import Line
from api.telemetry.recorder import RequestLog
from scheduler import errors
from scheduler.messages import Timings
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector, client_around, site_of

TIMINGS = Timings(0.00125, 0.0025, 0.00975)
TOOK_S = 0.01404
EXCHANGE = Exchange(
    "abc", route="/correct", status=200, timings=TIMINGS, prompt_tokens=11, output_tokens=7, is_read=True
)


@pytest.fixture(autouse=True)
def _at_a_known_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder.time, "time", lambda: 1_700_000_000.25)


class Out:
    """Where the lines go."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def put(self, line: Line) -> None:
        self.texts.append(line if isinstance(line, str) else line())


def logged(exchange: Exchange, log_format: str) -> str:
    out = Out()
    RequestLog(Settings(log_format=log_format), out.put).note(exchange, "POST", TOOK_S)
    (text,) = out.texts
    return text


def test_a_line_of_json_tells_ids_tokens_times_and_outcome() -> None:
    assert json.loads(logged(EXCHANGE, "json")) == {
        "event": "request", "level": "info", "process": "api", "timestamp": "2023-11-14T22:13:20.250000Z",
        "request_id": "abc", "route": "/correct", "status": 200, "outcome": "answered", "prompt_tokens": 11,
        "output_tokens": 7, "queue_ms": 1.2, "prefill_ms": 2.5, "decode_ms": 9.8, "total_ms": 14.0,
    }  # fmt: skip


def test_a_line_for_people_begins_as_all_others_do() -> None:
    text = logged(EXCHANGE, "console")

    assert text.startswith("2023-11-14T22:13:20.250000Z [info     ] request                        request_id=abc ")
    assert text.endswith(" total_ms=14.0 process=api\n")


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_correlation_id_cannot_end_the_line_or_forge_a_field(log_format: str) -> None:
    text = logged(replace(EXCHANGE, correlation_id='x", "status": 500, "y": "\u2028'), log_format)

    assert text.count("\n") == 1 and len(text.splitlines()) == 1
    if log_format == "json":
        assert json.loads(text)["correlation_id"].startswith('x", "status": 500')
        assert json.loads(text)["status"] == 200


@pytest.mark.parametrize(("level", "num_lines"), [("debug", 1), ("info", 1), ("warning", 0), ("error", 0)])
def test_a_higher_level_turns_the_lines_off(level: str, num_lines: int) -> None:
    out = Out()

    RequestLog(Settings(log_level=level), out.put).note(EXCHANGE, "POST", TOOK_S)

    assert len(out.texts) == num_lines


def app_with_lines(corrector: FakeCorrector, settings: Settings) -> tuple[FlaskClient, list[str]]:
    app, out = site_of(corrector, settings), Out()
    app.services.recorder.log = RequestLog(settings, out.put)
    return client_around(app), out.texts


def test_every_request_has_one_line_and_none_has_its_text() -> None:
    corrector = FakeCorrector()
    client, texts = app_with_lines(corrector, Settings(log_format="json"))

    client.post("/correct", json={"sentence": "Zanzibarian goed"}, headers={"X-Request-ID": "mine"})
    client.post("/correct/batch", json={"sentences": ["Zanzibarian goed"]})
    corrector.error = errors.QueueFull("Zanzibarian", 1.0)
    client.post("/correct", json={"sentence": "Zanzibarian goed"})

    documents = [json.loads(text) for text in texts]
    assert [(one["route"], one["status"], one["outcome"]) for one in documents] == [
        ("/correct", 200, "answered"), ("/correct/batch", 200, "answered"), ("/correct", 503, "queue-full"),
    ]  # fmt: skip
    assert documents[0]["correlation_id"] == "mine"
    assert (documents[0]["prefill_ms"], documents[0]["decode_ms"]) == (3.4, 5.6)
    assert "Zanzibarian" not in "".join(texts)


def test_what_waits_to_be_logged_holds_neither_the_answer_nor_the_connection_of_its_client() -> None:
    corrector, lines = FakeCorrector(), []
    app = site_of(corrector)
    app.services.recorder.log = RequestLog(Settings(), lines.append)

    client_around(app).post("/correct", json={"sentence": "He goed"})

    assert len(lines) == 1
    assert not any(isinstance(part, Exchange) for part in lines[0].args)


@pytest.mark.parametrize(("level", "num_lines"), [("info", 1), ("debug", 2)])
def test_questions_are_lines_for_those_who_debug_and_refusals_for_all(level: str, num_lines: int) -> None:
    client, texts = app_with_lines(FakeCorrector(), Settings(log_level=level, log_format="json"))

    client.get("/v2/languages")
    client.get("/requests/abc")

    documents = [json.loads(text) for text in texts]
    assert len(documents) == num_lines
    assert {name: documents[-1][name] for name in ("level", "method", "status", "outcome")} == {
        "level": "info", "method": "GET", "status": 404, "outcome": "not-found",
    }  # fmt: skip

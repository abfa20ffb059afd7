"""The line that is logged of each request: its form, its cost to those who do not read it, and what is not in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from flask.testing import FlaskClient
from structlog.testing import capture_logs

from api.http.app import create_app
from api.telemetry import request_log
from api.telemetry.request_log import Exchange, RequestLog
from scheduler import errors
from scheduler.messages import Timings
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector
from tests.mailbox_house import eventually

TIMINGS = Timings(0.00125, 0.0025, 0.00975)
TOOK_S = 0.01404
EXCHANGE = Exchange("abc", 0.0, "/correct", status=200, timings=TIMINGS, prompt_tokens=11, output_tokens=7)


@pytest.fixture(autouse=True)
def _at_a_known_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log.time, "time", lambda: 1_700_000_000.25)


class Out:
    """Where the lines go."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.has_room = True

    def put(self, text: str) -> bool:
        if self.has_room:
            self.texts.append(text)
        return self.has_room


def logged(exchange: Exchange, log_format: str) -> str:
    out = Out()
    RequestLog(Settings(log_format=log_format), out.put).note(exchange, TOOK_S)
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

    RequestLog(Settings(log_level=level), out.put).note(EXCHANGE, TOOK_S)

    assert len(out.texts) == num_lines


def test_a_reader_who_hangs_costs_lines_and_holds_nobody_up() -> None:
    is_free, out = threading.Event(), Out()
    log = RequestLog(Settings(), lambda text: is_free.wait() and out.put(text))
    threading.Thread(target=log.run, daemon=True).start()
    eventually(lambda: log._has_writer)

    for _ in range(10_000):
        log.note(EXCHANGE, TOOK_S)
    is_free.set()
    eventually(lambda: not log.has_lines)

    eventually(lambda: 4096 <= "".join(out.texts).count("\n") < 9_000)
    assert max(map(len, out.texts)) <= 4096


def test_what_there_is_no_room_for_comes_later_in_its_order() -> None:
    out = Out()
    log = RequestLog(Settings(), out.put)
    out.has_room = False
    for number in range(30):
        log.note(replace(EXCHANGE, request_id=f"r{number}"), TOOK_S)

    with capture_logs() as lines:
        out.has_room = True
        log.write()

    assert [line.split("request_id=")[1].split()[0] for line in "".join(out.texts).splitlines()] == [
        f"r{number}" for number in range(30)
    ]
    assert lines == []


def test_lines_that_were_dropped_are_counted_in_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "_MOST_LINES", 10)
    out = Out()
    log = RequestLog(Settings(), out.put)
    out.has_room = False
    for _ in range(25):
        log.note(EXCHANGE, TOOK_S)

    with capture_logs() as lines:
        out.has_room = True
        log.write()
        log.write()

    assert [(line["log_level"], line["num_dropped"]) for line in lines] == [("warning", 15)]


def test_a_pipe_that_nobody_reads_is_filled_by_half_at_most() -> None:
    script = (
        "import sys; from api.telemetry.request_log import RequestLog, Exchange\n"
        "from scheduler.settings import Settings\n"
        "log = RequestLog(Settings())\n"
        "for _ in range(2000): log.note(Exchange('abc', 0.0, '/correct', status=200), 0.1)\n"
        "print('not held up', file=sys.stderr, flush=True); print('done', flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    assert process.stdout.readline() == "done\n"
    _, logged = process.communicate()
    assert 16_384 < len(logged) < 40_000 and logged.endswith("not held up\n")


def test_a_log_whose_reader_is_gone_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(request_log, "_STDERR", writing)
    try:
        client = create_app(FakeCorrector(), Settings()).test_client()

        assert client.post("/correct", json={"sentence": "He goed."}).status_code == 200
    finally:
        os.close(writing)


def app_with_lines(corrector: FakeCorrector, settings: Settings) -> tuple[FlaskClient, list[str]]:
    app, out = create_app(corrector, settings), Out()
    app.recorder.log = RequestLog(settings, out.put)
    return app.test_client(), out.texts


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


def test_questions_about_requests_are_no_lines_of_this_log() -> None:
    client, texts = app_with_lines(FakeCorrector(), Settings())

    client.get("/healthz")
    client.get("/requests/abc")

    assert texts == []

"""What an API replica counts of its HTTP traffic, and GET /metrics in the modes without a queue."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from api.service.exchange import Exchange
from api.telemetry.recorder import RequestRecorder
from scheduler.errors import NotReady, QueueFull, ShuttingDown
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, assert_problem

GOED = {"sentence": "He goed to school"}


def totals_of(client: FlaskClient) -> dict[str, float]:
    """Those above zero, without the sum of times."""
    totals = client.application.services.recorder.totals()
    return {name: count for name, count in totals.items() if count and not name.endswith(":sum")}


@pytest.mark.parametrize(
    ("error", "rejected"),
    [(NotReady("x", 1.0), {"rejected:not-ready": 1}), (ShuttingDown("x", 1.0), {"rejected:shutting-down": 1}),
     (QueueFull("full", 1.0), {})],
)  # fmt: skip
def test_what_never_reached_the_queue_is_a_rejection_and_what_it_refuses_it_counts_itself(
    client: FlaskClient, mailbox: FakeMailbox, error: NotReady, rejected: dict[str, int]
) -> None:
    mailbox.error = error

    client.post("/correct", json=GOED)
    client.get("/readyz")  # a probe asks for nothing to be corrected

    assert totals_of(client) == {"http:/correct:503": 1} | rejected
    assert_problem(client.get("/metrics"), 503, error.slug)


def test_the_latency_of_an_answer_is_what_its_client_is_told(client: FlaskClient) -> None:
    (told_ms,) = re.findall(r"total;dur=([\d.]+)", client.post("/correct", json=GOED).headers["Server-Timing"])

    totals = client.application.services.recorder.totals()

    assert 1e3 * totals["e2e_request_latency:sum"] == pytest.approx(float(told_ms), rel=0.5)


@pytest.mark.parametrize(("asked_s", "num_own"), [(None, 0), (60.0, 0), (0.001, 1)])
def test_a_missed_deadline_is_its_clients_own_where_it_is_below_the_servers(
    asked_s: float | None, num_own: int
) -> None:
    recorder = RequestRecorder(Settings(log_level="error"))
    exchange = Exchange("id", route="/correct", allowed_s=asked_s)
    exchange.limit_wait(30.0)
    exchange.status = 504

    recorder.finish(exchange, "POST")

    assert recorder.totals().get("own_deadline", 0) == num_own


def test_the_metrics_ask_the_queue_no_more_often_than_they_change(
    client: FlaskClient, mailbox: FakeMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe, asked = mailbox.observe, []
    monkeypatch.setattr(mailbox, "observe", lambda: asked.append(1) or observe())

    statuses = {client.get("/metrics").status_code for _ in range(200)}

    assert statuses == {200}
    assert len(asked) < 50

"""`miniserve monitor` and `miniserve capacity` beside a whole system."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from ops.cli import main
from tests.running_system import RunningSystem, post_json, wait_until
from tests.webhook_receiver import WebhookReceiver

SENTENCES = {"sentences": ["He goed to school.", "She have two cats.", "They was late.", "I seen it."]}


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def watched(receiver: WebhookReceiver) -> Iterator[RunningSystem]:
    with RunningSystem(
        "--verbose", env={"MINISERVE_ALERT_WEBHOOK": receiver.url, "MINISERVE_LOG_FORMAT": "json"}
    ) as system:
        yield system


def test_a_system_with_a_webhook_posts_that_its_worker_stands_still_and_that_it_goes_on(
    watched: RunningSystem, receiver: WebhookReceiver
) -> None:
    watched.wait_for_line(r'"process": "monitor".*"watching"|"watching".*"process": "monitor"', 20)
    (worker,) = watched.pids("worker")
    before = len(receiver.payloads)  # a machine that stood still may have told one before

    def since() -> list[tuple[str, str]]:
        return [(payload["alert"], payload["status"]) for payload in receiver.payloads[before:]]

    os.kill(worker, signal.SIGSTOP)
    try:
        wait_until(lambda: ("no-live-worker", "raised") in since(), 20, "the alert")
        wait_until(lambda: watched.readiness() == 503, 20, "not ready")
    finally:
        os.kill(worker, signal.SIGCONT)

    wait_until(lambda: ("no-live-worker", "cleared") in since(), 20, "the all-clear")
    watched.wait_until_ready()
    assert len(watched.pids("monitor")) == 1 and "CRET" not in watched.output()


def test_capacity_tells_the_rates_that_a_replica_measures(watched: RunningSystem) -> None:
    told: dict[str, float] = {}

    def are_measured() -> bool:
        for _ in range(30):
            assert post_json(watched.url, "/correct/batch", SENTENCES).status == 200
        told.update(json.loads(CliRunner().invoke(main, ["capacity", "--json", "--url", watched.url]).stdout))
        return told["service_rate_tokens_per_s"] > 0 and told["arrival_rate_per_s"] > 0

    wait_until(are_measured, 20, "measured rates")

    assert told["num_workers"] == 1
    assert told["advice"].startswith("One worker serves ")

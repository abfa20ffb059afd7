"""`miniserve monitor` and `miniserve capacity` beside a whole system."""

from __future__ import annotations

import json
import os
import signal

from click.testing import CliRunner

from ops.cli import main
from tests.running_system import RunningSystem, post_json, wait_until
from tests.webhook_receiver import WebhookReceiver

SENTENCES = {"sentences": ["He goed to school.", "She have two cats.", "They was late.", "I seen it."]}


def test_a_system_with_a_webhook_posts_that_its_worker_stands_still_and_that_it_goes_on() -> None:
    with WebhookReceiver() as receiver:
        env = {"MINISERVE_ALERT_WEBHOOK": receiver.url, "MINISERVE_LOG_FORMAT": "json"}
        with RunningSystem("--verbose", env=env) as watched:
            watched.wait_for_line(r'"process": "monitor".*"watching"|"watching".*"process": "monitor"', 20)
            (worker,) = watched.pids("worker")
            before = len(receiver.payloads)  # a machine that stood still may have told one before

            def is_told(status: str) -> bool:
                told = [(payload["alert"], payload["status"]) for payload in receiver.payloads[before:]]
                return ("no-live-worker", status) in told

            os.kill(worker, signal.SIGSTOP)
            try:
                wait_until(lambda: is_told("raised"), 20, "the alert")
                wait_until(lambda: watched.readiness() == 503, 20, "not ready")
            finally:
                os.kill(worker, signal.SIGCONT)

            wait_until(lambda: is_told("cleared"), 20, "the all-clear")
            watched.wait_until_ready()
            assert len(watched.pids("monitor")) == 1 and "CRET" not in watched.output()


def test_capacity_tells_the_rates_that_a_replica_measures(system: RunningSystem) -> None:
    told: dict[str, float] = {}

    def are_measured() -> bool:
        for _ in range(30):
            assert post_json(system.url, "/correct/batch", SENTENCES).status == 200
        told.update(json.loads(CliRunner().invoke(main, ["capacity", "--json", "--url", system.url]).stdout))
        return told["service_rate_tokens_per_s"] > 0 and told["arrival_rate_per_s"] > 0

    wait_until(are_measured, 20, "measured rates")

    assert told["num_workers"] == 1 and told["advice"].startswith("At the present ")

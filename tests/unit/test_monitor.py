"""The monitor's look, and what it tells."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ops.observe.monitor import Watch
from scheduler.capacity.observed import Moment, Observed, WorkerFacts
from scheduler.settings import Settings, SettingsError

WELL = Observed(
    now=Moment(at_s=0.0), workers=(WorkerFacts("a", kv_budget_tokens=4096, max_slots=8),), num_api_replicas=1
)
SETTINGS = Settings()


class Looking:
    """A watch that sees what it is shown."""

    def __init__(self) -> None:
        self.observed, self.posted, self.now = WELL, [], 0.0
        self.watch = Watch(lambda: self.observed, SETTINGS, self.posted.append)

    def see(self, observed: Observed, seconds: float) -> None:
        self.observed = observed
        for _ in range(round(2 * seconds)):
            self.watch.look(self.now)
            self.now += 0.5


def test_the_log_tells_once_that_an_alert_is_raised_and_once_that_it_is_cleared(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looking = Looking()
    looking.see(WELL, 5)

    looking.see(replace(WELL, workers=()), 20)
    looking.see(WELL, 20)

    raised, cleared = caplog.records
    assert (raised.msg, raised.levelname, raised.alert) == ("alert raised", "ERROR", "no-live-worker")
    assert raised.sentence.startswith("1 worker is missing, none is live: start one.")
    assert raised.runbook == "docs/operations.md#no-live-worker"
    assert (cleared.msg, cleared.levelname) == ("alert cleared", "WARNING")
    first, second = looking.posted
    assert json.loads(json.dumps(first)) == first
    assert (first["status"], first["alert"], first["severity"]) == ("raised", "no-live-worker", "critical")
    assert first["text"] == (
        f"miniserve critical raised: no-live-worker. {first['sentence']} See docs/operations.md#no-live-worker."
    )
    assert second["text"] == "miniserve critical cleared: no-live-worker. A worker is live again."
    assert first["id"] != second["id"] and (first["held_s"], second["held_s"]) == (0.0, 21.0)
    assert datetime.fromisoformat(first["at"]).tzinfo == UTC


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("hooks.example/S3CRET", "must begin with http:// or https://"),
        ("ftp://h/S3CRET", "must begin with http:// or https://"),
        ("https://h/S3 CRET", "hold no blanks"),
        ("https:///S3CRET", "name a host"),
        ("https://h:x/S3CRET", "name a host"),
        ("https://h:65536/S3CRET", "HOST:PORT"),
        ("https://user:S3CRET@h/", "not before an @"),
    ],
)
def test_a_webhook_that_is_none_is_refused_without_being_shown(url: str, fault: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env({"MINISERVE_ALERT_WEBHOOK": url})

    assert str(caught.value).startswith("MINISERVE_ALERT_WEBHOOK ")
    assert fault in str(caught.value)
    assert "CRET" not in str(caught.value)

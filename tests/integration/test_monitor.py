"""A real `miniserve monitor` beside a real Redis: what it posts, what it survives, how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.run import embedded_redis, processes
from ops.run.embedded_redis import EmbeddedRedis
from ops.run.supervisor import Member, log_file
from tests.running_system import wait_until
from tests.webhook_receiver import WebhookReceiver


class Monitor:
    """Use it as a context manager."""

    def __init__(self, redis_url: str, webhook: str, place: Path) -> None:
        self.env = {**os.environ, "MINISERVE_ALERT_WEBHOOK": webhook, "TMPDIR": str(place)}
        command = processes.miniserve_command("monitor", "--redis-url", redis_url, "--log-format", "json")
        self._member = Member("monitor", command, self.env, log_file())
        self._member.start()
        self.process, self.said = self._member.process, self._member.said

    def __enter__(self) -> Monitor:
        wait_until(lambda: '"watching"' in self.said(), 20, "it watches")
        return self

    def __exit__(self, *_: object) -> None:
        self._member.kill()
        self.process.wait()


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as receiver:
        yield receiver


def told(receiver: WebhookReceiver) -> list[tuple[str, str]]:
    return [(payload["alert"], payload["status"]) for payload in receiver.payloads]


def test_a_redis_that_dies_and_returns_is_told_and_the_monitor_goes_on(
    private_redis: EmbeddedRedis, receiver: WebhookReceiver, tmp_path: Path
) -> None:
    with Monitor(private_redis.url, receiver.url, tmp_path) as monitor:
        private_redis.process.kill()
        private_redis.process.wait()
        wait_until(lambda: ("redis-unreachable", "raised") in told(receiver), 20, "the outage is told")

        again = EmbeddedRedis(tmp_path, private_redis.port).serve()
        try:
            wait_until(lambda: ("redis-unreachable", "cleared") in told(receiver), 20, "the return is told")
        finally:
            again.stop()
        assert "CRET" not in monitor.said()


def test_a_signal_ends_the_monitor_while_redis_is_away_and_the_webhook_hangs(tmp_path: Path) -> None:
    away = f"redis://127.0.0.1:{embedded_redis.free_port()}/0"
    with WebhookReceiver(0) as receiver, Monitor(away, receiver.url, tmp_path) as monitor:
        wait_until(lambda: len(receiver.payloads) == 1, 20, "the outage is told")

        monitor.process.terminate()

        assert monitor.process.wait() == 0


def test_a_monitor_that_hangs_ends_itself_and_says_where(redis_url: str) -> None:
    hang = "import time; from ops.cli import main; from ops.observe import monitor; monitor.LONGEST_LOOK_S = 0.5; "
    hang += "monitor.Watch.look = lambda *_: time.sleep(3600); main()"

    done = subprocess.run(
        [sys.executable, "-c", hang, "monitor", "--redis-url", redis_url], capture_output=True, timeout=60
    )

    assert done.returncode == 1
    assert b"Timeout" in done.stderr and b"monitor.py" in done.stderr

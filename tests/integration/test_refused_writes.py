"""A Redis that cannot save to its disk refuses every write: readiness, refusals and the alert say so."""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.request

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.capacity.alerts import Alerts
from scheduler.settings import Settings
from tests.mailbox_house import eventually
from tests.running_system import ApiProcess
from worker.queue.connection import Address
from worker.queue.redis_observer import SystemReader


def refuse_writes(server: EmbeddedRedis) -> None:
    """Its snapshots fail, for real: their folder is gone."""
    with Redis(port=server.port) as client:
        client.config_set("appendonly", "no")
        client.config_set("save", "3600 1")
        shutil.rmtree(server.directory)
        client.bgsave()
        eventually(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", within_s=30)
        with pytest.raises(ResponseError, match="MISCONF"):
            client.set("a", "b")


def get(url: str, body: bytes | None = None) -> tuple[int, str]:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_a_redis_that_cannot_save_is_named_by_readiness_refusals_and_alert(private_redis: EmbeddedRedis) -> None:
    reader = SystemReader(Address(private_redis.url))
    alerts = Alerts(Settings())
    with ApiProcess(private_redis.url) as api:
        reader.observe()
        refuse_writes(private_redis)

        eventually(lambda: "MISCONF" in get(f"{api.url}/readyz")[1], within_s=30, every_s=0.1)
        status, problem = get(f"{api.url}/correct", json.dumps({"sentence": "She go home."}).encode())
        seen = reader.observe()

    raised = {change.rule.name for at_s in (0.0, 60.0) for change in alerts.evaluate(seen, None, at_s)}
    reader.close()
    assert status == 503
    assert "cannot save to its disk" in problem and "memory" not in problem
    assert raised == {"redis-refuses-writes"}

"""A Redis that cannot save to its disk refuses every write: readiness, refusals and the alert say so."""

from __future__ import annotations

import shutil

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from ops.run.embedded_redis import EmbeddedRedis
from scheduler.capacity.alerts import Alerts
from scheduler.settings import Settings
from tests.mailbox_house import eventually
from tests.running_system import ApiProcess, post_sentence, send
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


def test_a_redis_that_cannot_save_is_named_by_readiness_refusals_and_alert(private_redis: EmbeddedRedis) -> None:
    reader = SystemReader(Address(private_redis.url))
    alerts = Alerts(Settings())
    with ApiProcess(private_redis.url) as api:
        reader.observe()
        refuse_writes(private_redis)

        eventually(lambda: "MISCONF" in send(api.url, "GET", "/readyz").body["detail"], within_s=30, every_s=0.1)
        refused = post_sentence(api.url, "She go home.")
        seen = reader.observe()

    raised = {change.rule.name for at_s in (0.0, 60.0) for change in alerts.evaluate(seen, None, at_s)}
    reader.close()
    assert refused.status == 503
    assert "cannot save to its disk" in refused.body["detail"] and "memory" not in refused.body["detail"]
    assert raised == {"redis-refuses-writes"}

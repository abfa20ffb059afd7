"""What Kubernetes runs before it stops a Redis or a sentinel (ops/deploy/redis/hand-over.sh), with a real redis-cli."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.drills.fleet import Node, RedisFleet
from tests.guarded_redis import PASSWORDS, SCRIPTS, started
from tests.pace import patient


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[RedisFleet]:
    with started(RedisFleet(tmp_path, PASSWORDS, num_nodes=3)) as fleet:
        yield fleet


def _hand_over(node: Node) -> None:
    env = {**node.env, "HOST_PORT": f"127.0.0.1 {node.port}", "HAND_OVER_S": str(int(patient(20)))}
    subprocess.run(["sh", SCRIPTS / "hand-over.sh"], env=env, check=True, timeout=patient(40))


def test_a_primary_hands_over_before_it_is_stopped(fleet: RedisFleet) -> None:
    first = fleet.primary()

    _hand_over(first)

    assert fleet.primary() is not first


def test_a_replica_that_is_stopped_changes_no_primary(fleet: RedisFleet) -> None:
    first = fleet.primary()

    _hand_over(next(node for node in fleet.nodes if node is not first))

    assert fleet.primary() is first

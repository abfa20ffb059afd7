"""What needs Debian's Redis: its redis-cli in hand-over.sh.

`make test-system` installs it (ops/deploy/system_tools.sh).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ops.drills.fleet import RedisFleet
from tests.guarded_redis import PASSWORDS, SCRIPTS, started
from tests.pace import patient


@pytest.mark.parametrize("is_primary", [True, False])
def test_a_primary_that_is_stopped_hands_over_before_and_a_replica_does_not(tmp_path: Path, is_primary: bool) -> None:
    """Kubernetes runs ops/deploy/redis/hand-over.sh before it stops a Redis or a sentinel."""
    with started(RedisFleet(tmp_path, PASSWORDS, num_nodes=3)) as fleet:
        first = fleet.primary()
        stopped = first if is_primary else next(node for node in fleet.nodes if node is not first)
        env = {**stopped.env, "HOST_PORT": f"127.0.0.1 {stopped.port}", "HAND_OVER_S": str(int(patient(20)))}

        subprocess.run(["sh", SCRIPTS / "hand-over.sh"], env=env, check=True, timeout=patient(40))

        assert (fleet.primary() is first) is not is_primary

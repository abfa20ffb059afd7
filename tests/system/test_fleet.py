"""What needs Debian's Redis: its redis-cli in hand-over.sh, and sentinels that are told how long to distrust a clock.

`make test-system` installs it (ops/deploy/system_tools.sh).
"""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from ops.drills.fleet import RedisFleet
from tests.guarded_redis import PASSWORDS, SCRIPTS, started
from tests.pace import patient
from tests.running_system import wait_until

FAILOVER_S = 20.0  # about 3 s; the rest is for a busy machine
LONGER_THAN_A_SENTINEL_TRUSTS_S = 2.5  # it trusts a clock that has gone on by two


@pytest.mark.parametrize("is_primary", [True, False])
def test_a_primary_that_is_stopped_hands_over_before_and_a_replica_does_not(tmp_path: Path, is_primary: bool) -> None:
    """Kubernetes runs ops/deploy/redis/hand-over.sh before it stops a Redis or a sentinel."""
    with started(RedisFleet(tmp_path, PASSWORDS, num_nodes=3)) as fleet:
        first = fleet.primary()
        stopped = first if is_primary else next(node for node in fleet.nodes if node is not first)
        env = {**stopped.env, "HOST_PORT": f"127.0.0.1 {stopped.port}", "HAND_OVER_S": str(int(patient(20)))}

        subprocess.run(["sh", SCRIPTS / "hand-over.sh"], env=env, check=True, timeout=patient(40))

        assert (fleet.primary() is first) is not is_primary


def test_sentinels_that_stood_still_for_a_while_fail_over_all_the_same(tmp_path: Path) -> None:
    with started(RedisFleet(tmp_path)) as fleet:
        for sentinel in fleet.sentinels:
            sentinel.process.send_signal(signal.SIGSTOP)
        time.sleep(LONGER_THAN_A_SENTINEL_TRUSTS_S)
        for sentinel in fleet.sentinels:
            sentinel.process.send_signal(signal.SIGCONT)

        dead = fleet.kill_primary()

        wait_until(lambda: fleet.primary() is not dead, FAILOVER_S, "another primary")

"""Sentinels that stood still distrust what they see for a while. Only Redis 7 can be told for how short a while.

The embedded Redis may be older. Debian's is not: `make test-system` installs it (ops/deploy/system_tools.sh).
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

from ops.drills.fleet import RedisFleet
from tests.guarded_redis import started
from tests.running_system import wait_until

FAILOVER_S = 20.0  # about 3 s; the rest is for a busy machine
LONGER_THAN_A_SENTINEL_TRUSTS_S = 2.5  # it trusts a clock that has gone on by two


def test_sentinels_that_stood_still_for_a_while_fail_over_all_the_same(tmp_path: Path) -> None:
    with started(RedisFleet(tmp_path)) as fleet:
        for sentinel in fleet.sentinels:
            sentinel.process.send_signal(signal.SIGSTOP)
        time.sleep(LONGER_THAN_A_SENTINEL_TRUSTS_S)
        for sentinel in fleet.sentinels:
            sentinel.process.send_signal(signal.SIGCONT)

        dead = fleet.kill_primary()

        wait_until(lambda: fleet.primary() is not dead, FAILOVER_S, "another primary")

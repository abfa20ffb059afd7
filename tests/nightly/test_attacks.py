"""A good client beside all rude ones together; beside each alone it is measured by the drill `attacks`."""

from __future__ import annotations

import time
from contextlib import ExitStack

from ops.drills.rude_clients import ATTACKS, under
from tests.good_client import GoodClient
from tests.running_system import RunningSystem, wait_until

SECONDS = 30.0


def test_a_good_client_is_answered_through_a_long_attack_of_all_kinds() -> None:
    with RunningSystem("--api-processes", "1", max_files=512) as system, ExitStack() as attacks:
        good, statuses, until_s = GoodClient(system.port), [], time.monotonic() + SECONDS
        for attack in ATTACKS.values():
            attacks.enter_context(under(attack, system.port, num_attackers=2))
        while time.monotonic() < until_s:
            statuses.append(good.ask(7)[0])
        assert system.readiness() == 200
        attacks.close()

        assert set(statuses) == {200}
        wait_until(lambda: good.ask(7) == (200, "He went to 7 schools"), 10, "an answer after the attack")

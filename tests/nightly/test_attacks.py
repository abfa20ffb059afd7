"""A good client beside rude ones, for half a minute each, and together in the end."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest

from tests.attacks import ATTACKS, GoodClient, under
from tests.running_system import RunningSystem, wait_until

SECONDS = 30.0


@pytest.mark.parametrize("names", [*((name,) for name in ATTACKS), tuple(ATTACKS)], ids="+".join)
def test_a_good_client_is_answered_through_a_long_attack(names: tuple[str, ...]) -> None:
    with RunningSystem("--api-processes", "1", max_files=512) as system, ExitStack() as attacks:
        good, statuses, until_s = GoodClient(system.port), [], time.monotonic() + SECONDS
        for name in names:
            attacks.enter_context(under(ATTACKS[name], system.port, num_attackers=2))
        while time.monotonic() < until_s:
            statuses.append(good.ask(7)[0])
        assert system.readiness() == 200
        attacks.close()

        assert set(statuses) == {200}
        wait_until(lambda: good.ask(7) == (200, "He went to 7 schools"), 10, "an answer after the attack")

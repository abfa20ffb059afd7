"""A good client beside rude ones: it gets all of its answers, and the replica stays ready."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ops.drills.rude_clients import ATTACKS, under
from tests.good_client import GoodClient
from tests.running_system import RunningSystem

NUM_ANSWERS = 30


@pytest.fixture(scope="module")
def system() -> Iterator[RunningSystem]:
    """With few places for connections, so that a few hundred heads would take them all."""
    with RunningSystem("--api-processes", "1", max_files=512) as running:
        yield running


@pytest.mark.parametrize("name", ATTACKS)
def test_a_good_client_is_answered_while_others_attack(system: RunningSystem, name: str) -> None:
    good = GoodClient(system.port)

    with under(ATTACKS[name], system.port) as attackers:
        replies = [good.ask(number) for number in range(1, NUM_ANSWERS + 1)]
        readiness = system.readiness()

    assert replies == [(200, f"He went to {number} schools") for number in range(1, NUM_ANSWERS + 1)]
    assert readiness == 200
    assert sum(rude.round for rude in attackers) >= 1

"""A good client beside rude ones: it gets all of its answers, and the replica stays ready."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from ops.drills.rude_clients import ATTACKS, under
from tests.running_system import RunningSystem

NUM_ANSWERS = 30
GOOD = "127.0.0.3"


def ask(connection: http.client.HTTPConnection, number: int) -> tuple[int, str]:
    body = json.dumps({"sentence": f"He goed to {number} schools"})
    connection.request("POST", "/correct", body, {"Content-Type": "application/json"})
    reply = connection.getresponse()
    document = json.loads(reply.read())
    return reply.status, document.get("corrected", document.get("type"))


@pytest.fixture(scope="module")
def system() -> Iterator[RunningSystem]:
    """With few places for connections, so that a few hundred heads would take them all."""
    with RunningSystem("--api-processes", "1", max_files=512) as running:
        yield running


@pytest.mark.parametrize("name", ATTACKS)
def test_a_good_client_is_answered_while_others_attack(system: RunningSystem, name: str) -> None:
    good = http.client.HTTPConnection("127.0.0.1", system.port, source_address=(GOOD, 0))

    with under(ATTACKS[name], system.port) as attackers:
        replies = [ask(good, number) for number in range(1, NUM_ANSWERS + 1)]
        readiness = system.readiness()

    assert replies == [(200, f"He went to {number} schools") for number in range(1, NUM_ANSWERS + 1)]
    assert readiness == 200
    assert sum(rude.round for rude in attackers) >= 1

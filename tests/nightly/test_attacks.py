"""A good client beside all rude ones together; tests/e2e has it beside each kind alone."""

from __future__ import annotations

import http.client
from contextlib import ExitStack

from ops.drills.rude_clients import ATTACKS, under
from tests.e2e.test_attacks import GOOD, ask
from tests.running_system import RunningSystem

NUM_ANSWERS = 300


def test_a_good_client_is_answered_while_all_kinds_attack_at_once() -> None:
    with RunningSystem("--api-processes", "1", max_files=512) as system, ExitStack() as attacks:
        good = http.client.HTTPConnection("127.0.0.1", system.port, source_address=(GOOD, 0))
        rude = {kind: attacks.enter_context(under(attack, system.port, 2)) for kind, attack in ATTACKS.items()}

        replies = [ask(good, number) for number in range(NUM_ANSWERS)]
        readiness = system.readiness()

    assert replies == [(200, f"He went to {number} schools") for number in range(NUM_ANSWERS)]
    assert readiness == 200
    assert [kind for kind, attackers in rude.items() if not sum(one.round for one in attackers)] == []

"""`miniserve capacity` before a real replica."""

from __future__ import annotations

import json

from click.testing import CliRunner

from ops.cli import main
from tests.mailbox_house import eventually
from tests.running_system import RunningSystem, post_json

SENTENCES = {"sentences": ["He goed to school.", "She have two cats.", "They was late.", "I seen it."]}


def test_capacity_tells_the_rates_that_a_replica_measures(system: RunningSystem) -> None:
    def measured() -> dict[str, float] | None:
        for _ in range(30):
            assert post_json(system.url, "/correct/batch", SENTENCES).status == 200
        told = json.loads(CliRunner().invoke(main, ["capacity", "--json", "--url", system.url]).stdout)
        return told if told["service_rate_tokens_per_s"] > 0 and told["arrival_rate_per_s"] > 0 else None

    told = eventually(measured, 20)

    assert told["num_workers"] == 1 and told["advice"].startswith("At the present ")

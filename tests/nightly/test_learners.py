"""Ten thousand learners, and a replica killed every ten seconds."""

from __future__ import annotations

from tests.learner_traffic import LearnerTraffic
from tests.running_system import RunningSystem, wait_until


def test_counts_of_ten_thousand_learners_equal_their_answers() -> None:
    with RunningSystem("--api-processes", "2") as system:
        traffic = LearnerTraffic(system, num_learners=10_000, rate_per_s=300, num_clients=24)
        traffic.run(duration_s=62.0, kill_every_s=10.0)
        system.wait_until_ready()
        traffic.ask("last")
        wait_until(lambda: traffic.counted(["last"])["last"] == 1, 10, "the last report")

        wrong, missing = traffic.compare()

    print(f"{sum(traffic.delivered.values())} answers, {len(traffic.killed_s)} kills, {missing} not counted")
    assert len(traffic.killed_s) == 6
    assert wrong == []
    assert missing <= traffic.num_under_way(within_s=1.0)

"""`miniserve capacity`: the table, the advice, and what it says where there is nothing to read."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from ops.cli import main
from ops.observe import capacity as command
from ops.observe.capacity import Figures, advice
from ops.observe.scrape import parse
from tests.metrics_text import metrics_text

FIGURES: Figures = {
    "arrival_rate_per_s": 12.0, "number_in_system": 1.8, "time_in_system_s": 0.15, "residual": 0.004,
    "service_rate_tokens_per_s": 3900.0, "utilization": 0.31, "predicted_wait_s": 0.002, "workers_needed": 1,
    "queue_bound_tokens": 100_000, "num_workers": 1, "num_waiting": 0, "num_running": 2,
}  # fmt: skip
TEXT = metrics_text(
    0.0, num_workers=1, arrival_rate=12.0, number_in_system=1.8, time_in_system_seconds=0.15,
    littles_law_residual=0.004, service_rate=3900.0, utilization=0.31, predicted_wait_seconds=0.002, workers_needed=1,
    queue_bound_tokens=100_000, num_requests_waiting=0, num_requests_running=2,
)  # fmt: skip


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["capacity", *arguments])


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the server of the tests says, as a whole: the last of these."""
    texts = [TEXT]
    monkeypatch.setattr(command, "scrape", lambda url, api_key: parse(texts[-1]))
    return texts


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "At the present 12.0 requests/s the workers are 31% used: enough until about 31.0 requests/s."),
        ({"service_rate_tokens_per_s": 0.0}, "send some requests and ask again."),
        ({"utilization": 0.9, "workers_needed": 2}, "90% used: add 1 for a use below 80% and a wait in its limit."),
        ({"utilization": 0.0017}, "0.2% used: enough for now. Ask again under load for how much more."),
    ],
)
def test_the_advice_says_how_far_the_workers_go_and_names_the_next_step(changes: dict[str, float], said: str) -> None:
    assert advice(FIGURES | changes).endswith(said)


@pytest.mark.parametrize(
    ("series", "said"),
    [("workers 0", "none is live: start one"),
     ("failing_ratio 1.0", "100% of the answers are 5xx"), ("stuck_seconds 9.0", "no live worker answers one"),
     ("api_late_seconds 0.4", "the API is the bottleneck"), ("leaked_tokens 96", "96 tokens of the KV caches"),
     ("redis_evicts 1", "Redis deletes requests"), ("redis_refuses_writes 1", "Redis takes no write"),
     ("foreign_workers 1", "RQ's own workers")],
)  # fmt: skip
def test_nothing_is_enough_while_answers_fail_or_nothing_is_answered(told: list[str], series: str, said: str) -> None:
    told.append(f"{TEXT}miniserve_{series}\n")

    output = run().output

    assert said in output and "Enough" not in output


def test_the_advice_comes_first_and_the_table_has_a_row_for_each_figure_with_its_unit_and_its_time(
    told: list[str],
) -> None:
    say, _, table = run().output.rstrip().partition("\n\n")

    rows = [" ".join(line.split()) for line in table.splitlines()]
    assert len(rows) == 1 + len(FIGURES) and all(len(line) <= 80 for line in table.splitlines())
    assert rows[1:5] == [
        "lambda requests accepted 12.00 1/s 10 s", "L requests in the system, mean 1.80 60 s",
        "W time in the system, mean 150.0 ms 60 s", "|L - lambda W| / L residual of Little's law 0.4% 15-60 s",
    ]  # fmt: skip
    assert say == advice(FIGURES)


def test_the_json_form_has_every_figure_and_the_advice(told: list[str]) -> None:
    printed = json.loads(run("--json").output)

    # Compared as text: a count is 1, for a shell cannot compare 1.0.
    assert json.dumps(printed, sort_keys=True) == json.dumps(FIGURES | {"advice": advice(FIGURES)}, sort_keys=True)


def test_a_figure_that_the_server_does_not_report_is_named(told: list[str]) -> None:
    told.append(metrics_text(0.0, without="workers_needed"))

    result = run()

    assert (result.exit_code, "does not report workers_needed" in result.output) == (1, True)


@pytest.mark.parametrize(
    ("url", "status", "said"),
    [
        ("http://127.0.0.1:1", 1, "GET http://127.0.0.1:1/metrics fails (Connection refused): is it running there"),
        ("127.0.0.1", 2, "is no base URL; it must look like http://127.0.0.1:8000"),
    ],
)
@pytest.mark.parametrize("command", ["capacity", "top"])
def test_where_nobody_answers_a_line_says_so(command: str, url: str, status: int, said: str) -> None:
    result = CliRunner().invoke(main, [command, "--url", url])

    assert (result.exit_code, said in result.output, result.stdout) == (status, True, "")

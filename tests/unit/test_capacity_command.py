"""`miniserve capacity`: the table, the advice, and what it says where there is nothing to read."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from ops.cli import main
from ops.observe import capacity as command
from ops.observe.capacity import METRICS, Figures, advice, figures_of, rows
from ops.observe.scrape import ScrapeError, parse

FIGURES: Figures = {
    "arrival_rate_per_s": 12.0, "number_in_system": 1.8, "time_in_system_s": 0.15, "residual": 0.004,
    "service_rate_tokens_per_s": 3900.0, "utilization": 0.31, "predicted_wait_s": 0.002, "workers_needed": 1,
    "queue_bound_tokens": 100_000, "num_workers": 1, "num_waiting": 0, "num_running": 2,
}  # fmt: skip
TEXT = "".join(f"{metric} {FIGURES[name]}\n" for name, metric in METRICS.items())


def run(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["capacity", *arguments], env=env)


def test_the_advice_says_how_far_the_workers_go() -> None:
    assert advice(FIGURES) == (
        "One worker serves 3,900 tokens/s; at the present 12 requests/s it is 31% used. "
        "Enough until about 31 requests/s."
    )


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"num_workers": 0}, "No worker is live, so nothing is answered: start one."),
        ({"service_rate_tokens_per_s": 0.0}, "send some requests and ask again."),
        ({"utilization": 0.0, "arrival_rate_per_s": 0.0}, "tokens/s; no request has come in the last seconds."),
        ({"utilization": 0.9, "workers_needed": 2}, "it is 90% used. Add 1 worker: 2 keep the use below 80%."),
        ({"utilization": 0.7, "workers_needed": 3}, "Add 2 workers: 3 keep the wait in its limit."),
        ({"num_workers": 3}, "all 3 are 31% used. Enough until about 31 requests/s. 1 would do for now."),
        ({"arrival_rate_per_s": 1234.5}, "1,234 requests/s it is 31% used. Enough until about 3,186 requests/s."),
        ({"utilization": 0.0017}, "it is 0.2% used. Enough for now; ask again under load for how much more."),
    ],
)
def test_the_advice_names_the_next_step(changes: dict[str, float], end: str) -> None:
    assert advice(FIGURES | changes).endswith(end)


def test_nothing_is_enough_while_answers_fail_or_nothing_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {"failing_ratio 1.0": "100% of the answers are 5xx", "stuck_seconds 9.0": "no live worker answers one",
              "api_late_seconds 0.4": "the API is the bottleneck", "leaked_tokens 96": "96 tokens of the KV caches",
              "redis_evicts 1": "Redis deletes requests", "redis_refuses_writes 1": "Redis takes no write",
              "foreign_workers 1": "RQ's own workers"}  # fmt: skip
    for series, said in broken.items():
        monkeypatch.setattr(command, "scrape", lambda url, api_key, series=series: parse(f"{TEXT}miniserve_{series}\n"))

        output = run().output

        assert said in output and "Enough" not in output, series


def test_the_figures_of_metrics_are_those_they_were_made_of() -> None:
    assert figures_of(parse(TEXT)) == FIGURES


def test_a_metric_that_is_missing_is_named() -> None:
    with pytest.raises(ScrapeError, match="no miniserve_workers_needed"):
        figures_of(parse(TEXT.replace("miniserve_workers_needed", "miniserve_other")))


def test_every_row_has_its_own_meaning_and_tells_its_unit_and_its_time() -> None:
    table = {meaning: (symbol, value, unit, when) for symbol, meaning, value, unit, when in rows(FIGURES)}

    assert len(table) == 12
    assert table["requests accepted"] == ("lambda", "12.00", "1/s", "10 s")
    assert table["time in the system, mean"] == ("W", "150.0", "ms", "60 s")
    assert table["residual of Little's law"] == ("|L - lambda W| / L", "0.4%", "", "15-60 s")
    assert table["utilization"] == ("rho", "31%", "", "10 s")
    assert all(when for *_, when in table.values())


def test_the_command_prints_the_table_and_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(command, "scrape", lambda url, api_key: asked.append(url) or parse(TEXT))

    result = run("--url", "http://h:1")

    assert result.exit_code == 0
    assert asked == ["http://h:1"]
    assert "utilization" in result.output
    assert result.output.rstrip().endswith(advice(FIGURES))
    assert "60 s" in result.output and all(len(line) <= 80 for line in result.output.split("\n\n")[0].splitlines())


def test_the_json_form_has_every_figure_and_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "scrape", lambda url, api_key: parse(TEXT))

    document = json.loads(run("--json").output)

    assert document == FIGURES | {"advice": advice(FIGURES)}
    assert document["utilization"] == 0.31


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--url", "http://127.0.0.1:1"], "GET http://127.0.0.1:1/metrics fails"),
        (["--url", "127.0.0.1"], "is no base URL"),
    ],
)
def test_where_nobody_answers_a_line_says_so(arguments: list[str], said: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 1
    assert said in result.output

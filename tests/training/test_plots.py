"""The figures of the model card, redrawn from tables alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the figures need matplotlib: pip install '.[plots]'")

from ops.training.evaluation.plots import DATA, draw_all, read_metrics

METRICS = "minutes,steps,examples,tokens,output_loss,detection_loss,exact,false_positives\n"
BIASES = "eos_bias,exact,tagged,detected,false_positives\n0.0,0.95,0.9,0.97,0.02\n1.0,0.9,0.9,0.95,0.0\n"
EVALUATION = {
    "strictness": 1.0,
    "reasons": {
        "habit": {"recall": 0.5, "precision": 1.0, "num_wanted": 2, "num_mended": 1, "num_made": 1},
        "extra_be": {"recall": 0.0, "precision": 0.0, "num_wanted": 3, "num_mended": 0, "num_made": 0},
        "state_verb": {"recall": 0.0, "precision": 0.0, "num_wanted": 0, "num_mended": 0, "num_made": 1},
    },
}


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_every_figure_is_drawn_from_its_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text(METRICS + "1,100,2000,9,2.0,1.0,,\n2,200,4000,9,1.0,0.5,0.9,0.01\n")
    (tmp_path / "eos_bias.csv").write_text(BIASES)
    (tmp_path / "eos_bias-outside.csv").write_text(BIASES)
    (tmp_path / "evaluation.json").write_text(json.dumps(EVALUATION))

    drawn = draw_all(tmp_path)

    assert names(drawn) == ["learning-curve.png", "reasons.png", "trade-off.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_a_figure_without_its_data_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "eos_bias-outside.csv").write_text(BIASES)

    assert names(draw_all(tmp_path)) == ["trade-off.png"]


def test_the_committed_tables_are_enough_to_draw_the_figures(tmp_path: Path) -> None:
    for path in [*DATA.glob("*.csv"), *DATA.glob("*.json")]:
        (tmp_path / path.name).write_bytes(path.read_bytes())

    assert {"learning-curve.png", "trade-off.png"} <= set(names(draw_all(tmp_path)))


def test_what_a_resumed_run_repeats_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("steps,examples\n100,1\n200,2\n300,3\n200,4\n300,5\n")

    assert [row["examples"] for row in read_metrics(path)] == ["1", "4", "5"]

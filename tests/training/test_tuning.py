"""The bias of <eos> that ships: silent enough on made and on plain right sentences."""

from __future__ import annotations

from ops.training.evaluation.heldout import Score
from ops.training.evaluation.tuning import BIASES, choose_bias


def scores(exact: dict[float, float], false_positives: dict[float, float]) -> list[Score]:
    return [Score(bias, exact.get(bias, 0.9), 0, 0, false_positives.get(bias, 0.0)) for bias in BIASES]


def test_the_smallest_bias_that_is_silent_on_all_is_chosen():
    made = scores({}, dict.fromkeys([0.0, 0.25], 0.02))
    plain = scores({}, dict.fromkeys([0.0, 0.25, 0.5], 0.02))

    silent = scores({}, {})
    assert choose_bias(made, silent, silent) == 0.5
    assert choose_bias(made, plain, silent) == 0.75
    assert choose_bias(made, silent, plain) == 0.5
    assert choose_bias(made, silent, scores({}, dict.fromkeys([0.0, 0.25, 0.5], 0.03))) == 0.75


def test_where_no_bias_is_silent_a_false_alarm_weighs_three_misses():
    made = scores({1.0: 0.95}, dict.fromkeys(BIASES, 0.02))

    assert choose_bias(made, made, made) == 1.0

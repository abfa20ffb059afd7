"""How fast a run learns as it goes on."""

from __future__ import annotations

import pytest

from ops.training.model.progress import FINAL_RATE, WARM_UP_STEPS, Progress
from ops.training.options import TrainOptions


def test_a_run_may_end_before_the_rates_have_come_down():
    options = TrainOptions(corpora=(), num_examples=1000, until=400)

    assert not Progress(examples=399).is_over(options)
    assert Progress(steps=500, examples=400).is_over(options)
    assert Progress(steps=500, examples=400).rate_scale(options) > 0.6
    assert not Progress(examples=999).is_over(TrainOptions(corpora=(), num_examples=1000))


@pytest.mark.parametrize("top_rate", [1.0, 0.3])
def test_the_rates_rise_to_their_top_and_come_down_to_a_small_share_of_it(top_rate):
    options = TrainOptions(corpora=(), num_examples=1000, top_rate=top_rate)

    scales = [Progress(steps, examples).rate_scale(options) for steps, examples in
              [(0, 0), (WARM_UP_STEPS, 0), (WARM_UP_STEPS, 500), (WARM_UP_STEPS, 1000)]]  # fmt: skip

    middle = (1 + FINAL_RATE) / 2
    assert scales == pytest.approx([top_rate / WARM_UP_STEPS, top_rate, top_rate * middle, top_rate * FINAL_RATE])


def test_a_run_is_as_far_as_its_examples_or_its_minutes_whichever_is_further():
    plan = TrainOptions(corpora=(), num_examples=1000, max_minutes=10)

    assert Progress(steps=500, examples=500, elapsed_s=60).share(plan) == 0.5
    assert Progress(steps=500, examples=100, elapsed_s=480).share(plan) == 0.8
    assert Progress(steps=500, examples=2000).share(plan) == 1.0

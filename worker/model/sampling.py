"""From logits to tokens. Greedy: the same sentence always gets the same answer."""

from __future__ import annotations

import numpy as np

from scheduler.messages import EOS_ID


def greedy(logits: np.ndarray, num_first: int, eos_bias: float) -> list[int]:
    """Most likely token of each row of `logits` (R, V); the first `num_first` rows are first output steps.

    There `eos_bias` is added to <eos>, in place: the model must be that much surer of an error than of none.
    Later steps are free, so that an edit once begun is finished as the model means it.
    """
    logits[:num_first, EOS_ID] += eos_bias
    return logits.argmax(axis=1).tolist()

"""Greedy decoding, and how sure the model is of each edit: the same sentence always gets the same answer.

An edit begins at the first output step or behind the tag of another. There the model chooses between an edit and
<eos>; the difference of the two logits is its certainty. The tag that ends the edit carries it in the upper bits of its
output id, or `WITHDRAWN_ID` takes its place: for an edit less certain than its reason and the sentence's length ask.
No edit begins at a word before the end of the last one: the parser would drop it.
"""

from __future__ import annotations

import numpy as np

from scheduler.messages import CERTAINTY_STEPS_PER_LOGIT, EOS_ID, ID_BITS, MOST_CERTAINTY, WITHDRAWN_ID, X2_ID
from worker.model.weights import ModelConfig

LENGTH_SHARE = ((np.arange(256) - 12) / 8).clip(0.0, 1.0)  # of `long_bias`, by prompt tokens: all of it from 20 on


class GreedyDecoder:
    """Chooses tokens; remembers one number a slot. A few operations an iteration, however many sequences run."""

    def __init__(self, config: ModelConfig, max_slots: int) -> None:
        shifts = {int(tag): shift for tag, shift in config.reason_biases.items()}
        self._first_bias = config.eos_bias + min(shifts.values(), default=0.0)
        self._asked = np.full(config.vocab_size, -np.inf, dtype=np.float32)  # certainty, by tag
        self._asked[list(shifts)] = [config.eos_bias + shift for shift in shifts.values()]
        self._is_tag = self._asked > -np.inf
        self._certainty = np.zeros(max_slots, dtype=np.float32)  # of the edit that is being written
        self._by_length, self._more = LENGTH_SHARE * config.long_bias, np.zeros(max_slots)  # asked besides, by slot
        self._free = np.zeros(max_slots, dtype=np.intp)  # the first place where the slot's next edit may begin

    def next_ids(self, logits: np.ndarray, slots: np.ndarray, last: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Output ids of the next tokens (S,), behind the `last` ones. The first rows end prompts of `lengths` (F,)."""
        num_first = len(lengths)
        begins = self._is_tag[last]
        begins[:num_first] = True
        self._more[slots[:num_first]] = self._by_length[lengths]
        self._free[slots[last == X2_ID]] += 1
        first_steps = begins.nonzero()[0]
        for row in first_steps[num_first:]:
            logits[row, X2_ID + 1 : self._free[slots[row]]] = -np.inf
        no_edit = logits[first_steps, EOS_ID]
        tokens = greedy(logits, num_first, self._first_bias)
        self._free[slots[first_steps]] = tokens[first_steps] + 1
        self._certainty[slots[first_steps]] = logits[first_steps, tokens[first_steps]] - no_edit
        ends = self._is_tag[tokens]
        if not np.count_nonzero(ends):
            return tokens
        certainty = self._certainty[slots]
        is_doubtful = ends & (certainty < self._asked[tokens] + self._more[slots])
        tokens[is_doubtful], ends[is_doubtful] = WITHDRAWN_ID, False
        self._more[slots[ends]] = -np.inf  # the sentence is known to be wrong: the next edit may be the other half
        steps = (certainty[ends] * CERTAINTY_STEPS_PER_LOGIT).clip(1, MOST_CERTAINTY).astype(tokens.dtype)
        tokens[ends] |= steps << ID_BITS
        return tokens


def greedy(logits: np.ndarray, num_first: int, eos_bias: float) -> np.ndarray:
    """Most likely token of each row of `logits` (S, V), the first `num_first` of which are first output steps."""
    # In place; there the model must be so much surer of an error than of none. An edit once begun is finished.
    logits[:num_first, EOS_ID] += eos_bias
    return logits.argmax(axis=1)

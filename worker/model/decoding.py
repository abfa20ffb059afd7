"""Greedy decoding, and how sure the model is of each edit: the same sentence always gets the same answer.

An edit begins at the first output step or behind the tag of another. There the model chooses between an edit and
<eos>; the difference of the two logits is its certainty. The tag that ends the edit carries in the upper bits of its
output id how often edits of its reason and certainty are right, as the weights say. What is too doubtful to be shown is
not decided here. An edit begins at a word of the sentence, behind the last one: the parser would drop any other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scheduler.messages import EOS_ID, EVEN_ODDS, ID_BITS, LOG_ODDS_PER_STEP, MAX_WORDS, MOST_CONFIDENT, X2_ID
from worker.model.weights import ModelConfig

MOST_CERTAINTY = 7.0  # more says no more
NUM_REMEMBERED = 4  # numbers of each slot
_PLACES = X2_ID + 1  # <p0>, the first of MAX_WORDS
LONG_SHARE = ((np.arange(256) - 12) / 8).clip(0.0, 1.0)  # how long a sentence is, by prompt tokens: 0 to 12, 1 from 20


class GreedyDecoder:
    """Chooses tokens; remembers some numbers a slot. A few operations an iteration, however many sequences run."""

    def __init__(self, config: ModelConfig, max_slots: int) -> None:
        tags = [*map(int, config.calibration)]
        self._is_tag = np.zeros(config.vocab_size, dtype=bool)
        self._is_tag[tags] = True
        self._by_tag = np.zeros((config.vocab_size, 2))  # a and b
        self._by_tag[tags] = [*config.calibration.values()] or np.zeros((0, 2))
        self._of_long = np.array(config.long_calibration)
        self.memory = np.zeros((max_slots, NUM_REMEMBERED))  # of a slot: all that goes along with its sequence
        # Views of it, by slot: how certain the edit is that is being written, the share of long by the prompt's length,
        # the first place where the next edit may begin, and the first behind the sentence.
        self._certainty, self._long, self._free, self._end = self.memory.T

    def next_ids(
        self, logits: np.ndarray, slots: np.ndarray, last: np.ndarray, lengths: np.ndarray, num_words: Sequence[int]
    ) -> np.ndarray:
        """Output ids of the next tokens (S,), behind the `last` ones.

        The first rows end prompts of `lengths` (F,) tokens, with `num_words` (F,) words.
        """
        num_first = len(lengths)
        begins = self._is_tag[last]
        begins[:num_first] = True
        self._long[slots[:num_first]] = LONG_SHARE[lengths]
        self._free[slots[last == X2_ID]] += 1
        self._free[slots[:num_first]], self._end[slots[:num_first]] = _PLACES, np.add(num_words, _PLACES)
        first_steps = begins.nonzero()[0]
        for row, (*_, free, end) in zip(first_steps, self.memory[slots[first_steps]].tolist(), strict=True):
            logits[row, _PLACES : int(free)] = -np.inf
            logits[row, int(end) : _PLACES + MAX_WORDS] = -np.inf
        logits[last + 1 == self._end[slots], X2_ID] = -np.inf  # the last word is one
        tokens = logits.argmax(axis=1)
        self._free[slots[first_steps]] = tokens[first_steps] + 1
        self._certainty[slots[first_steps]] = logits[first_steps, tokens[first_steps]] - logits[first_steps, EOS_ID]
        ends = self._is_tag[tokens]
        if np.count_nonzero(ends):
            tokens[ends] |= self._steps(tokens[ends], slots[ends]) << ID_BITS
        return tokens

    def _steps(self, tags: np.ndarray, slots: np.ndarray) -> np.ndarray:
        constant, slope = (self._by_tag[tags] + self._long[slots, None] * self._of_long).T
        log_odds = constant + slope * self._certainty[slots].clip(max=MOST_CERTAINTY)
        return (log_odds / LOG_ODDS_PER_STEP + EVEN_ODDS).round().clip(1, MOST_CONFIDENT).astype(tags.dtype)

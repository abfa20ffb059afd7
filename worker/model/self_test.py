"""Does a sequence get the same answer in every batch? Checked with the loaded weights at start-up.

A few fixed prompts run alone and then in batches of several sizes: at every place of the batch, with longer ones that
widen the contexts, in scattered rows of the cache, and decoding while others are prefilled. Every logit is compared.
The answer depends on the matrix kernels that BLAS chose for this CPU; it is logged, and GET /readyz shows it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from worker.model.attention import context_width
from worker.model.decoding import greedy
from worker.model.forward import MiniGPT, PackedBatch
from worker.model.known_machines import machine_key, recall, remember
from worker.model.weights import Weights

BATCH_SIZES = (1, 2, 3, 4, 8, 33)  # around what kernels work in, and past the 30 rows that `multiply` takes at once
PROMPT_LENGTHS = (5, 9, 14, 23)
NUM_OUTPUT_TOKENS = 3
_LONG_LENGTHS = (75, 130)  # neighbours that widen everybody's context, past 128 positions while they decode
_ARENA_TOKENS = 2048
logger = logging.getLogger(__name__)


class BatchInvariance(StrEnum):
    """The members go from best to worst. The values are what GET /readyz shows."""

    BIT_IDENTICAL = "bit-identical"
    SAME_TOKENS = "same-tokens"  # the last bits differ: another token only where two are as good as equal
    TOKENS_DIFFER = "tokens-differ"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]

    @property
    def remedy(self) -> str:
        """What to do; empty: nothing."""
        return _REMEDY if self is BatchInvariance.TOKENS_DIFFER else ""


_MEANINGS = {
    BatchInvariance.BIT_IDENTICAL: "a sentence has the same bits alone and in a batch",
    BatchInvariance.SAME_TOKENS: "a sentence has the same tokens alone and in a batch; the last bits may differ",
    BatchInvariance.TOKENS_DIFFER: "a sentence may have another answer in a batch than alone",
}
_REMEDY = (
    "start the workers with OPENBLAS_CORETYPE=SkylakeX, Haswell or Nehalem, or update NumPy "
    "(docs/operations.md#tokens-differ)"
)


def run_self_test(weights: Weights) -> str:
    """Run the test, if it was not run on this machine before, and log what it found."""
    key = machine_key(weights.digest)
    known = recall(key)
    found = BatchInvariance(known) if known in [*BatchInvariance] else check_batch_invariance(weights)
    if key:
        remember(key, found)
    log = logger.error if found is BatchInvariance.TOKENS_DIFFER else logger.info
    about = {"batch_invariance": found.value} | ({"remedy": found.remedy} if found.remedy else {})
    log(f"self-test: {found.meaning}", extra={**about})
    return found.value


def check_batch_invariance(weights: Weights) -> BatchInvariance:
    """Run the test, in a cache of its own, and return the worst of it; 70 ms of a core for the shipped weights."""
    model, rng = MiniGPT(weights, _ARENA_TOKENS), np.random.default_rng(1)
    prompts = _prompts(weights)
    expected, found = [_run(model, rng, [prompt])[0] for prompt in prompts], []
    for order in [_order(size, len(prompts)) for size in BATCH_SIZES]:
        logits = _run(model, rng, [prompts[which] for which in order])
        found.append(_compare(logits, [expected[which] for which in order], weights.config.eos_bias))
    return max(found, key=list(BatchInvariance).index)


def _prompts(weights: Weights) -> list[np.ndarray]:
    """Fixed ids, of no meaning: first the short ones, then the long."""
    rng = np.random.default_rng(0)
    room = weights.config.num_positions - NUM_OUTPUT_TOKENS
    lengths = [min(length, room) for length in (*PROMPT_LENGTHS, *_LONG_LENGTHS)]
    return [rng.integers(2, weights.config.vocab_size, length) for length in lengths]


def _order(size: int, num_prompts: int) -> list[int]:
    """A batch of this size: the short prompts in turn, and in the largest the long ones last, for they are dear."""
    order = [place % len(PROMPT_LENGTHS) for place in range(size)]
    if size == max(BATCH_SIZES):
        order[-len(_LONG_LENGTHS) :] = range(len(PROMPT_LENGTHS), num_prompts)
    return order


def _compare(found: list[np.ndarray], expected: list[np.ndarray], eos_bias: float) -> BatchInvariance:
    """Return all logits of each sequence. Its tokens are the chosen ones, the first of them under the bias."""
    if all(map(np.array_equal, found, expected)):
        return BatchInvariance.BIT_IDENTICAL
    found_tokens, expected_tokens = (
        [greedy(logits.copy(), 1, eos_bias).tolist() for logits in sequences] for sequences in (found, expected)
    )
    return BatchInvariance.SAME_TOKENS if found_tokens == expected_tokens else BatchInvariance.TOKENS_DIFFER


def _run(model: MiniGPT, rng: np.random.Generator, prompts: list[np.ndarray]) -> list[np.ndarray]:
    """Of each prompt the logits of all its steps (NUM_OUTPUT_TOKENS, V).

    They run together, half of them one iteration behind the others, in scattered rows of the cache.
    """
    scattered = rng.permutation(_ARENA_TOKENS)
    room = context_width(model.config.num_positions)
    sequences = []
    for prompt in prompts:
        needed = len(prompt) + NUM_OUTPUT_TOKENS
        rows, scattered = scattered[:needed], scattered[needed:]
        sequences.append(_Sequence(prompt, np.pad(rows, (0, room - needed), mode="edge"), []))
    for iteration in range(NUM_OUTPUT_TOKENS + 1):
        early = sequences[::2] if iteration < NUM_OUTPUT_TOKENS else []
        late = sequences[1::2] if iteration > 0 else []
        if batch := sorted(early + late, key=lambda sequence: len(sequence.logits) > 0):  # prompts come first
            for sequence, row in zip(batch, model.forward(_pack(batch)), strict=True):
                sequence.logits.append(row)
    return [np.stack(sequence.logits) for sequence in sequences]


@dataclass(slots=True)
class _Sequence:
    prompt: np.ndarray
    rows: np.ndarray  # of the cache, one for each position
    logits: list[np.ndarray]  # of the steps so far

    @property
    def fed(self) -> np.ndarray:
        """The prompt, then one token after the other: any will do that are the same in every batch."""
        done = len(self.logits)
        return self.prompt[done : done + 1] if done else self.prompt

    @property
    def positions(self) -> np.ndarray:
        """Return the positions of the tokens that are fed."""
        return np.arange(len(self.prompt) + len(self.logits))[-len(self.fed) :]


def _pack(batch: list[_Sequence]) -> PackedBatch:
    positions = [sequence.positions for sequence in batch]
    lengths = np.array([each[-1] + 1 for each in positions])
    width = context_width(int(lengths.max()))
    return PackedBatch(
        token_ids=np.concatenate([sequence.fed for sequence in batch]),
        positions=np.concatenate(positions),
        word_numbers=np.zeros(sum(map(len, positions)), dtype=np.intp),
        kv_rows=np.concatenate([sequence.rows[each] for sequence, each in zip(batch, positions, strict=True)]),
        prompt_lengths=lengths[: sum(not sequence.logits for sequence in batch)],
        context_rows=np.array([sequence.rows[:width] for sequence in batch]),
        context_lengths=lengths,
    )

"""Does a sequence get the same answer in every batch, with the matrix kernels of this machine?

An engine runs a few fixed prompts alone and then in batches of several sizes: at every place of the batch, with longer
ones that widen the contexts, in scattered rows of the cache, and decoding while others are prefilled. Every logit is
compared. The answer depends on the kernels that BLAS chose for this CPU; `miniserve doctor` shows it.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import CorrectionRequest, Delivery
from worker.engine import Engine
from worker.model.decoding import GreedyDecoder, greedy
from worker.model.forward import MiniGPT
from worker.model.weights import Weights

BATCH_SIZES = (1, 2, 3, 4, 8, 33)  # around what kernels work in, and past the 30 rows that `multiply` takes at once
PROMPT_LENGTHS = (5, 9, 14, 23)
NUM_OUTPUT_TOKENS = 3
_LONG_LENGTHS = (75, 130)  # neighbours that widen everybody's context, past 128 positions while they decode
_ARENA_TOKENS = 2048
_ANY_ID = 2  # that every sequence goes on with: no <eos>


class BatchInvariance(StrEnum):
    """The members go from best to worst."""

    BIT_IDENTICAL = "bit-identical: a sentence has the same bits alone and in a batch"
    SAME_TOKENS = "same-tokens: a sentence has the same tokens alone and in a batch; the last bits may differ"
    TOKENS_DIFFER = "tokens-differ: a sentence may have another answer in a batch than alone"


REMEDY = (  # for the worst
    "start the workers with OPENBLAS_CORETYPE=SkylakeX, Haswell or Nehalem, or update NumPy "
    "(docs/operations.md#tokens-differ)"
)


def check_batch_invariance(weights: Weights) -> BatchInvariance:
    """Run the test, in a cache of its own, and return the worst of it; 70 ms of a core for the shipped weights."""
    engine, prompts = _RecordingEngine(weights), _prompts(weights)
    expected, found = [engine.run([prompt])[0] for prompt in prompts], []
    for order in [_order(size, len(prompts)) for size in BATCH_SIZES]:
        logits = engine.run([prompts[which] for which in order])
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


class _Recorder(GreedyDecoder):
    """Keeps the logits of each slot, and lets every sequence go on."""

    logits: list[list[np.ndarray]]

    def next_ids(self, logits: np.ndarray, slots: np.ndarray, last: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        for slot, row in zip(slots, logits, strict=True):
            self.logits[slot].append(row)
        return np.full(len(slots), _ANY_ID)


class _RecordingEngine(Engine):
    def __init__(self, weights: Weights) -> None:
        limits = BatchLimits(_ARENA_TOKENS, max(BATCH_SIZES), _ARENA_TOKENS)
        super().__init__(MiniGPT(weights, _ARENA_TOKENS), ContinuousBatching(limits), lambda: 0.0)
        self._decoder = self._recorder = _Recorder(self.model.config, limits.max_slots)
        self._rng = np.random.default_rng(1)

    def run(self, prompts: list[np.ndarray]) -> list[np.ndarray]:
        """Return of each prompt the logits of all its steps (NUM_OUTPUT_TOKENS, V).

        They run together, half of them one iteration behind the others, in scattered rows of the cache.
        """
        arena = self.model.arena
        arena.free(self._rng.permutation(arena.allocate(_ARENA_TOKENS)))
        self._recorder.logits = [[] for _ in prompts]
        deliveries = [self._delivery(str(number), prompt) for number, prompt in enumerate(prompts)]
        for group in (deliveries[::2], deliveries[1::2]):
            for delivery in group:
                self.accept(delivery)
            self.step()
        while self.policy.has_work:
            self.step()
        return [np.stack(self._recorder.logits[delivery.slot]) for delivery in deliveries]

    def _delivery(self, name: str, prompt: np.ndarray) -> Delivery:
        ids = tuple(prompt.tolist())
        fingerprint = self.model.weights.tokenizer_fingerprint
        request = CorrectionRequest(name, ids, (0,) * len(ids), NUM_OUTPUT_TOKENS, fingerprint)
        return Delivery(request, attempt=1, waited_s=0.0)

"""The engine: what the scheduler plans, the model computes. One `step` is one iteration.

It keeps, per slot, where the sequence's tokens lie in the KV arena, so that a decode batch is assembled by array
indexing and not by loops. It knows no queue and no text; the actor feeds it and publishes what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from scheduler.batching import BatchingPolicy, RunningSequence, StepPlan
from scheduler.messages import EOS_ID, Completion, CorrectionRequest, Delivery, FinishReason
from scheduler.modes import policy_for
from scheduler.observations import Observations
from scheduler.settings import Settings
from worker.model import CONTEXT_STEP, MiniGPT, PackedBatch
from worker.sampling import greedy
from worker.tracing import Tracer
from worker.weights import Weights, load_weights


class Engine:
    """A batching policy joined to a model. Not thread-safe: one actor owns it."""

    def __init__(self, model: MiniGPT, policy: BatchingPolicy, clock: Callable[[], float]) -> None:
        limits, num_positions = policy.limits, model.config.num_positions
        self.model = model
        self.policy = policy
        self.tracer: Tracer | None = None  # who hears of every sequence that ends
        self._clock = clock
        self._token_rows = np.zeros((limits.max_slots, num_positions), dtype=np.intp)  # arena row of each position
        self._num_cached = np.zeros(limits.max_slots, dtype=np.intp)  # tokens whose keys and values are in the arena
        self._last_token = np.zeros(limits.max_slots, dtype=np.intp)

    @property
    def has_work(self) -> bool:
        return self.policy.has_work

    def due_in_s(self) -> float | None:
        """How long until `step` is to be called: 0 at once, None while nothing is held."""
        return self.policy.due_in_s(self._clock())

    def accept(self, delivery: Delivery) -> Completion | None:
        """Queue a request for admission. One that this model cannot run is answered at once, with an error."""
        fault = self._fault(delivery.request)
        if fault is not None:
            return Completion(delivery.request.request_id, FinishReason.ERROR, error=fault)
        if not self.policy.holds(delivery.request.request_id):  # a second delivery of what is here changes nothing
            self.policy.submit(delivery, self._clock())
        return None

    def cancel(self, request_id: str, reason: FinishReason = FinishReason.CANCELLED) -> Completion | None:
        """Drop a request wherever it is; None if it is not here (any more)."""
        if not self.policy.holds(request_id):
            return None
        sequence = self.policy.cancel(request_id)
        if sequence is not None:
            self._leave(sequence, reason, self._clock())
        return Completion(request_id, reason)

    def step(self) -> list[Completion]:
        """One iteration: drop who is late, admit, one forward pass, a token for everyone, retire. Returns who ended."""
        now = self._clock()
        late = [self.cancel(request_id, FinishReason.EXPIRED) for request_id in self.policy.late_ids(now)]
        if late and self.policy.due_in_s(now) != 0.0:
            return late
        plan = self.policy.plan(now)
        for sequence in plan.prefills:
            self._place(sequence)
        logits = self.model.forward(self._pack(plan))
        tokens = greedy(logits, len(plan.prefills), self.model.config.eos_bias)
        self._remember(plan, tokens)
        now = self._clock()
        finished = self.policy.commit(plan, tokens, now)
        for sequence, completion in finished:
            self._leave(sequence, completion.finish_reason, now)
        return late + [completion for _, completion in finished]

    def drop_all(self) -> None:
        """Forget everything held: after an exception in `step` the arrays cannot be trusted."""
        for request_id in self.policy.held_ids():
            self.policy.cancel(request_id)
        self.model.arena.free_all()  # also of sequences that were admitted and never placed

    def _fault(self, request: CorrectionRequest) -> str | None:
        config = self.model.config
        if request.tokenizer_fingerprint != self.model.weights.tokenizer_fingerprint:
            return (
                f"the request was tokenized with {request.tokenizer_fingerprint}, this worker's weights belong to "
                f"{self.model.weights.tokenizer_fingerprint}; run API and worker of one version"
            )
        room = min(config.num_positions, self.policy.limits.kv_budget_tokens)
        if not request.prompt_ids or request.max_output_tokens < 1 or request.reserved_tokens > room:
            return f"the request reserves {request.reserved_tokens} tokens; this worker takes 2 to {room}"
        if len(request.word_numbers) != len(request.prompt_ids):
            return "the request has not one word number per token"
        if min(request.prompt_ids) < 0 or max(request.prompt_ids) >= config.vocab_size:
            return f"a token id is outside 0..{config.vocab_size - 1}"
        if min(request.word_numbers) < 0 or max(request.word_numbers) >= config.num_word_rows:
            return f"a word number is outside 0..{config.num_word_rows - 1}"
        return None

    def _place(self, sequence: RunningSequence) -> None:
        self._token_rows[sequence.slot, : sequence.reserved_tokens] = self.model.arena.allocate(
            sequence.reserved_tokens
        )
        self._num_cached[sequence.slot] = 0

    def _leave(self, sequence: RunningSequence, reason: FinishReason, now: float) -> None:
        self.model.arena.free(self._token_rows[sequence.slot, : sequence.reserved_tokens])
        if self.tracer is not None:
            self.tracer.note_end(sequence, reason, now)

    def _pack(self, plan: StepPlan) -> PackedBatch:
        requests = [sequence.delivery.request for sequence in plan.prefills]
        slots = np.array([sequence.slot for sequence in plan.decodes], dtype=np.intp)
        cached = self._num_cached[slots]  # (B,): also the position of the token fed now
        lengths = np.array([len(request.prompt_ids) for request in requests], dtype=np.intp)
        prompt_rows = [
            self._token_rows[s.slot, :length] for s, length in zip(plan.prefills, lengths.tolist(), strict=True)
        ]
        width = -(-(cached.max(initial=0) + 1) // CONTEXT_STEP) * CONTEXT_STEP
        return PackedBatch(
            token_ids=_joined([request.prompt_ids for request in requests], self._last_token[slots]),
            positions=_joined([np.arange(length) for length in lengths], cached),
            word_numbers=_joined([request.word_numbers for request in requests], np.zeros_like(slots)),
            kv_rows=_joined(prompt_rows, self._token_rows[slots, cached]),
            prompt_lengths=lengths,
            context_rows=self._token_rows[slots, :width],
            context_lengths=cached + 1,
        )

    def _remember(self, plan: StepPlan, tokens: list[int]) -> None:
        """Feed each new token in the next iteration, behind what this one cached."""
        slots = [sequence.slot for sequence in plan]
        self._last_token[slots] = tokens
        self._num_cached[slots] += [len(s.delivery.request.prompt_ids) for s in plan.prefills] + [1] * len(plan.decodes)


def load_engine(settings: Settings, tokenizer_fingerprint: str, clock: Callable[[], float]) -> Engine:
    """The shipped weights under these settings, in their mode. Raises WeightsError if they do not fit the tokenizer."""
    return new_engine(load_weights_as_served(settings, tokenizer_fingerprint), settings, clock)


def load_weights_as_served(settings: Settings, tokenizer_fingerprint: str) -> Weights:
    """The shipped weights at the strictness that is set. Raises WeightsError if they do not fit the tokenizer."""
    weights = load_weights(tokenizer_fingerprint=tokenizer_fingerprint)
    return weights if settings.strictness is None else weights.with_eos_bias(settings.strictness)


def new_engine(weights: Weights, settings: Settings, clock: Callable[[], float]) -> Engine:
    """A warm engine for the mode that is set; several may share the weights."""
    policy = policy_for(settings)
    engine = Engine(MiniGPT(weights, policy.limits.kv_budget_tokens), policy, clock)
    _warm_up(engine)
    return engine


def _warm_up(engine: Engine) -> None:
    """One made-up request, so that the first real one does not pay for first-time memory and BLAS set-up."""
    prompt = (EOS_ID,) * 16
    request = CorrectionRequest("warm-up", prompt, (0,) * 16, 4, engine.model.weights.tokenizer_fingerprint)
    engine.accept(Delivery(request, attempt=1, waited_s=math.inf))  # so long that no policy waits for company
    while engine.has_work:
        engine.step()
    engine.policy.observations = Observations()


def _joined(parts: list, last: np.ndarray) -> np.ndarray:
    return np.concatenate([*parts, last]).astype(np.intp, copy=False)

"""The engine: what the scheduler plans, the model computes. One `step` is one iteration.

It keeps, per slot, where the sequence's tokens lie in the KV arena, so that a decode batch is assembled by array
indexing and not by loops. It knows no queue and no text; the actor feeds it and publishes what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from time import thread_time

import numpy as np

from scheduler.batching import BatchLimits, ContinuousBatching, StepPlan
from scheduler.messages import (
    EOS_ID,
    ID_MASK,
    MAX_TOTAL_TOKENS,
    Completion,
    CorrectionRequest,
    Delivery,
    FinishReason,
    Progress,
)
from scheduler.observations import Observations
from scheduler.settings import Settings
from worker.model.attention import context_width
from worker.model.decoding import GreedyDecoder
from worker.model.forward import MiniGPT, PackedBatch
from worker.model.weights import Weights, load_weights

WARM_UP_PROMPTS, WARM_UP_TOKENS = 8, 16  # each
_WARM_UPS = 3


class Engine:
    """A batching policy joined to a model. Not thread-safe: one actor owns it."""

    def __init__(self, model: MiniGPT, policy: ContinuousBatching, clock: Callable[[], float]) -> None:
        limits, num_positions = policy.limits, model.config.num_positions
        self.model = model
        self.policy = policy
        self.observations = Observations()
        self._clock = clock
        self._token_rows = np.zeros((limits.max_slots, context_width(num_positions)), dtype=np.intp)  # by position
        self._num_tokens = np.zeros(limits.max_slots, dtype=np.intp)  # cached at the end of the next iteration
        self._positions = np.arange(context_width(num_positions))
        self._last_token = np.zeros(limits.max_slots, dtype=np.intp)
        self._decoder = GreedyDecoder(model.config, limits.max_slots)

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
        if sequence is None:
            return Completion(request_id, reason)
        self._free(sequence)
        return self.observations.completion(sequence, reason, self._clock())

    def progress(self) -> list[Progress]:
        """What the running sequences have written, of those that somebody follows."""
        followed = (sequence for sequence in self.policy.running.values() if sequence.streams)
        return [Progress(each.request_id, tuple(each.output_ids)) for each in followed if each.output_ids]

    def step(self) -> list[Completion]:
        """One iteration: drop the late, admit, one forward pass, a token for each, retire. Returns what ended."""
        planned_s = self._clock()
        ended = [self.cancel(request_id, FinishReason.EXPIRED) for request_id in self.policy.late_ids(planned_s)]
        late = [completion for completion in ended if completion is not None]
        if late and self.policy.due_in_s(planned_s) != 0.0:
            return late
        plan = self._placed(self.policy.plan(planned_s))
        slots = np.array([sequence.slot for sequence in plan], dtype=np.intp)
        logits = self.model.forward(self._pack(plan, slots))
        lengths = self._num_tokens[slots[: len(plan.prefills)]]
        num_words = [max(sequence.request.word_numbers) for sequence in plan.prefills]
        output_ids = self._decoder.next_ids(logits, slots, self._last_token[slots], lengths, num_words)
        self._last_token[slots] = output_ids & ID_MASK  # what the next iteration feeds, behind what this one cached
        self._num_tokens[slots] += 1
        now = self._clock()
        finished = self.policy.commit(plan, output_ids.tolist(), now)
        self.observations.note_iteration(plan, self.policy, planned_s, now)
        for sequence, _ in finished:
            self._free(sequence)
        return late + [self.observations.completion(sequence, reason, now) for sequence, reason in finished]

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

    def _place(self, sequence: Delivery) -> None:
        rows = self.model.arena.allocate(sequence.reserved_tokens)
        self._token_rows[sequence.slot, : len(rows)] = rows
        self._num_tokens[sequence.slot] = len(sequence.request.prompt_ids)

    def _free(self, sequence: Delivery) -> None:
        self.model.arena.free(self._token_rows[sequence.slot, : sequence.reserved_tokens])

    def _placed(self, plan: StepPlan) -> StepPlan:
        """With room for the new ones. Sorted: attention takes neighbours of one length together."""
        for sequence in plan.prefills:
            self._place(sequence)
        if len(plan.prefills) < 2 and len(plan.decodes) < 2:
            return plan
        lengths = self._num_tokens.tolist()
        prefills, decodes = (
            sorted(some, key=lambda each: lengths[each.slot]) for some in (plan.prefills, plan.decodes)
        )
        return StepPlan(tuple(prefills), tuple(decodes), plan.deferred_id)

    def _pack(self, plan: StepPlan, slots: np.ndarray) -> PackedBatch:
        num_prompts, lengths = len(plan.prefills), self._num_tokens[slots]
        context_rows = self._token_rows[slots, : context_width(int(np.maximum.reduce(lengths)))]
        decoding, last = slots[num_prompts:], lengths[num_prompts:] - 1
        rows = [self._last_token[decoding], last, np.zeros(len(last), dtype=np.intp), self._token_rows[decoding, last]]
        prompt_lengths = lengths[:num_prompts]
        if num_prompts:
            requests = [sequence.request for sequence in plan.prefills]
            tokens = list(chain.from_iterable(request.prompt_ids for request in requests))
            words = list(chain.from_iterable(request.word_numbers for request in requests))
            is_prompt = self._positions[: context_rows.shape[1]] < prompt_lengths[:, None]  # (P, T)
            prompts = tokens, is_prompt.nonzero()[1], words, context_rows[:num_prompts][is_prompt]
            rows = [np.concatenate(both) for both in zip(prompts, rows, strict=True)]
        token_ids, positions, word_numbers, kv_rows = rows
        return PackedBatch(token_ids, positions, word_numbers, kv_rows, prompt_lengths, context_rows, lengths)


def load_engine(settings: Settings, tokenizer_fingerprint: str, clock: Callable[[], float]) -> Engine:
    """The shipped weights under these settings, in their mode. Raises WeightsError if they do not fit the tokenizer."""
    return new_engine(load_weights(tokenizer_fingerprint=tokenizer_fingerprint), settings, clock)


def new_engine(weights: Weights, settings: Settings, clock: Callable[[], float]) -> Engine:
    """A warm engine for the mode that is set; several may share the weights."""
    policy = policy_for(settings)
    engine = Engine(MiniGPT(weights, policy.limits.kv_budget_tokens), policy, clock)
    policy.limits = policy_for(settings, _prompt_rows_per_s(engine)).limits
    return engine


def policy_for(settings: Settings, rows_per_s: float = math.inf) -> ContinuousBatching:
    """How the engine of this mode forms its batches, on a machine that reads so many prompt tokens per second."""
    if not settings.uses_queue:
        return ContinuousBatching(BatchLimits(MAX_TOTAL_TOKENS, max_slots=1, max_iteration_tokens=MAX_TOTAL_TOKENS))
    limits = BatchLimits(settings.kv_budget_tokens, settings.max_slots, settings.max_iteration_tokens)
    if settings.mode == "static":
        from scheduler.static import StaticBatching  # seldom needed

        return StaticBatching(limits, settings.max_batch, settings.max_wait_ms / 1e3, settings.fixed_tokens)
    most_rows = min(settings.max_iteration_tokens, settings.max_stall_ms / 1e3 * rows_per_s)
    return ContinuousBatching(replace(limits, max_prefill_rows=int(most_rows)))


def _prompt_rows_per_s(engine: Engine) -> float:
    """In CPU time, by the quickest of a few batches. The first real request then finds memory and BLAS set up, too."""
    number, prompt = min(WARM_UP_PROMPTS, engine.policy.limits.max_slots), (EOS_ID,) * WARM_UP_TOKENS
    about = prompt, (0,) * len(prompt), 2, engine.model.weights.tokenizer_fingerprint
    seconds = math.inf
    for _ in range(_WARM_UPS):
        for each in range(number):  # they have waited so long that no policy waits for company
            engine.accept(Delivery(CorrectionRequest(f"warm-up {each}", *about), attempt=1, waited_s=math.inf))
        begun_s = thread_time()
        engine.step()
        seconds = min(seconds, thread_time() - begun_s)
        while engine.policy.has_work:
            engine.step()
    engine.observations = Observations()
    return number * len(prompt) / max(seconds, 1e-6)

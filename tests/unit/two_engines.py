"""Engines of both pools in one process, and what goes from one to the other."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.messages import Completion, CorrectionRequest, Delivery
from tests.unit.small_model import an_engine, random_weights
from worker.engine import Engine
from worker.model.forward import MiniGPT
from worker.pools.decode import DecodeEngine
from worker.pools.prefill import PrefillEngine, ReadPrompt


def plain(seed: int = 0) -> Engine:
    return an_engine(model=MiniGPT(random_weights(seed), 2048))


def prefill(clock: Callable[[], float] = lambda: 0.0) -> PrefillEngine:
    return PrefillEngine(plain(), clock)


def decode(clock: Callable[[], float] = lambda: 0.0, seed: int = 0) -> DecodeEngine:
    return DecodeEngine(plain(seed), clock)


def read(requests: list[CorrectionRequest], reader: PrefillEngine) -> tuple[dict[str, Completion], list[ReadPrompt]]:
    """What the first tokens ended, and what was read of the others."""
    for one in requests:
        assert reader.accept(Delivery(one, 1, 0.0)) is None
    ended: list[Completion] = []
    prompts: list[ReadPrompt] = []
    while reader.due_in_s() == 0.0:
        ended += reader.step()
        prompts += reader.progress()
    return {one.request_id: one for one in ended}, prompts


def handed_over(requests: list[CorrectionRequest], prompts: list[ReadPrompt]) -> list[Delivery]:
    by_id = {one.request_id: one for one in requests}
    return [Delivery(by_id[one.request_id], 1, 0.0, handed=one.handoff) for one in prompts]

"""The workers of the drills: the one that ships, made slow, or made to die of one sentence.

`python -m ops.drills.workers slow LAYERS WIDTH`: with a large random model. It writes the longest output there is for
every sentence, and what it writes makes no edit; the work is the same for each, and so is the answer to the same
sentence. `python -m ops.drills.workers poisoned`: the process dies, as if by a fault in a library, whenever it computes
`POISON`. Settings come from the environment.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np

from api.grammar.pipeline import TextPipeline
from api.grammar.tokenizer import Tokenizer
from ops.load import prompts
from ops.run.faults import broken, fault_of
from scheduler.batching import StepPlan
from scheduler.messages import MAX_OUTPUT_TOKENS, CorrectionRequest, Delivery
from scheduler.settings import Settings
from worker import process
from worker.engine import Engine, new_engine
from worker.model.weights import ModelConfig, Weights, expected_shapes, fold, load_weights
from worker.queue.worker_end import WorkerMailbox

POISON = "The poison goed into the river."
_HEADS = 8
_SPREAD = 0.05
_TRIAL_LAYERS = 4
_COMMAND = (sys.executable, "-m", "ops.drills.workers")
POISONED = (*_COMMAND, "poisoned")


@dataclass(frozen=True, slots=True)
class SlowShape:
    """What the rate is set by."""

    num_layers: int
    width: int = 256

    @property
    def command(self) -> tuple[str, ...]:
        """What starts such a worker."""
        return (*_COMMAND, "slow", str(self.num_layers), str(self.width))


def random_engine(shape: SlowShape, settings: Settings) -> Engine:
    """Warm; made for the tokenizer that ships."""
    return new_engine(_random_weights(shape), settings, monotonic)


def _random_weights(shape: SlowShape) -> Weights:
    shipped = load_weights()
    config: ModelConfig = replace(
        shipped.config, num_layers=shape.num_layers, width=shape.width, num_heads=_HEADS, eos_bias=0.0
    )
    rng = np.random.default_rng(0)
    tensors = {
        name: (("norm" in name) + _SPREAD * rng.standard_normal(size)).astype(np.float32)
        for name, size in expected_shapes(config).items()
    }
    return fold(tensors, config, shipped.tokenizer_fingerprint)


def calibrate(per_s: float, settings: Settings) -> SlowShape:
    """The number of layers at which this machine, now, does about so many corrections a second in full batches."""
    engine = random_engine(SlowShape(_TRIAL_LAYERS), settings)
    pipeline = TextPipeline.load()
    num_requests = 2 * settings.kv_budget_tokens // MAX_OUTPUT_TOKENS
    for number, sentence in enumerate(prompts.load(None, 0)[:num_requests]):
        prompt = pipeline.prepare(sentence).prompt
        request = CorrectionRequest(
            f"trial-{number}", prompt.token_ids, prompt.word_numbers, MAX_OUTPUT_TOKENS, pipeline.tokenizer_fingerprint
        )
        engine.accept(Delivery(request, attempt=1, waited_s=0.0))
    started_s, num_done = monotonic(), 0
    while engine.policy.has_work:
        num_done += len(engine.step())
    layer_s = (monotonic() - started_s) / num_done / _TRIAL_LAYERS
    return SlowShape(max(1, round(1 / per_s / layer_s)))


def poisoned(engine: Engine) -> tuple[Engine, type[WorkerMailbox]]:
    """Dies between the plan and the forward pass."""
    plan_next, poison_ids = engine.policy.plan, Tokenizer.load().encode(POISON).token_ids

    def plan(now: float) -> StepPlan:
        planned = plan_next(now)
        if any(tuple(sequence.request.prompt_ids) == poison_ids for sequence in planned):
            os.kill(os.getpid(), signal.SIGKILL)
        return planned

    vars(engine.policy)["plan"] = plan
    return engine, WorkerMailbox


def _serve(kind: str, *shape: str) -> None:
    settings = broken(Settings.from_env(os.environ))

    def slow(_: Engine) -> tuple[Engine, type[WorkerMailbox]]:
        return fault_of(settings).worker(random_engine(SlowShape(*map(int, shape)), settings))

    process.serve(settings, Tokenizer.load().fingerprint, slow if kind == "slow" else poisoned)


if __name__ == "__main__":
    _serve(*sys.argv[1:])

"""Several processes make one step as one process would that saw all their batches."""

from __future__ import annotations

import math
import os
import signal
from dataclasses import replace
from typing import NoReturn

import pytest
import torch

from ops.training.model.batches import Batch, Encoded, collate
from ops.training.model.golden import CONFIG
from ops.training.model.gradients import BatchLosses
from ops.training.model.trainer import Trainer
from ops.training.model.twin import Layer, Twin
from ops.training.options import TrainOptions


def batch_of(*tokens: int) -> Batch:
    return collate([Encoded((token, 5, 9, 2), (1, 2, 3, 0), (60, token, 1), (0, 1, 0, 0)) for token in tokens])


def trainer_of(num_processes: int) -> Trainer:
    options = TrainOptions((), device="cpu", num_processes=num_processes, num_examples=1000)
    trainer = Trainer(options, replace(CONFIG, num_layers=1))
    trainer.precision = torch.float32
    trainer.start_processes()
    return trainer


def test_two_processes_learn_what_one_learns_from_both_batches():
    alone, both = trainer_of(1), trainer_of(2)
    try:
        for _ in range(3):
            alone.step([batch_of(70, 80)])
            means = both.step([batch_of(70), batch_of(80)])
    finally:
        both.close()

    for one, other in zip(alone.twin.parameters(), both.twin.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
    assert both.progress == alone.progress
    assert all(mean > 0 for mean in means)


def test_a_batch_of_one_row_is_computed_without_the_compiler():
    def backend(graph: torch.fx.GraphModule, inputs: object) -> NoReturn:
        raise RuntimeError("compiled")

    twin = Twin(replace(CONFIG, num_layers=1))
    losses = BatchLosses(twin, "cpu", torch.float32, compiles=False)
    twin.layers[0].compile(backend=backend)

    assert all(map(math.isfinite, losses.backward(batch_of(70))))
    with pytest.raises(Exception, match="compiled"):
        losses.backward(batch_of(70, 80))


def test_each_layer_is_compiled_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six layers compiled as one gave NaN for every batch."""
    compiled = []
    monkeypatch.setattr(Layer, "compile", lambda self, **options: compiled.append(self))
    twin = Twin(CONFIG)

    BatchLosses(twin, "cpu", torch.float32, compiles=True)

    assert compiled == [*twin.layers]


def test_a_helper_that_dies_is_told_and_not_waited_for():
    trainer = trainer_of(2)
    try:
        trainer.step([batch_of(70), batch_of(80)])
        [process] = trainer._helpers._processes
        os.kill(process.pid, signal.SIGKILL)
        process.join()

        with pytest.raises(RuntimeError, match="has ended"):
            trainer.step([batch_of(70), batch_of(80)])
    finally:
        trainer.close()


def test_a_helper_that_dies_before_it_reads_its_batch_is_told_too():
    trainer = trainer_of(2)
    try:
        [process] = trainer._helpers._processes
        os.kill(process.pid, signal.SIGSTOP)
        trainer._helpers.start([batch_of(70)])
        os.kill(process.pid, signal.SIGKILL)
        process.join()

        with pytest.raises(RuntimeError, match="has ended"):
            trainer._helpers.finish()
    finally:
        trainer.close()


def test_several_processes_are_refused_on_a_gpu():
    trainer = Trainer(TrainOptions((), device="cpu", num_processes=2), CONFIG)
    trainer.device = "cuda"

    with pytest.raises(ValueError, match="--processes 2 is for the CPU"):
        trainer.start_processes()

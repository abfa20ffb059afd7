"""Gradients of several batches at once: processes beside the trainer's own share its weights and hand theirs back.

A second process makes the training half as fast again on two cores, or more. A second thread does not: PyTorch's
threads wait for each other at every product, so any other process that wants a core stops them all.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection

import torch
from torch import Tensor, nn
from torch import multiprocessing as processes

from ops.training.model.batches import Batch, to_tensors
from ops.training.model.twin import Twin

_ENDED = "a process that computes gradients has ended"

# Output and detection loss of a batch; tensors until somebody looks, so that nobody waits for a GPU at every step.
Means = tuple[float | Tensor, float | Tensor]


class BatchLosses:
    """Forward and backward pass of one batch, on one device at one precision."""

    def __init__(self, twin: Twin, device: str, precision: torch.dtype, *, compiles: bool) -> None:
        self._device = device
        self._is_mixed = precision == torch.bfloat16
        self._twin = twin
        if compiles:
            for layer in twin.layers:  # each by itself: PyTorch 2.13 compiles six at once to code that gives NaN
                layer.compile(dynamic=True)

    def backward(self, batch: Batch) -> Means:
        """Add the batch's gradients to those of the weights."""
        with torch.autocast(self._device, torch.bfloat16, enabled=self._is_mixed):
            tensors = to_tensors(batch, self._device)
            with torch.compiler.set_stance("default" if len(batch) > 1 else "force_eager"):  # of one row: NaN, too
                losses = self._twin.losses(tensors)
        losses.total.backward()
        return losses.output.detach(), losses.detection.detach()


class GradientHelpers:
    """Processes on the CPU that each take a batch of a step; the caller takes one more."""

    def __init__(self, twin: Twin, num_helpers: int, precision: torch.dtype, *, compiles: bool) -> None:
        """Moves the twin's weights into shared memory: steps are to change them in place."""
        twin.share_memory()
        self._params = list(twin.parameters())
        self._gradients: list[list[Tensor]] = []
        self._pipes: list[Connection] = []
        self._processes = []
        context = processes.get_context("spawn")  # fork would copy the threads of torch
        for _ in range(num_helpers):
            gradients = [torch.zeros_like(param).share_memory_() for param in self._params]
            pipe, their_pipe = context.Pipe()
            arguments = (twin, gradients, their_pipe, precision, compiles)
            process = context.Process(target=_help, args=arguments, daemon=True)
            process.start()
            their_pipe.close()
            self._gradients.append(gradients)
            self._pipes.append(pipe)
            self._processes.append(process)

    def start(self, batches: Sequence[Batch]) -> None:
        """Hand out one batch to each helper. Raises RuntimeError where one has ended."""
        try:
            for pipe, batch in zip(self._pipes, batches, strict=True):
                pipe.send(batch)
        except OSError:
            raise RuntimeError(_ENDED) from None

    def finish(self) -> list[Means]:
        """Wait for the helpers, and make the weights' gradients the mean of theirs and of the caller's own.

        Raises RuntimeError where one has ended.
        """
        try:
            means = [pipe.recv() for pipe in self._pipes]
        except (EOFError, OSError):  # OSError: it ended before it read its batch
            raise RuntimeError(_ENDED) from None
        own = [param.grad for param in self._params]
        for gradients in self._gradients:
            torch._foreach_add_(own, gradients)
        torch._foreach_div_(own, 1 + len(self._pipes))
        return means

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.terminate()
            process.join()


def _help(twin: Twin, gradients: list[Tensor], pipe: Connection, precision: torch.dtype, compiles: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trainer, which ends its helpers
    torch.set_num_threads(1)
    losses = BatchLosses(twin, "cpu", precision, compiles=compiles)
    params: list[nn.Parameter] = list(twin.parameters())
    while True:
        try:
            batch = pipe.recv()
        except EOFError:
            return
        for param in params:
            param.grad = None
        means = losses.backward(batch)
        torch._foreach_copy_(gradients, [param.grad for param in params])
        pipe.send(tuple(map(float, means)))

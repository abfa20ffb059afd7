"""A moving average of the weights: the last steps' noise evened out, a model of its own beside the plain one."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

DECAY = 0.998  # per step: half of the average comes from the last 350 steps
_EVERY_STEPS = 4  # averaging costs a pass over the weights


class WeightAverage:
    """Exponential, started afresh with the run; short at first, so that the random start is soon forgotten."""

    def __init__(self, model: nn.Module, decay: float = DECAY) -> None:
        self._model = model
        self._decay = decay
        self._num_updates = 0
        self._average: Sequence[Tensor] = [param.detach().clone() for param in model.parameters()]

    @torch.no_grad()
    def update(self, num_steps: int) -> None:
        """Take in the model as it is after its `num_steps`-th step."""
        if num_steps % _EVERY_STEPS:
            return
        self._num_updates += 1
        kept = min(self._decay**_EVERY_STEPS, self._num_updates / (self._num_updates + 10))
        torch._foreach_lerp_(self._average, [param.detach() for param in self._model.parameters()], 1 - kept)

    def state_dict(self) -> dict[str, Tensor]:
        """The averaged weights, named as those of the model."""
        names = [name for name, _ in self._model.named_parameters()]
        return dict(zip(names, self._average, strict=True))

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Go on from saved averages."""
        self._average = [state[name].clone() for name, _ in self._model.named_parameters()]
        self._num_updates = round(10 / (1 - self._decay))  # long past its beginning

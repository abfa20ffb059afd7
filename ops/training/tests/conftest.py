"""One thread: where other work wants the cores, too, PyTorch's threads wait for each other at every product."""

from __future__ import annotations

import torch

torch.set_num_threads(1)

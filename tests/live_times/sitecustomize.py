"""Put on PYTHONPATH by tests/live_cost.py: what is done for those who watch /ops is done LIVE_TIMES times.

One viewer costs less than the load itself varies by; ten cost more.
"""

from __future__ import annotations

import importlib.abc
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

TIMES = int(os.environ["LIVE_TIMES"])


def repeat_notes(module: Any) -> None:
    """Note each iteration of a worker's loop TIMES times, and encode the notes as often."""
    plain = module.LiveLog

    class RepeatedLog(plain):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self._others = [plain() for _ in range(TIMES - 1)]

        def note(self, *about: Any) -> None:
            for one in self._others:
                one.note(*about)
            super().note(*about)

        def take(self, *about: Any) -> str:
            for one in self._others:
                one.take(*about)
            return str(super().take(*about))

    module.LiveLog = RepeatedLog


def repeat_looks(module: Any) -> None:
    """Let a replica look at the workers' news and at the system TIMES times as often."""
    module.LOOK_EVERY_S /= TIMES
    module._FIGURES_EVERY_S /= TIMES


CHANGES = {"worker.live": repeat_notes, "api.live.hub": repeat_looks}


class Repeats(importlib.abc.MetaPathFinder):
    """Changes the two modules as they are loaded."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in CHANGES else None
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                CHANGES[name](module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


sys.meta_path.insert(0, Repeats())

"""The workers of the drills are started as the one that ships: the drills themselves take minutes."""

from __future__ import annotations

import runpy
import sys
from unittest.mock import create_autospec

import pytest

from worker import process


@pytest.mark.parametrize("words", [["slow", "2", "64"], ["poisoned"]])
def test_a_worker_of_the_drills_is_served_with_all_that_a_worker_needs(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve = create_autospec(process.serve)
    monkeypatch.setattr(process, "serve", serve)
    monkeypatch.setattr(sys, "argv", ["workers", *words])

    runpy.run_module("ops.drills.workers", run_name="__main__")

    assert serve.call_count == 1

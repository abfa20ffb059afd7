"""One system for all tests of this ring that only send requests; drills that kill something start their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from api.http.replies import answer_text
from ops.load import prompts
from ops.run.offline import OfflineCorrector
from scheduler.settings import Settings
from tests.running_system import RunningSystem


@pytest.fixture(scope="session")
def system() -> Iterator[RunningSystem]:
    with RunningSystem() as running:
        yield running


@pytest.fixture(scope="session")
def alone() -> dict[str, dict[str, Any]]:
    """What the model alone makes of 400 sentences."""
    sentences = prompts.load(None, seed=0)[:400]
    answers = OfflineCorrector.load(Settings()).correct(sentences)
    return {text: json.loads(answer_text(answer)) for text, answer in zip(sentences, answers, strict=True)}


@pytest.fixture(autouse=True)
def _leaves_the_system_as_it_was(request: pytest.FixtureRequest) -> Iterator[None]:
    """Nothing a client sends may cost a process its life."""
    if "system" not in request.fixturenames:
        yield
        return
    running = request.getfixturevalue("system")
    before = (running.pids("api"), running.pids("worker"), running.pids("redis"))
    yield
    assert (running.pids("api"), running.pids("worker"), running.pids("redis")) == before
    running.wait_until_ready()

"""One system for all tests of this ring that only send requests; drills that kill something start their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.running_system import RunningSystem


@pytest.fixture(scope="session")
def system() -> Iterator[RunningSystem]:
    with RunningSystem() as running:
        yield running


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

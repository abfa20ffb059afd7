"""How many processes serve the port of one API."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.server import application
from api.server.application import num_processes
from scheduler.settings import Settings


def processes(monkeypatch: pytest.MonkeyPatch, num_cores: int, **settings: object) -> int:
    monkeypatch.setattr(application.os, "sched_getaffinity", lambda _: set(range(num_cores)), raising=False)
    return num_processes(Settings(**settings))


@pytest.fixture(autouse=True)
def cpu_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file in which a container says how much CPU it may use."""
    path = tmp_path / "cpu.max"
    monkeypatch.setattr(application, "_CPU_LIMIT", path)
    return path


@pytest.mark.parametrize(
    ("num_cores", "workers", "expected"), [(1, 1, 1), (2, 1, 1), (4, 1, 2), (4, 2, 2), (4, 8, 1), (8, 2, 4), (64, 8, 4)]
)
def test_auto_takes_the_cores_beside_the_workers_at_most_two_a_worker_and_four(
    monkeypatch: pytest.MonkeyPatch, num_cores: int, workers: int, expected: int
) -> None:
    assert processes(monkeypatch, num_cores, workers=workers) == expected


@pytest.mark.parametrize(("limit", "expected"), [("200000 100000", 1), ("400000 100000", 2), ("max 100000", 2)])
def test_auto_counts_no_more_cores_than_the_container_may_use(
    monkeypatch: pytest.MonkeyPatch, cpu_limit: Path, limit: str, expected: int
) -> None:
    cpu_limit.write_text(limit)

    assert processes(monkeypatch, 8) == expected


def test_a_number_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert processes(monkeypatch, 2, api_processes="5") == 5


@pytest.mark.parametrize("mode", ["sync", "threaded"])
def test_a_mode_with_the_model_in_the_process_has_one(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    assert processes(monkeypatch, 8, mode=mode, api_processes="5") == 1

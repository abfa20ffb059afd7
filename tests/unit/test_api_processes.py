"""How many processes serve the port of one API."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.server import application
from api.server.application import num_processes
from scheduler.settings import Settings


@pytest.mark.parametrize(
    ("num_cores", "limit", "settings", "expected"),
    [
        # The cores that the workers leave, at most two for each of them and four in all.
        (1, "", {"workers": 1}, 1), (2, "", {"workers": 1}, 1), (4, "", {"workers": 1}, 2), (4, "", {"workers": 2}, 2),
        (4, "", {"workers": 8}, 1), (8, "", {"workers": 2}, 4), (64, "", {"workers": 8}, 4),
        # No more cores than a container may use.
        (8, "200000 100000", {}, 1), (8, "400000 100000", {}, 2), (8, "max 100000", {}, 2),
        # A number is taken as it is; a mode with the model in the process has one.
        (2, "", {"api_processes": "5"}, 5), (8, "", {"mode": "sync", "api_processes": "5"}, 1),
        (8, "", {"mode": "threaded", "api_processes": "5"}, 1),
    ],
)  # fmt: skip
def test_the_number_of_processes_follows_from_cores_limit_and_settings(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    num_cores: int,
    limit: str,
    settings: dict[str, object],
    expected: int,
) -> None:
    monkeypatch.setattr(application.os, "sched_getaffinity", lambda _: set(range(num_cores)), raising=False)
    monkeypatch.setattr(application, "_CPU_LIMIT", tmp_path / "cpu.max")  # in which a container says its limit
    if limit:
        (tmp_path / "cpu.max").write_text(limit)

    assert num_processes(Settings(**settings)) == expected

from __future__ import annotations

import resource

import pytest

from api.server.connections import num_connections


@pytest.mark.parametrize(("soft", "most"), [(resource.RLIM_INFINITY, 4096), (20_000, 4096), (1024, 768), (300, 64)])
def test_connections_leave_some_files_to_redis_and_to_python(
    monkeypatch: pytest.MonkeyPatch, soft: int, most: int
) -> None:
    monkeypatch.setattr("api.server.connections.resource.getrlimit", lambda _: (soft, soft))

    assert num_connections(4096) == most

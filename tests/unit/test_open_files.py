from __future__ import annotations

import errno
import resource
from unittest.mock import Mock

import pytest

from api.server.connections import num_connections
from api.server.serving import Serving
from tests.fake_mailbox import site_of


@pytest.mark.parametrize(("soft", "most"), [(resource.RLIM_INFINITY, 4096), (20_000, 4096), (1024, 768), (300, 64)])
def test_connections_leave_some_files_to_redis_and_to_python(
    monkeypatch: pytest.MonkeyPatch, soft: int, most: int
) -> None:
    monkeypatch.setattr("api.server.connections.resource.getrlimit", lambda _: (soft, soft))

    assert num_connections(4096) == most


def test_without_a_free_file_a_listener_is_looked_at_with_the_next_tick() -> None:
    serving, listener = Serving(site_of(), 64), Mock()
    serving._loop, serving._notify = loop, _ = Mock(), Mock()
    loop.time.return_value = 1.0
    listener.accept.side_effect = OSError(errno.EMFILE, "Too many open files")

    serving._accept(listener)
    before = loop.add_reader.call_count
    serving._tick(1.0)

    assert loop.remove_reader.call_count == 1
    assert (before, loop.add_reader.call_count) == (0, 1)

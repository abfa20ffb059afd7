"""Free ports are different ones, and who may not open any is told so at once."""

from __future__ import annotations

import socket

import pytest

from ops.run.embedded_redis import free_port, free_ports


def test_ports_that_are_asked_for_together_differ() -> None:
    assert len(set(free_ports(50))) == 50


def test_where_no_port_may_be_opened_the_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    class ForbiddenSocket(socket.socket):
        def bind(self, address: object) -> None:
            raise PermissionError(1, "not permitted")

    monkeypatch.setattr(socket, "socket", ForbiddenSocket)

    with pytest.raises(PermissionError):
        free_port()

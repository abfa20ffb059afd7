"""The embedded Redis: found, started, restarted without loss, gone without a trace."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
import redis

from ops.run import embedded_redis


def test_a_server_answers_as_soon_as_start_returns(tmp_path: Path) -> None:
    server = embedded_redis.start(tmp_path, password="a-secret", memory_mb=64)
    try:
        with redis.Redis.from_url(server.url) as client:
            names = ("appendonly", "maxmemory", "maxmemory-policy", "stream-node-max-bytes", "port")
            settings = {name: client.config_get(name)[name] for name in names}
            mode = server.socket.stat().st_mode & 0o777
    finally:
        server.stop()

    assert settings == {
        "appendonly": "yes",
        "maxmemory": "67108864",
        "maxmemory-policy": "noeviction",
        "stream-node-max-bytes": "256",
        "port": "0",
    }
    assert mode == 0o700
    assert "a-secret" not in repr(server)  # its command, which `ps` shows


def test_a_directory_whose_path_is_too_long_for_a_socket_is_a_clear_error(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)

    with pytest.raises(embedded_redis.RedisUnavailable, match=r"at most 107 .* set TMPDIR to a shorter path"):
        embedded_redis.start(deep)


def test_a_taken_port_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    server = embedded_redis.start(tmp_path, embedded_redis.free_port())
    try:
        with pytest.raises(embedded_redis.RedisUnavailable, match=r"did not start.*[Aa]ddress already in use"):
            embedded_redis.start(tmp_path / "second", server.port)
    finally:
        server.stop()


def test_without_any_binary_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_redis, "_candidates", lambda: iter([Path("/nonexistent/redis-server")]))

    with pytest.raises(embedded_redis.RedisUnavailable, match="apt install redis-server"):
        embedded_redis.find_redis_server()


@pytest.mark.parametrize(
    ("version", "is_taken"),
    [("6.0.16", False), ("6.2.14", False), ("6.2.20", True), ("7.0.15", False), ("8.2.1", False), ("9.0.0", True)],
)  # fmt: skip
def test_a_system_server_with_a_known_hole_in_its_lua_is_passed_over(
    version: str, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = _server_of_version(version, tmp_path)
    bundled = embedded_redis.find_redis_server()
    monkeypatch.setattr(embedded_redis, "_candidates", lambda: iter([system, bundled]))

    assert embedded_redis.find_redis_server() == (system if is_taken else bundled)


def _server_of_version(version: str, directory: Path) -> Path:
    program = directory / "redis-server"
    program.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=0 malloc=libc bits=64'\n")
    program.chmod(0o755)
    return program


def test_where_no_port_may_be_opened_the_search_for_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    class ForbiddenSocket(socket.socket):
        def bind(self, address: object) -> None:
            raise PermissionError(1, "not permitted")

    monkeypatch.setattr(socket, "socket", ForbiddenSocket)

    with pytest.raises(PermissionError):
        embedded_redis.free_port()

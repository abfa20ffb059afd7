"""The embedded Redis: found, started, restarted without loss, gone without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.run import embedded_redis
from ops.run.embedded_redis import EmbeddedRedis


def test_a_directory_whose_path_is_too_long_for_a_socket_is_a_clear_error(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)

    with pytest.raises(embedded_redis.RedisUnavailable, match="set TMPDIR to a shorter one"):
        EmbeddedRedis(deep).serve()


def test_a_taken_port_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    server = EmbeddedRedis(tmp_path, embedded_redis.free_port()).serve()
    try:
        with pytest.raises(embedded_redis.RedisUnavailable, match=r"did not start.*[Aa]ddress already in use"):
            EmbeddedRedis(tmp_path / "second", server.port).serve()
    finally:
        server.stop()


def test_the_password_of_a_server_is_not_in_its_command_which_ps_shows(tmp_path: Path) -> None:
    server = embedded_redis.EmbeddedRedis(tmp_path, password="a-secret")

    assert "a-secret" in (tmp_path / embedded_redis.CONFIG_NAME).read_text()
    assert "a-secret" not in str(server.command)


def a_server(version: str, directory: Path) -> Path:
    program = directory / "redis-server"
    program.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=0 malloc=libc bits=64'\n")
    program.chmod(0o755)
    return program


def test_without_a_binary_that_is_new_enough_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Path("/nonexistent/redis-server"), a_server("6.0.16", tmp_path)
    monkeypatch.setattr(embedded_redis, "_candidates", lambda: iter(found))

    with pytest.raises(embedded_redis.RedisUnavailable, match="apt install redis-server"):
        embedded_redis.find_redis_server()


def test_the_bundled_server_comes_before_one_of_the_system_and_one_with_a_hole_in_its_lua_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bundled, unsafe = embedded_redis.find_redis_server(), a_server("7.0.15", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [*embedded_redis._candidates()] == [bundled, unsafe]

    for found, expected in (([unsafe, bundled], bundled), ([unsafe], unsafe)):
        assert not caplog.messages
        monkeypatch.setattr(embedded_redis, "_candidates", lambda found=found: iter(found))
        assert embedded_redis.find_redis_server() == expected

    assert "may have a hole in its Lua" in caplog.text

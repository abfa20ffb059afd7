"""The embedded Redis: found, started, restarted without loss, gone without a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.run import embedded_redis


def test_a_directory_whose_path_is_too_long_for_a_socket_is_a_clear_error(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)

    with pytest.raises(embedded_redis.RedisUnavailable, match="set TMPDIR to a shorter one"):
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


def test_the_bundled_server_comes_before_one_of_the_system_and_one_that_is_too_old_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled, old = embedded_redis.find_redis_server(), tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.0.16 sha=0 malloc=libc bits=64'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    first = [*embedded_redis._candidates()]
    monkeypatch.setattr(embedded_redis, "_candidates", lambda: iter([old, bundled]))

    assert (first, embedded_redis.find_redis_server()) == ([bundled, old], bundled)

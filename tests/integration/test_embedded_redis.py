"""The embedded Redis: found, started, restarted without loss, gone without a trace."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import redis

from ops.run import embedded_redis


def test_a_server_answers_as_soon_as_start_returns(tmp_path: Path) -> None:
    server = embedded_redis.start(tmp_path, memory_mb=64)
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


def test_a_port_comes_with_the_password_that_is_asked_for(tmp_path: Path) -> None:
    port = embedded_redis.free_port()
    server = embedded_redis.start(tmp_path, port, "a-secret")
    try:
        for url in (server.url, server.socket_url):
            with redis.Redis.from_url(url) as client:
                assert client.ping()
        with pytest.raises(redis.AuthenticationError), redis.Redis(port=port) as client:
            client.ping()
        shown = psutil.Process(server.pid).cmdline()
    finally:
        server.stop()

    assert "a-secret" not in str(shown) and "a-secret" not in repr(server)


def test_a_directory_whose_path_is_too_long_for_a_socket_is_a_clear_error(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120)

    with pytest.raises(embedded_redis.RedisUnavailable, match=r"at most 107 .* set TMPDIR to a shorter path"):
        embedded_redis.start(deep)


def test_an_entry_survives_kill_and_restart_in_the_same_directory(tmp_path: Path) -> None:
    server = embedded_redis.start(tmp_path)
    with redis.Redis.from_url(server.url) as client:
        client.config_set("appendfsync", "always")
        client.rpush("list", "entry")
    os.kill(server.pid, signal.SIGKILL)
    server.process.wait()

    again = embedded_redis.start(tmp_path, server.port)
    try:
        with redis.Redis.from_url(again.url) as client:
            entries = client.lrange("list", 0, -1)
    finally:
        again.stop()

    assert (again.url, entries) == (server.url, [b"entry"])


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
    [("6.0.16", False), ("6.2.14", False), ("6.2.20", True), ("7.0.15", False), ("7.2.10", False), ("7.2.11", True),
     ("8.2.1", False), ("8.2.2", True), ("8.4.0", True), ("9.0.0", True)],
)  # fmt: skip
def test_a_system_server_with_a_known_hole_in_its_lua_is_passed_over(
    version: str, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = _server_of_version(version, tmp_path)
    bundled = embedded_redis.find_redis_server()
    monkeypatch.setattr(embedded_redis, "_candidates", lambda: iter([system, bundled]))

    assert embedded_redis.find_redis_server() == (system if is_taken else bundled)


def test_an_old_server_is_used_where_there_is_no_other_and_the_log_warns_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    system = _server_of_version("7.0.15", tmp_path)
    monkeypatch.setattr(embedded_redis, "_candidates", lambda: iter([system]))

    assert embedded_redis.find_redis_server() == system
    assert "7.0.15 may have a hole in its Lua" in caplog.text


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


_STARTER = """
import time
from ops.run import embedded_redis
with embedded_redis.private_directory() as directory:
    server = embedded_redis.start(directory)
    print(server.pid, directory, flush=True)
    time.sleep(60)
"""


def test_after_kill_9_of_the_starter_neither_server_nor_directory_is_left() -> None:
    starter = subprocess.Popen([sys.executable, "-c", _STARTER], stdout=subprocess.PIPE, text=True)
    pid, directory = starter.stdout.readline().split()
    assert Path(directory).is_dir()

    starter.kill()
    starter.communicate()

    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and (Path(directory).exists() or psutil.pid_exists(int(pid))):
        time.sleep(0.02)
    assert not Path(directory).exists()
    assert not psutil.pid_exists(int(pid))

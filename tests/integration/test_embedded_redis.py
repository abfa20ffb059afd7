"""The embedded Redis: found, started, restarted without loss, gone without a trace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis

from ops.run import embedded_redis


def test_a_server_answers_as_soon_as_start_returns(tmp_path: Path) -> None:
    server = embedded_redis.start(tmp_path)
    try:
        with redis.Redis.from_url(server.url) as client:
            names = ("appendonly", "maxmemory-policy", "stream-node-max-bytes", "port")
            settings = {name: client.config_get(name)[name] for name in names}
            mode = server.socket.stat().st_mode & 0o777
    finally:
        server.stop()

    assert settings == {
        "appendonly": "yes",
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
        shown = Path(f"/proc/{server.pid}/cmdline").read_bytes()
    finally:
        server.stop()

    assert b"a-secret" not in shown and "a-secret" not in repr(server)


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


def test_a_system_server_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.0.16 sha=0 malloc=libc bits=64'\n")
    old.chmod(0o755)
    newer = embedded_redis.find_redis_server()
    monkeypatch.setattr(embedded_redis, "_candidates", lambda: iter([old, newer]))

    assert embedded_redis.find_redis_server() == newer


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
    while time.monotonic() < deadline and (Path(directory).exists() or Path(f"/proc/{pid}").exists()):
        time.sleep(0.02)
    assert not Path(directory).exists()
    assert not Path(f"/proc/{pid}").exists()

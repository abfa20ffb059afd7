"""A system whose output nobody reads: it serves, restarts what dies, and ends when it is told to."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from ops.run import processes
from ops.run.embedded_redis import free_port
from tests.pace import patient
from tests.running_system import command_line, descendants, post_sentence, send, status_of, wait_until


@pytest.fixture
def full_pipe() -> Iterator[int]:
    """A pipe without room for another byte, and with a reader that never reads."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    yield writing
    os.close(reading)
    os.close(writing)


def test_a_system_that_nobody_listens_to_serves_and_ends(full_pipe: int) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = processes.miniserve_command("up", "--port", str(port), "--api-processes", "1", "--log-level", "debug")
    system = processes.spawn(command, None, full_pipe)
    try:
        wait_until(lambda: status_of(url, "/readyz") == 200, 40, "ready")
        for _ in range(300):
            assert send(url, "GET", "/nowhere").status == 404
        assert post_sentence(url, "He goed to school").body["corrected"] == "He went to school"

        (worker,) = [pid for pid in descendants(system.pid) if "miniserve worker" in command_line(pid)]
        psutil.Process(worker).kill()
        wait_until(lambda: post_sentence(url, "He goed home").status == 200, 30, "another worker")

        system.send_signal(signal.SIGTERM)
        assert system.wait(patient(60)) == 0
    finally:
        processes.stop(system, 20)

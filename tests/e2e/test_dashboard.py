"""rq-dashboard against a plain `miniserve up`: it shows the jobs and the workers as they are."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator

import pytest

from ops.run.embedded_redis import free_port
from tests.running_system import RunningSystem, post_sentence, send, status_of, wait_until

NUM_SENT = 5
BUSY_S = 6.0


@pytest.fixture(scope="module")
def with_dashboard() -> Iterator[tuple[RunningSystem, str]]:
    port = free_port()
    with RunningSystem("--dashboard", "--dashboard-port", str(port)) as system:
        url = system.wait_for_line(r"^  dashboard +(http://127\.0\.0\.1:\d+)/$", 5).group(1)
        for _ in range(NUM_SENT):
            post_sentence(system.url, "<b>He goed</b> to school")
        wait_until(lambda: status_of(url, "/") == 200, 20, "the dashboard answers")
        yield system, url


def test_the_workers_page_names_the_worker_and_its_queue(with_dashboard: tuple[RunningSystem, str]) -> None:
    system, url = with_dashboard

    def worker() -> dict:
        (worker,) = send(url, "GET", "/0/data/workers.json").body["workers"]
        return worker

    wait_until(lambda: worker()["successful_job_count"] == NUM_SENT, 5, "the next beat")
    assert worker()["queues"] == ["correct", "correct-async"]
    assert worker()["pid"] == system.pids("worker")[0]


def test_finished_jobs_are_listed_and_show_no_text_of_a_user(with_dashboard: tuple[RunningSystem, str]) -> None:
    _, url = with_dashboard

    jobs = send(url, "GET", "/0/data/jobs/correct/finished/10/asc/1.json").body["jobs"]
    pages = [send(url, "GET", f"/0/data/job/{job['id']}.json") for job in jobs]

    assert len(jobs) == NUM_SENT
    assert {page.status for page in pages} == {200}
    assert not any("goed" in str(page.body) or "<b>" in str(page.body) for page in pages)


def test_the_dashboard_stops_in_time_whoever_is_connected() -> None:
    port = free_port()
    with RunningSystem("--dashboard", "--dashboard-port", str(port)) as system:
        wait_until(lambda: status_of(f"http://127.0.0.1:{port}", "/") == 200, 20, "the dashboard answers")
        connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
        for connection in connections[:2]:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")

        (dashboard,) = system.pids("dashboard")
        os.killpg(dashboard, signal.SIGSTOP)  # a machine that is too busy for it
        system.signal(signal.SIGTERM)
        system.wait_for_line("stopping dashboard", 30)
        time.sleep(BUSY_S)
        os.killpg(dashboard, signal.SIGCONT)

        assert system.process.wait() == 0
        assert "killed" not in system.output()
        for connection in connections:
            connection.close()

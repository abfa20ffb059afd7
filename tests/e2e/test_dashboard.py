"""rq-dashboard beside a plain `miniserve up --dashboard`: it shows no text of a user, and stops in time."""

from __future__ import annotations

import os
import signal
import socket
import time

from ops.run.embedded_redis import free_port
from tests.running_system import RunningSystem, post_sentence, send, status_of, wait_until

NUM_SENT = 5
BUSY_S = 6.0


def test_finished_jobs_are_shown_without_text_and_the_dashboard_stops_in_time_whoever_is_connected() -> None:
    port = free_port()
    with RunningSystem("--dashboard", "--dashboard-port", str(port)) as system:
        url = system.wait_for_line(r"^  dashboard +(http://127\.0\.0\.1:\d+)/$", 5).group(1)
        for _ in range(NUM_SENT):
            post_sentence(system.url, "<b>He goed</b> to school")
        wait_until(lambda: status_of(url, "/") == 200, 20, "the dashboard answers")
        jobs = send(url, "GET", "/0/data/jobs/correct/finished/10/asc/1.json").body["jobs"]
        pages = [send(url, "GET", f"/0/data/job/{job['id']}.json") for job in jobs]
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
        assert [page.status for page in pages] == [200] * NUM_SENT
        assert not any("goed" in str(page.body) or "<b>" in str(page.body) for page in pages)
        for connection in connections:
            connection.close()

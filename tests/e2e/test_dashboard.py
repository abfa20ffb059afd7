"""rq-dashboard beside a plain `miniserve up --dashboard`."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import ExitStack

from ops.run.embedded_redis import free_port
from tests.running_system import RunningSystem, status_of, wait_until

BUSY_S = 6.0


def test_the_dashboard_stops_in_time_whoever_is_connected_on_a_busy_machine() -> None:
    port = free_port()
    with RunningSystem("--dashboard", "--dashboard-port", str(port)) as system, ExitStack() as stack:
        url = system.wait_for_line(r"^  dashboard +(http://127\.0\.0\.1:\d+)/$", 5).group(1)
        wait_until(lambda: status_of(url, "/") == 200, 20, "the dashboard answers")
        for head in (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"") * 2:
            stack.enter_context(socket.create_connection(("127.0.0.1", port))).sendall(head)

        (dashboard,) = system.pids("dashboard")
        os.killpg(dashboard, signal.SIGSTOP)  # a machine that is too busy for it
        system.signal(signal.SIGTERM)
        system.wait_for_line("stopping dashboard", 30)
        time.sleep(BUSY_S)
        os.killpg(dashboard, signal.SIGCONT)

        assert system.process.wait() == 0
        assert "killed" not in system.output()

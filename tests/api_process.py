"""A real `miniserve api` for tests that play the worker themselves."""

from __future__ import annotations

import socket
import subprocess

from ops.run import processes
from ops.run.embedded_redis import free_port
from tests.mailbox_house import eventually
from tests.running_system import send


class ApiProcess:
    """One replica on a free port."""

    def __init__(self, redis_url: str, *options: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = processes.miniserve_command("api", "--port", str(self.port), "--redis-url", redis_url, *options)
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            eventually(self._answers, within_s=15)
        except BaseException:
            self.kill()
            raise

    def _answers(self) -> bool:
        try:
            return send(self.url, "GET", "/healthz").status == 200
        except OSError:
            assert self.process.poll() is None, self.process.stderr.read()
            return False

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        connection.settimeout(10)
        return connection

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

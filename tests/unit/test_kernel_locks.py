"""The locks on the way of a request are the kernel's: gevent's take 1 us, and a request takes six."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import api.server.gevent_worker
from gevent import monkey
monkey.patch_all()
from api.server import open_files
from api.telemetry import recorder
from worker.mailbox import waiters
print(*{type(module.allocate_lock()).__module__ for module in (open_files, recorder, waiters)})
"""


def test_a_server_binds_the_locks_of_a_request_before_gevent_patches_them() -> None:
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert found.stdout == "_thread\n"

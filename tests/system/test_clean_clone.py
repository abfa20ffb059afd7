"""What a stranger does: a clean copy, `make up`, one request, Ctrl-C; and again."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from ops.run.embedded_redis import free_port
from ops.run.supervisor import Member
from tests.running_system import descendants, is_running, post_sentence, status_of, wait_until

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "*.egg-info", "build", "runs", ".*_cache")


def test_make_up_on_a_clean_clone_serves_and_ends_with_all_that_it_started(tmp_path: Path) -> None:
    clone = shutil.copytree(ROOT, tmp_path / "miniserve", ignore=NOT_COPIED)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    make = Member("make", ["make", "-C", str(clone), "up", f"UP_OPTIONS=--port {port}"])  # it dies with these tests
    try:
        for number in (signal.SIGINT, signal.SIGKILL):  # the second time nothing is to be installed
            make.start()
            wait_until(lambda: status_of(url, "/readyz") == 200 or not make.is_alive, 180, "make up is ready")
            assert post_sentence(url, "He goed to school").body["corrected"] == "He went to school"
            children = descendants(make.process.pid)

            # Ctrl-C goes to make and to all in its group; a SIGKILL to make alone.
            (os.killpg if number is signal.SIGINT else os.kill)(make.process.pid, number)

            make.process.wait(60)
            wait_until(lambda children=children: not any(map(is_running, children)), 20, "everything is gone")
    finally:
        make.stop()
        shutil.rmtree(clone)

"""What a stranger does: a clean copy, `make up`, one request, Ctrl-C; and again, faster."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.run.embedded_redis import free_port
from tests.running_system import descendants, is_running, post_sentence, status_of, wait_until

pytestmark = pytest.mark.alone
ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "__pycache__", "*.egg-info", "build", "runs", ".*_cache")
FIRST_START_S = 180.0
SECOND_START_S = 5.0


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    copy = tmp_path_factory.mktemp("clone") / "miniserve"
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    yield copy
    shutil.rmtree(copy)


def _make_up(clone: Path, within_s: float) -> tuple[subprocess.Popen[bytes], str]:
    port = free_port()
    started_at = time.monotonic()
    make = subprocess.Popen(
        ["make", "up", f"UP_OPTIONS=--port {port}"], cwd=clone, start_new_session=True, stdin=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    wait_until(lambda: status_of(url, "/readyz") == 200 or make.poll() is not None, within_s, "make up is ready")
    print(f"ready after {time.monotonic() - started_at:.1f} s")
    return make, url


def test_make_up_on_a_clean_clone_is_ready_within_three_minutes_and_ctrl_c_ends_it(clone: Path) -> None:
    make, url = _make_up(clone, FIRST_START_S)
    children = descendants(make.pid)

    answer = post_sentence(url, "He goed to school")
    os.killpg(make.pid, signal.SIGINT)  # as a terminal sends Ctrl-C: to make and to all in its group
    make.wait(30)

    assert answer.body["corrected"] == "He went to school"
    wait_until(lambda: not any(map(is_running, children)), 5, "everything is gone")


def test_the_second_make_up_is_ready_within_five_seconds(clone: Path) -> None:
    make, _ = _make_up(clone, SECOND_START_S)
    children = descendants(make.pid)

    make.terminate()
    make.wait(30)

    wait_until(lambda: not any(map(is_running, children)), 5, "everything is gone")


def test_kill_9_of_make_itself_leaves_nothing_running(clone: Path) -> None:
    make, _ = _make_up(clone, FIRST_START_S)
    children = descendants(make.pid)

    make.kill()
    make.wait()

    wait_until(lambda: not any(map(is_running, children)), 20, "everything is gone")

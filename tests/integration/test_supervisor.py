"""The supervisor, with children that only sleep or die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from ops.run import supervisor as supervisor_module
from ops.run.supervisor import LONGEST_PAUSE_S, MOST_QUICK_DEATHS, Member, Signals, Supervisor
from tests.pace import patient
from tests.running_system import is_running

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(600)",
]


def _child(name: str, command: list[str], patience_s: float = 2.0, output: int = subprocess.DEVNULL) -> Member:
    return Member(name, command, output=output, patience_s=patience_s)


@pytest.fixture
def signals() -> Iterator[Signals]:
    with Signals() as signals:
        yield signals


@pytest.fixture
def said() -> list[str]:
    return []


def _run_until(supervisor: Supervisor, signals: Signals, is_over: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + patient(10)
    while not is_over() and time.monotonic() < deadline:
        signals.wait(min(0.05, supervisor.revive()))
    return is_over()


@pytest.mark.parametrize(
    ("lives_s", "first_s", "longest_s"), [(0.0, 0.1, LONGEST_PAUSE_S), (3.0, 0.1, 0.1)], ids=["dies at once", "serves"]
)
def test_a_child_that_keeps_dying_is_started_ever_later_and_one_that_served_at_once(
    lives_s: float, first_s: float, longest_s: float
) -> None:
    child = _child("api", SLEEP)
    child.start()
    child.process.kill()
    child.process.wait()

    pauses = []
    for now in range(10, 100, 10):
        child.started_at = now - lives_s
        child.note_death(float(now))
        pauses.append(round(child.due_at - now, 3))

    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (first_s, longest_s)


def test_a_child_that_never_runs_is_called_hopeless_after_three_deaths(signals: Signals, said: list[str]) -> None:
    child = _child("redis", [sys.executable, "-c", "raise SystemExit(1)"])
    supervisor = Supervisor([child], [[child]], said.append)
    supervisor.start()

    assert _run_until(supervisor, signals, lambda: supervisor.hopeless() is child)
    assert child.num_quick_deaths == MOST_QUICK_DEATHS


def test_an_optional_child_that_keeps_dying_is_given_up_and_the_others_go_on(signals: Signals, said: list[str]) -> None:
    api, dashboard = _child("api", SLEEP), _child("dashboard", [sys.executable, "-c", "raise SystemExit(3)"])
    dashboard.is_optional = True
    supervisor = Supervisor([api, dashboard], [[api], [dashboard]], said.append)
    supervisor.start()

    is_given_up = _run_until(supervisor, signals, lambda: not dashboard.is_kept)
    longest_wait_s, is_api_alive = supervisor.revive(), api.is_alive
    supervisor.stop(signals)

    assert is_given_up and is_api_alive and supervisor.hopeless() is None
    assert said[MOST_QUICK_DEATHS - 1].endswith("ended with exit status 3; given up, the others go on")
    assert said[MOST_QUICK_DEATHS:] == ["stopping api"]
    assert longest_wait_s > LONGEST_PAUSE_S


def test_a_child_deaf_to_sigterm_is_killed_when_its_patience_is_over(signals: Signals, said: list[str]) -> None:
    child = _child("api", DEAF, patience_s=0.3, output=subprocess.PIPE)
    supervisor = Supervisor([child], [[child]], said.append)
    supervisor.start()
    child.process.stdout.read(1)

    supervisor.stop(signals)

    assert said[-1] == "api did not stop in time; killed"
    assert child.process.returncode == -signal.SIGKILL
    child.process.stdout.close()


def test_a_second_stop_signal_hurries(signals: Signals, said: list[str]) -> None:
    child = _child("api", DEAF, patience_s=3600.0, output=subprocess.PIPE)
    supervisor = Supervisor([child], [[child]], said.append)
    supervisor.start()
    child.process.stdout.read(1)
    helper = subprocess.Popen([sys.executable, "-c", f"import os, time; time.sleep(0.3); os.kill({os.getpid()}, 2)"])

    supervisor.stop(signals)

    assert not child.is_alive
    helper.wait()
    child.process.stdout.close()


def test_what_a_dead_child_had_started_dies_before_it_is_started_again(signals: Signals, said: list[str]) -> None:
    family = (
        "import subprocess, sys, time\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True)\n"
        "time.sleep(60)"
    )
    child = _child("api", [sys.executable, "-c", family], output=subprocess.PIPE)
    supervisor = Supervisor([child], [[child]], said.append)
    supervisor.start()
    first, grandchild = child.process, int(child.process.stdout.readline())

    first.kill()
    is_back = _run_until(supervisor, signals, lambda: child.process is not first)
    is_gone = _run_until(supervisor, signals, lambda: not is_running(grandchild))
    supervisor.stop(signals)

    assert is_back and is_gone
    first.stdout.close()
    child.process.stdout.close()


def test_a_child_that_died_and_runs_again_is_reported_once(
    signals: Signals, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor_module, "STEADY_S", 0.2)
    first, second = _child("api", SLEEP), _child("worker 1", SLEEP)
    supervisor = Supervisor([first, second], [[first, second]], said.append)
    supervisor.start()

    first.process.kill()
    is_told = _run_until(supervisor, signals, lambda: len(said) == 2)
    longest_wait_s = supervisor.revive()
    supervisor.stop(signals)

    assert is_told and said[1] == f"api (pid {first.process.pid}) has been running again for 0.2 s"
    assert len(said) == 3 and longest_wait_s == 60.0

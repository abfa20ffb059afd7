"""`miniserve up --break NAME`: says so loudly, and still is a server to ask."""

from __future__ import annotations

import subprocess

import pytest

from ops import processes
from scheduler.settings import FAULT_NAMES
from tests.running_system import RunningSystem, post_sentence


@pytest.mark.parametrize("name", FAULT_NAMES)
def test_a_broken_server_says_what_is_broken_and_answers(name: str) -> None:
    with RunningSystem("--break", name) as running:
        reply = post_sentence(running.url, "He goed to school")
        said = running.output()

    assert reply.body["corrected"] == "He went to school"
    assert f"BROKEN ON PURPOSE (--break {name})" in said
    assert f"BROKEN         --break {name}" in said


def test_a_server_that_is_not_broken_says_nothing_of_it(system: RunningSystem) -> None:
    assert "BROKEN" not in system.output()


def test_a_fault_of_the_queue_is_refused_in_a_mode_without_one() -> None:
    command = processes.miniserve_command("up", "--mode", "sync", "--break", "leaked-slot")

    refused = subprocess.run(command, capture_output=True, text=True, timeout=30)

    assert refused.returncode == 2
    assert "--break leaked-slot is for --mode continuous or static" in refused.stderr

"""The faults of `--break`: each does what it says, and nothing is broken where none is asked for."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from click.testing import CliRunner

from ops.cli import main
from ops.run import faults
from ops.run.faults import FAULTS, LeakyBatching, fault_of
from scheduler.batching import BatchLimits, ContinuousBatching
from scheduler.messages import EOS_ID
from scheduler.settings import FAULT_NAMES, Settings
from tests.log_lines import capture_logs
from tests.unit.test_actor import engine, request
from tests.unit.test_continuous_batching import delivery


def test_the_option_takes_the_names_of_the_faults() -> None:
    assert tuple(FAULTS) == FAULT_NAMES


def test_without_the_option_nothing_changes() -> None:
    settings, subject, corrector = Settings(), engine(), object()
    policy, fault = subject.policy, fault_of(settings)

    assert fault.settings(settings) is settings
    assert fault.engine(subject).policy is policy
    assert fault.corrector(corrector) is corrector


def test_every_fault_changes_something() -> None:
    for name, fault in FAULTS.items():
        settings, subject = Settings(break_=name), engine()
        policy = subject.policy

        is_other = fault.settings(settings) != settings or fault.engine(subject).policy is not policy

        assert is_other or fault.corrector is not faults.Fault().corrector


def test_a_process_that_is_broken_says_so_whoever_started_it() -> None:
    with capture_logs() as lines:
        settings = faults.broken(Settings(break_="bypassed-scheduler"))
        faults.broken(Settings())

    assert settings.max_slots == 1
    assert [(line["event"], line["option"]) for line in lines] == [("BROKEN ON PURPOSE", "--break bypassed-scheduler")]


@pytest.mark.parametrize("name", ["bypassed-scheduler", "leaked-slot"])
def test_a_worker_with_the_variable_is_as_broken_as_one_of_up(name: str) -> None:
    with patch("ops.cli._prepare"), patch("worker.process.serve") as serve, capture_logs() as lines:
        CliRunner().invoke(main, ["worker", "--redis-url", "redis://x"], env={"MINISERVE_BREAK": name})

    assert serve.call_args.args[0] == FAULTS[name].settings(serve.call_args.args[0])
    assert lines[0]["event"] == "BROKEN ON PURPOSE"


@pytest.mark.parametrize("name", ["head-count", "leaked-slot"])
def test_a_fault_of_continuous_batching_does_not_call_itself_static(name: str) -> None:
    fault, subject = FAULTS[name], engine()

    assert fault.settings(Settings(mode="static")).mode == "continuous"
    assert isinstance(fault.engine(subject).policy, ContinuousBatching)


def test_a_leak_ends_with_nobody_admitted_although_nobody_runs() -> None:
    policy = LeakyBatching(BatchLimits(kv_budget_tokens=80, max_slots=8, max_iteration_tokens=80))

    for number in range(100):
        policy.submit(delivery(f"r{number}"), now=0.0)
        plan = policy.plan(now=0.0)
        policy.commit(plan, [EOS_ID] * len(list(plan)), now=0.0)

    assert not policy.running and policy.waiting
    assert policy.due_in_s(now=0.0) is None
    assert policy.free_tokens == 0


def test_admission_by_heads_overruns_the_cache_that_tokens_would_have_kept() -> None:
    sound, broken = engine(), FAULTS["head-count"].engine(engine())

    for subject in (sound, broken):
        for number in range(60):
            subject.accept(_long(number))

    assert len(sound.policy.plan(0.0).prefills) < 60
    assert sum(one.reserved_tokens for one in broken.policy.plan(0.0).prefills) > broken.model.arena.num_free


def _long(number: int):
    from scheduler.messages import Delivery

    return Delivery(request(f"r{number}", max_output=32), attempt=1, waited_s=0.0)

"""The faults of `--break` in a process that no `up` started; tests/e2e/test_faults.py shows what each does."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from click.testing import CliRunner

from ops.cli import main
from ops.run.faults import FAULTS
from scheduler.batching import ContinuousBatching
from scheduler.settings import Settings
from tests.unit.small_model import an_engine


@pytest.mark.parametrize("number", [1, 6])
def test_a_worker_with_the_variable_is_as_broken_as_one_of_up(number: int, caplog: pytest.LogCaptureFixture) -> None:
    with patch("ops.cli._prepare"), patch("worker.process.serve") as serve:
        CliRunner().invoke(main, ["worker", "--redis-url", "redis://x"], env={"MINISERVE_BREAK": str(number)})

    assert serve.call_args.args[0] == FAULTS[number].settings(serve.call_args.args[0])
    assert caplog.messages[0] == "to learn from, not to serve"


@pytest.mark.parametrize("number", [5, 6])
def test_a_fault_of_continuous_batching_does_not_call_itself_static(number: int) -> None:
    fault, subject = FAULTS[number], an_engine()

    assert fault.settings(Settings(mode="static")).mode == "continuous"
    assert isinstance(fault.engine(subject).policy, ContinuousBatching)

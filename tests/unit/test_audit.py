"""The supply-chain check: an audit that reached nobody is no clean bill."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from ops.run.audit import CLEAN, NOT_AUDITED, VULNERABLE, audit

SOUND = {"name": "click", "version": "8.1.8", "vulns": []}
BAD = {"name": "flask", "version": "1.0", "vulns": [{"id": "PYSEC-2023-62"}]}
SKIPPED = {"name": "redis", "skip_reason": "Dependency not found on PyPI and could not be audited: redis (8.1.0)"}
OURS = {"name": "miniserve", "skip_reason": "distribution marked as editable"}


def result_of(*packages: dict[str, Any]) -> tuple[int, str]:
    return audit([sys.executable, "-c", f"print({json.dumps({'dependencies': packages, 'fixes': []})!r})"])


@pytest.mark.parametrize(
    ("packages", "status", "said"),
    [
        ((SOUND, OURS), CLEAN, "1 packages audited, no known vulnerability"),
        ((SOUND, SOUND, SKIPPED), CLEAN, "not in the database: redis"),
        ((SOUND, BAD, SKIPPED, SKIPPED), VULNERABLE, "flask 1.0: PYSEC-2023-62"),
        ((SKIPPED, SKIPPED, OURS), NOT_AUDITED, "the advisory database cannot be reached"),
        ((SKIPPED, SKIPPED, SOUND), NOT_AUDITED, "2 of 3 packages"),
        ((), NOT_AUDITED, "the advisory database cannot be reached"),
    ],
)
def test_the_result_says_what_was_audited(packages: tuple[dict[str, Any], ...], status: int, said: str) -> None:
    found, text = result_of(*packages)

    assert (found, said in text) == (status, True), text


@pytest.mark.parametrize("command", [["/no/such/pip-audit"], [sys.executable, "-c", "raise SystemExit(1)"]])
def test_an_audit_that_cannot_run_is_not_audited(command: list[str]) -> None:
    status, said = audit(command)

    assert status == NOT_AUDITED and said.startswith("NOT AUDITED")

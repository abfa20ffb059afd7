"""The short form of the alert drill."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.alert_drill import hold_alert_drill


@pytest.mark.alone
def test_an_overload_and_an_outage_are_told_and_cleared(tmp_path: Path) -> None:
    hold_alert_drill(tmp_path, "--quick")

"""The full form of every fault drill; of the soak three minutes. Forty minutes in all."""

from __future__ import annotations

import pytest

from ops.drills.catalogue import DRILLS, soak
from tests.system.test_chaos import SHOWN, held

SOAK_MINUTES = 3.0
WARMING_UP_PERCENT = 10.0  # within the minutes that the full form does not judge


@pytest.mark.parametrize("name", [name for name in DRILLS if name != "soak"])
def test_the_full_form_of_a_drill_loses_nothing_and_doubles_nothing(name: str) -> None:
    found = held(DRILLS[name], is_quick=False)

    assert SHOWN.get(name, bool)(found), found


def test_three_minutes_of_steady_load_lose_nothing_and_hardly_grow() -> None:
    growth = held(soak(SOAK_MINUTES), is_quick=False)["load"]["growth_percent"]

    assert [name for name, more in growth.items() if name.endswith("rss") and more > WARMING_UP_PERCENT] == []

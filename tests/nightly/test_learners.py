"""Ten thousand learners, and a process of the API killed every few seconds."""

from __future__ import annotations

from tests.integration.test_learners import check_counts_under_kills


def test_counts_of_ten_thousand_learners_equal_their_answers() -> None:
    check_counts_under_kills(num_learners=10_000, num_requests=20_000, num_kills=6)

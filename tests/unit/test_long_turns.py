"""A thread that has much to do lets others go first: by time, and not by how many small things it does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from api.server import serving


class Clock:
    """Of a thread whose work takes so long."""

    def __init__(self, work_s: float) -> None:
        self.now_s, self.work_s, self.num_sleeps = 0.0, work_s, 0

    def monotonic(self) -> float:
        self.now_s += self.work_s
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.num_sleeps += 1
        self.now_s += seconds


@pytest.mark.parametrize(("work_s", "num_sleeps"), [(1e-6, 1), (1e-4, 91), (1e-2, 1_000)])
def test_others_have_a_millisecond_after_each_of_a_long_text(
    work_s: float, num_sleeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(work_s)
    monkeypatch.setattr(serving, "time", clock)

    with ThreadPoolExecutor(1) as thread:
        for _ in range(1_000):
            thread.submit(serving.let_others_go_first).result()

    assert clock.num_sleeps == pytest.approx(num_sleeps, abs=num_sleeps / 10)

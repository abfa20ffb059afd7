"""A value that many ask for at once."""

from __future__ import annotations

import asyncio

import pytest
from flask.testing import FlaskClient

from api.service.fresh import Fresh
from scheduler.errors import NotReady
from tests.fake_mailbox import FakeMailbox


class Maker:
    """Numbers its values."""

    def __init__(self) -> None:
        self.now_s, self.num_made, self.is_broken = 100.0, 0, False
        self.value = Fresh(self.make, 0.25, lambda: self.now_s)

    async def make(self) -> int:
        if self.is_broken:
            raise NotReady("Redis does not answer.", 1.0)
        self.num_made += 1
        return self.num_made

    def ask(self, every_s: float, number: int) -> list[int]:
        values = []
        for _ in range(number):
            values.append(asyncio.run(self.value.get()))
            self.now_s += every_s
        return values


def test_a_thousand_questions_a_second_cost_four_values_and_none_is_old() -> None:
    assert Maker().ask(every_s=0.5, number=10) == list(range(1, 11))

    maker = Maker()
    values = maker.ask(every_s=0.001, number=2_000)

    assert maker.num_made <= 8
    assert all(later > value for value, later in zip(values, values[251:], strict=False))


def test_while_no_value_can_be_made_no_older_one_is_shown() -> None:
    maker = Maker()
    asyncio.run(maker.value.get())
    maker.is_broken, maker.now_s = True, maker.now_s + 1.0

    for _ in range(10):
        with pytest.raises(NotReady):
            asyncio.run(maker.value.get())
    maker.is_broken = False

    assert asyncio.run(maker.value.get()) == maker.num_made


def test_the_metrics_ask_the_queue_no_more_often(
    client: FlaskClient, mailbox: FakeMailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe, asked = mailbox.observe, []
    monkeypatch.setattr(mailbox, "observe", lambda: asked.append(1) or observe())

    statuses = {client.get("/metrics").status_code for _ in range(200)}

    assert statuses == {200}
    assert len(asked) < 50

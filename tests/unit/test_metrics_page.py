"""GET /metrics, asked for by many at once."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from api.observe.metrics_page import FRESH_PER_S, MetricsPage
from scheduler.errors import NotReady
from tests.fake_corrector import FakeCorrector


class Maker:
    """Numbers its pages."""

    def __init__(self) -> None:
        self.now_s, self.num_made, self.is_broken = 100.0, 0, False
        self.page = MetricsPage(self.make, lambda: self.now_s)

    def make(self) -> bytes:
        if self.is_broken:
            raise NotReady("Redis does not answer.", 1.0)
        self.num_made += 1
        return b"%d" % self.num_made

    def ask(self, every_s: float, seconds: float) -> list[int]:
        pages = []
        for _ in range(round(seconds / every_s)):
            pages.append(int(self.page.text()))
            self.now_s += every_s
        return pages


def test_whoever_asks_now_and_then_gets_a_fresh_page_each_time() -> None:
    assert Maker().ask(every_s=0.5, seconds=5) == list(range(1, 11))
    assert Maker().ask(every_s=0.01, seconds=0.04) == [1, 2, 3, 4]


def test_a_thousand_requests_a_second_cost_four_pages_a_second_and_none_is_old() -> None:
    maker = Maker()

    pages = maker.ask(every_s=0.001, seconds=10)

    assert maker.num_made <= FRESH_PER_S * 11
    a_quarter = round(1000 / FRESH_PER_S) + 1
    assert all(later > page for page, later in zip(pages, pages[a_quarter:], strict=False))


def test_while_no_page_can_be_made_no_older_one_is_shown() -> None:
    maker = Maker()
    maker.ask(every_s=0.01, seconds=0.1)
    maker.is_broken, maker.now_s = True, maker.now_s + 1.0

    for _ in range(10):
        with pytest.raises(NotReady):
            maker.page.text()
    maker.is_broken = False

    assert int(maker.page.text()) == maker.num_made


def test_the_route_asks_the_queue_no_more_often(
    client: FlaskClient, corrector: FakeCorrector, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, asked = corrector.observe(), []
    monkeypatch.setattr(corrector, "observe", lambda: asked.append(1) or seen)

    statuses = {client.get("/metrics").status_code for _ in range(200)}

    assert statuses == {200}
    assert len(asked) < 50

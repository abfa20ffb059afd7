"""Reading /metrics: values by name and labels, and what is said when there is nothing to read."""

from __future__ import annotations

import pytest

from ops.load.client import LONGEST_BYTES
from ops.observe.scrape import ScrapeError, parse, scrape
from tests.small_server import http, small_servers

TEXT = """\
# TYPE miniserve_utilization gauge
miniserve_utilization 0.5
# TYPE miniserve_worker_running gauge
miniserve_worker_running{worker="a"} 3
miniserve_worker_running{worker="b"} 4
# TYPE miniserve_http_responses_total counter
miniserve_http_responses_total{route="/correct",status="200"} 10
miniserve_http_responses_total{route="/correct",status="503"} 2
miniserve_http_responses_total{route="/readyz",status="200"} 5
"""


def answer(text: str) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text.encode())


def test_values_are_found_by_name_and_all_labels_and_added_up_over_the_others() -> None:
    found = parse(TEXT)

    assert found.value("miniserve_utilization") == 0.5
    assert found.value("miniserve_worker_running", worker="b") == 4
    assert found.value("miniserve_http_responses_total", route="/correct") is None
    assert found.total("miniserve_http_responses_total", route="/correct") == 12
    assert found.by("miniserve_http_responses_total", "status") == {"200": 15, "503": 2}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (http(404, {}), "answers 404: is this the URL of a miniserve"),
        (http(503, {"detail": "Redis does not answer; \x1btry again"}), "answers 503: Redis does not answer; [?]try"),
        (None, "fails"),
        (answer("x" * (LONGEST_BYTES + 1)), "has more than"),
        (answer("miniserve_x notanumber\n"), "not in Prometheus"),
        (answer("python_info 1\n"), "no miniserve_ numbers"),
    ],
)
def test_an_answer_without_numbers_of_ours_is_refused_with_the_reason(given: bytes | None, fault: str) -> None:
    with small_servers() as start, pytest.raises(ScrapeError, match=fault):
        scrape(start(lambda _: given).url)

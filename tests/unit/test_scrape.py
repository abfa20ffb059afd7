"""Reading /metrics: what is said when there is nothing to read. tests/unit/test_top_view.py reads values."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from ops.cli import main
from ops.load.client import LONGEST_BYTES
from ops.observe.scrape import ScrapeError, scrape
from tests.small_server import http, small_servers


def answer(text: str) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text.encode())


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (http(404, {}), "answers 404: is this the URL of a miniserve"),
        (http(503, {"detail": "Redis does not answer; \x1btry again"}), "answers 503: Redis does not answer; [?]try"),
        (None, "fails"),
        (b"hello\r\n\r\n", "no HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "no HTTP"),
        (answer("x" * (LONGEST_BYTES + 1)), "has more than"),
        (answer("miniserve_x notanumber\n"), "not in Prometheus"),
        (answer("python_info 1\n"), "no miniserve_ numbers"),
    ],
)
def test_an_answer_without_numbers_of_ours_is_refused_with_the_reason(given: bytes | None, fault: str) -> None:
    with small_servers() as start, pytest.raises(ScrapeError, match=fault):
        scrape(start(lambda _: given).url)


@pytest.mark.parametrize(
    ("url", "status", "said"),
    [
        ("http://127.0.0.1:1", 1, "GET http://127.0.0.1:1/metrics fails (Connection refused): is it running there"),
        ("127.0.0.1", 2, "is no base URL; it must look like http://127.0.0.1:8000"),
    ],
)
@pytest.mark.parametrize("command", ["capacity", "top"])
def test_where_nobody_answers_a_line_says_so(command: str, url: str, status: int, said: str) -> None:
    result = CliRunner().invoke(main, [command, "--url", url])

    assert (result.exit_code, said in result.output, result.stdout) == (status, True, "")

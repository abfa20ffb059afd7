"""Reading /metrics: values by name and labels, histograms, and what is said when there is nothing to read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ops.observe.scrape import Histogram, ScrapeError, metrics_url, parse, scrape

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
# TYPE miniserve_e2e_request_latency_seconds histogram
miniserve_e2e_request_latency_seconds_bucket{le="0.1"} 50
miniserve_e2e_request_latency_seconds_bucket{le="0.5"} 90
miniserve_e2e_request_latency_seconds_bucket{le="+Inf"} 100
miniserve_e2e_request_latency_seconds_sum 20
miniserve_e2e_request_latency_seconds_count 100
"""
PROBLEM = b'{"type": "not-ready", "detail": "Redis does not answer; \\u001btry again"}'


@pytest.fixture
def base_url() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_ill = self.path == "/ill/metrics"
            self.send_response(503 if is_ill else 200 if self.path in ("/metrics", "/below/metrics") else 404)
            self.end_headers()
            self.wfile.write(PROBLEM if is_ill else TEXT.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_values_are_found_by_name_and_all_labels() -> None:
    found = parse(TEXT)

    assert found.value("miniserve_utilization") == 0.5
    assert found.value("miniserve_worker_running", worker="b") == 4
    assert found.value("miniserve_http_responses_total", route="/correct") is None
    assert found.value("miniserve_unheard_of") is None


def test_samples_are_added_up_over_the_labels_that_are_not_asked_for() -> None:
    found = parse(TEXT)

    assert found.total("miniserve_http_responses_total", route="/correct") == 12
    assert found.by("miniserve_http_responses_total", "status") == {"200": 15, "503": 2}


def test_a_histogram_without_observations_has_no_quantile() -> None:
    whole = parse(TEXT).histogram("miniserve_e2e_request_latency_seconds")

    assert Histogram().quantile(0.5) is None
    assert whole.since(whole).quantile(0.5) is None
    assert whole.since(whole).mean is None


def test_the_numbers_are_read_below_a_base_url_with_or_without_a_path(base_url: str) -> None:
    assert scrape(base_url).value("miniserve_utilization") == 0.5
    assert scrape(base_url + "/below/").value("miniserve_utilization") == 0.5


def test_a_server_that_is_no_miniserve_is_named_with_its_status(base_url: str) -> None:
    with pytest.raises(ScrapeError, match="answers 404"):
        scrape(base_url + "/elsewhere")


def test_a_server_without_its_redis_is_told_in_its_own_words(base_url: str) -> None:
    with pytest.raises(ScrapeError, match="answers 503: Redis does not answer; \\?try again"):
        scrape(base_url + "/ill")


def test_a_server_that_is_away_is_a_scrape_error_too() -> None:
    with pytest.raises(ScrapeError, match=r"fails \(Connection refused\): is it running there"):
        scrape("http://127.0.0.1:1")


@pytest.mark.parametrize("text", ["{} 1 2 3 x", "miniserve_x notanumber\n", "python_info 1\n", ""])
def test_text_that_holds_no_numbers_of_ours_is_refused(text: str) -> None:
    with pytest.raises(ScrapeError):
        parse(text)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://h", "http://", "http://h:x", "http://h/?q=1", "http://h:99999"]
)
def test_a_url_that_is_no_base_url_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ScrapeError, match="it must look like"):
        metrics_url(url)


def test_a_refused_url_shows_no_password() -> None:
    with pytest.raises(ScrapeError) as caught:
        metrics_url("http://user:secret@host")

    assert "secret" not in str(caught.value)

"""For whom the queue counts a request."""

from __future__ import annotations

import pytest

from scheduler.errors import RateLimited
from scheduler.settings import Settings
from tests.fake_corrector import FakeCorrector, client_of

FIRST, SECOND = "203.0.113.5", "203.0.113.6"


def clients(proxies: str, *requests: tuple[str, str]) -> list[str]:
    """Of requests by address and X-Forwarded-For."""
    corrector = FakeCorrector()
    http = client_of(corrector, Settings(trusted_proxies=proxies))
    for address, forwarded in requests:
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        http.post("/correct", json={"sentence": "He goed"}, headers=headers, environ_base={"REMOTE_ADDR": address})
    return [job.exchange.client for job in corrector.jobs]


def test_each_address_is_a_client_and_what_it_claims_changes_nothing() -> None:
    one, claimed, other = clients("", (FIRST, ""), (FIRST, SECOND), (SECOND, ""))

    assert one == claimed != other
    assert one.isdecimal() and FIRST not in one


def test_behind_a_trusted_proxy_it_is_whom_the_proxy_names() -> None:
    one, other, direct = clients("10.0.0.0/8", ("10.0.0.1", FIRST), ("10.0.0.1", SECOND), (FIRST, ""))

    assert one == direct != other


def test_a_socket_without_addresses_is_not_limited() -> None:
    assert clients("", ("", "")) == [""]


@pytest.mark.parametrize("path", ["/correct", "/correct/batch"])
def test_a_client_that_holds_its_share_gets_429_and_when_to_come_back(path: str) -> None:
    corrector = FakeCorrector()
    corrector.error = RateLimited("This client holds its share.", 7)
    body = {"sentence": "He goed"} if path == "/correct" else {"sentences": ["He goed"]}

    response = client_of(corrector).post(path, json=body)

    assert (response.status_code, response.headers["Retry-After"]) == (429, "7")
    assert response.get_json()["type"] == "urn:miniserve:problem:rate-limited"

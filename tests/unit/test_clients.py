"""For whom the queue counts a request."""

from __future__ import annotations

import pytest

from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, client_of

FIRST, SECOND, PROXY, PROXIES = "203.0.113.5", "203.0.113.6", "10.0.0.1", "10.0.0.0/8"


@pytest.mark.parametrize(
    ("proxies", "one", "same", "other"),
    [
        ("", (FIRST, ""), (FIRST, SECOND), (SECOND, "")),  # what it claims changes nothing
        (PROXIES, (PROXY, FIRST), (FIRST, ""), (PROXY, SECOND)),
        ("", ("2001:db8:1:2::1", ""), ("2001:db8:1:2:ffff::9", ""), ("2001:db8:1:3::1", "")),
    ],
)
def test_each_address_is_a_client_and_of_ipv6_each_network(
    proxies: str, one: tuple[str, str], same: tuple[str, str], other: tuple[str, str]
) -> None:
    mailbox = FakeMailbox()
    client = client_of(mailbox, Settings(trusted_proxies=proxies))
    for address, forwarded in (one, same, other):
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        client.post("/correct", json={"sentence": "He goed"}, headers=headers, environ_base={"REMOTE_ADDR": address})

    first, second, third = (exchange.client for exchange in mailbox.exchanges)
    assert first == second != third
    assert first.isdecimal() and one[0] not in first  # RQ's tools show the queue

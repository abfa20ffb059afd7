"""Whose address a request counts for, with and without proxies that are trusted."""

from __future__ import annotations

import sys

import pytest

from scheduler.addresses import ClientAddresses
from scheduler.settings import Settings
from tests.fake_mailbox import FakeMailbox, client_of

PROXIES = "10.0.0.7, 172.18.0.0/16, fd00::/8"


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "198.51.100.9", "192.0.2.1"),
        ("10.0.0.7", "198.51.100.9", "198.51.100.9"),
        ("10.0.0.7", "", "10.0.0.7"),
        ("10.0.0.7", "not an address", "10.0.0.7"),
        ("10.0.0.7", "203.0.113.5, 198.51.100.9", "198.51.100.9"),
        ("10.0.0.7", "203.0.113.5, 198.51.100.9,172.18.3.4", "198.51.100.9"),
        ("10.0.0.7", "198.51.100.9:5678", "198.51.100.9"),
        ("10.0.0.7", "198.51.100.9:5678, 172.18.3.4:80", "198.51.100.9"),
        ("10.0.0.7", "[2001:db8:1:2::9]:443", "2001:db8:1:2::"),
        ("10.0.0.7", "198.51.100.9, [fd00::1]", "198.51.100.9"),
        ("10.0.0.7", "198.51.100.9, [fd00::1]:x", "10.0.0.7"),
        ("10.0.0.7", "198.51.100.9:5678:9", "10.0.0.7"),
        ("::ffff:10.0.0.7", "198.51.100.9", "198.51.100.9"),
        ("fd00::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff::", "", "2001:db8:1:2::"),
        ("::ffff:192.0.2.1", "", "192.0.2.1"),
        ("", "", ""),
    ],
)
def test_the_client_is_the_last_address_that_no_trusted_proxy_has(peer: str, forwarded_for: str, client: str) -> None:
    assert ClientAddresses(PROXIES).of(peer, forwarded_for) == client


def test_without_trusted_proxies_nobody_may_name_another() -> None:
    assert ClientAddresses("").of("10.0.0.7", "198.51.100.9") == "10.0.0.7"


def test_a_chain_of_any_length_costs_no_more_than_its_end() -> None:
    chain = "198.51.100.9," + "10.0.0.7," * 100_000

    assert ClientAddresses(PROXIES).of("10.0.0.7", chain + "192.0.2.4") == "192.0.2.4"


@pytest.mark.parametrize("proxies", ["", PROXIES])
def test_nothing_long_that_a_client_sends_is_remembered(proxies: str) -> None:
    addresses = ClientAddresses(proxies)
    sent = "198.51.100.9," * 2_000
    num_references = sys.getrefcount(sent)

    addresses.of("10.0.0.7", sent)

    assert sys.getrefcount(sent) == num_references


def test_the_queue_counts_a_request_for_its_client_and_is_not_told_the_address(mailbox: FakeMailbox) -> None:
    client = client_of(mailbox, Settings(trusted_proxies=PROXIES))
    for peer, forwarded_for in (("10.0.0.7", "198.51.100.9"), ("198.51.100.9", "192.0.2.1"), ("192.0.2.1", "")):
        headers = {"X-Forwarded-For": forwarded_for}
        client.post("/correct", json={"sentence": "He goed"}, headers=headers, environ_base={"REMOTE_ADDR": peer})

    first, second, third = (exchange.client for exchange in mailbox.exchanges)
    assert first == second != third
    assert first.isdecimal() and "198.51" not in first  # RQ's tools show the queue

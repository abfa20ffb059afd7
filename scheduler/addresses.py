"""Whose address a request comes from: the connection's own, or behind a trusted proxy the one that the proxy names.

Shares of connections and of the queue are counted by it. Pure text; nothing is looked up.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

_LONGEST_LIST = 1024  # characters of X-Forwarded-For that are read, from its end: the proxies nearest to us wrote it
_WITH_PORT = re.compile(r"^\[([^\]]*)\](?::\d+)?$|^([^:]*):\d+$")  # as some proxies write them
_SITE_BITS = 64  # one customer has at least so large an IPv6 network, so one address of it stands for all

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ClientAddresses:
    """Finds the client of a request, given the proxies that are trusted."""

    def __init__(self, proxies: str) -> None:
        self._networks = networks_of(proxies)
        # Not methods with a cache: those would keep the object alive.
        self._of = lru_cache(4096)(self._find)
        self.is_proxy = lru_cache(4096)(self._is_trusted)

    def of(self, peer: str, forwarded_for: str = "") -> str:
        """Return the client of a request. Without proxies its own claims are no proof; nothing long is remembered."""
        return self._of(peer, forwarded_for[-_LONGEST_LIST:] if self._networks else "")

    def _find(self, peer: str, forwarded_for: str) -> str:
        """Return the last address of the chain that is no trusted proxy; anybody may have written those before it."""
        client = peer
        for entry in reversed(forwarded_for.split(",")):
            named = _WITH_PORT.sub(r"\1\2", entry.strip())
            if not self.is_proxy(client) or _read(named) is None:
                break
            client = named
        found = _read(client)
        if found is None:  # of a socket without addresses
            return client
        if found.version == 4:
            return str(found)
        return str(ipaddress.ip_network((found, _SITE_BITS), strict=False).network_address)

    def _is_trusted(self, address: str) -> bool:
        found = _read(address)
        return found is not None and any(found in network for network in self._networks)


def networks_of(proxies: str) -> tuple[Network, ...]:
    """Read addresses and networks that commas separate. Raises ValueError."""
    return tuple(ipaddress.ip_network(each.strip()) for each in proxies.split(",") if each.strip())


def proxies_fault(proxies: str) -> str:
    """Return what is wrong with a list of proxies, in words; nothing where it is sound."""
    try:
        networks_of(proxies)
    except ValueError as error:
        return f"it takes addresses and networks such as 10.0.0.7, 172.18.0.0/16; {error}"
    return ""


def _read(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found

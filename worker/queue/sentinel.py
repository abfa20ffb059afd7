"""A Redis that sentinels watch: its URL, taken apart, and a client that asks them where the primary is now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlencode

from redis import Redis
from redis.connection import parse_url
from redis.sentinel import MasterNotFoundError, Sentinel

from scheduler.urls import SENTINEL_OPTIONS, host_and_port, is_sentinel_url, redis_url_fault, split_url

# A sentinel that does not answer costs this much before the next is asked. Three fit into the patience of a request.
ASK_TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True)
class SentinelUrl:
    """A sound URL of one of SENTINEL_SCHEMES, taken apart."""

    sentinels: tuple[tuple[str, int], ...]
    service: str  # the name under which they watch the primary
    redis_url: str = field(repr=False)  # the primary's, but with a sentinel's address in the place of its own
    sentinel_username: str | None = None
    sentinel_password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str) -> SentinelUrl:
        """Raises ValueError where `redis_url_fault` finds one."""
        if not is_sentinel_url(url) or (fault := redis_url_fault(url)):
            raise ValueError(fault if is_sentinel_url(url) else "it names no sentinels")
        scheme, authority, path, options = split_url(url)
        login, at, hosts = authority.rpartition("@")
        sentinels = tuple(host_and_port(host) for host in hosts.split(","))
        _, service, *database = path.split("/")
        of_sentinels = {name: value for name, value in options if name in SENTINEL_OPTIONS}
        of_redis = urlencode([option for option in options if option[0] not in SENTINEL_OPTIONS])
        plain = f"{scheme.removesuffix('+sentinel')}://{login}{at}{hosts.split(',')[0]}/{''.join(database)}"
        return cls(sentinels, unquote(service), plain + (f"?{of_redis}" if of_redis else ""), **of_sentinels)


class _Sentinels(Sentinel):
    """The sentinels that know where the primary is; their failure is one line instead of pages."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        try:
            return super().discover_master(service_name)
        except MasterNotFoundError:
            reasons = "they elect one, or do not know that name, or cannot be reached"
            raise MasterNotFoundError(f"no sentinel names a primary of {service_name!r}: {reasons}") from None


def client_of_the_primary(url: str, options: dict[str, Any]) -> Redis:
    """`options` are those of each connection; to the sentinels they hold too, but for the timeouts."""
    known = SentinelUrl.parse(url)
    about = parse_url(known.redis_url)
    tls = {name: value for name, value in about.items() if name.startswith("ssl_")}
    if "connection_class" in about:  # redis-py's way to say TLS
        tls["ssl"] = True
    login = {"username": known.sentinel_username, "password": known.sentinel_password}
    timeouts = {"socket_timeout": ASK_TIMEOUT_S, "socket_connect_timeout": ASK_TIMEOUT_S}
    sentinels = _Sentinels(known.sentinels, sentinel_kwargs={**options, **tls, **login, **timeouts})
    of_the_redis = {name: about[name] for name in ("db", "username", "password") if name in about}
    return sentinels.master_for(known.service, **options, **tls, **of_the_redis)

"""redis-py for rq-dashboard and the drills. All else does without (line.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlencode

from redis import Redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel

from scheduler.urls import SENTINEL_OPTIONS, host_and_port, is_sentinel_url, split_url
from worker.queue.line import ASK_TIMEOUT_S, KEEPALIVE


def connect(url: str, socket_timeout_s: float = 2.0) -> Redis:
    """A client that opens nothing yet.

    The pool takes tickets of TLS 1.3 for data and gives up a connection that has read nothing yet: half of the first
    commands failed. The handshake of RESP3 reads them.
    """
    options: dict[str, Any] = {
        "protocol": 3,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": socket_timeout_s,
        "socket_connect_timeout": socket_timeout_s,
        "driver_info": None,  # a user with few rights may not report its library's name
    }
    if not url.startswith("unix://"):
        options |= {"socket_keepalive": True, "socket_keepalive_options": KEEPALIVE}
    return _of_sentinels(url, options) if is_sentinel_url(url) else Redis.from_url(url, **options)


def _of_sentinels(url: str, options: dict[str, Any]) -> Redis:
    """Each connection asks them where the primary is. To them goes a login of their own, and our TLS."""
    scheme, authority, path, pairs = split_url(url)
    login, at, hosts = authority.rpartition("@")
    service, _, database = path.strip("/").partition("/")
    plain = f"{scheme.removesuffix('+sentinel')}://{login}{at}primary/{database}"
    known = parse_url(f"{plain}?{urlencode([pair for pair in pairs if pair[0] not in SENTINEL_OPTIONS])}")
    tls = {name: value for name, value in known.items() if name.startswith("ssl_")} | {"ssl": scheme[:6] == "rediss"}
    own = {name.removeprefix("sentinel_"): unquote(value) for name, value in pairs if name in SENTINEL_OPTIONS}
    patience = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), ASK_TIMEOUT_S)
    sentinels = Sentinel(
        [host_and_port(host) for host in hosts.split(",")], sentinel_kwargs=options | tls | own | patience
    )
    primary: Redis = sentinels.master_for(unquote(service), **options, **tls, **_login_of(known))
    return primary


def _login_of(known: Mapping[str, Any]) -> dict[str, Any]:
    return {name: known[name] for name in ("username", "password", "db") if name in known}

"""A client of a Redis that sentinels watch: every new connection asks them where the primary is now.

They say so before a failover is over, too: the address is then still the dead one's, or there is none. Both count as a
connection that failed, and who needs one tries again. That the process there is the primary indeed, the line itself
looks at when it opens.
"""

from __future__ import annotations

from typing import Any

from redis import Redis
from redis.connection import parse_url
from redis.sentinel import MasterNotFoundError, Sentinel

from scheduler.redis_url import SentinelUrl

# A sentinel that does not answer costs this much before the next is asked. Three fit into the patience of a request.
ASK_TIMEOUT_S = 0.5


class _Sentinels(Sentinel):
    """Says in a line what redis-py says in pages."""

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

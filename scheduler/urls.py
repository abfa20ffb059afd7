"""URLs of a Redis: what a sound one is, and how it may be shown. Nothing here connects.

Two schemes more than redis-py has are for a Redis that sentinels watch, `redis+sentinel://` and `rediss+sentinel://`
(TLS, to the sentinels, too): the hosts are the sentinels, which know where the primary is. The form is rq-dashboard's.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

SENTINEL_SCHEMES = ("redis+sentinel://", "rediss+sentinel://")
REDIS_SCHEMES = ("redis://", "rediss://", "unix://", *SENTINEL_SCHEMES)
SENTINEL_PORT = 26379
_NO_ADDRESS = "the part after // must be HOST or HOST:PORT, the port a whole number, 1 to 65,535"
_NO_DATABASE = "after the host comes the number of a database, as in /0"
_SEVERAL = (
    "it must name one Redis; for more load run several deployments behind a balancer that hashes the client: "
    "docs/proxies.md"
)
_NO_SERVICE = "after the sentinels comes the name they know the Redis by, and perhaps a database, as in /mymaster/0"
# Not all that redis-py takes: a timeout given here would replace ours, which the lease depends on.
_OPTIONS = ("db", "username", "password")
_TLS_OPTIONS = (
    "ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password", "ssl_check_hostname", "ssl_cert_reqs",
)  # fmt: skip
SENTINEL_OPTIONS = ("sentinel_username", "sentinel_password")
_CERT_REQS = ("none", "optional", "required")


def is_sentinel_url(url: str) -> bool:
    return url.startswith(SENTINEL_SCHEMES)


def redis_url_fault(url: str) -> str | None:
    """What a Redis URL must be and is not; None for a sound one and for none at all."""
    if not url:
        return None
    if not url.startswith(REDIS_SCHEMES):
        return f"it must begin with {', '.join(REDIS_SCHEMES[:-1])} or {REDIS_SCHEMES[-1]}"
    if re.search(r",\s*[a-z+]+://", url):
        return _SEVERAL
    scheme, authority, path, options = split_url(url)
    return _place_fault(scheme, authority.rpartition("@")[2], path) or _options_fault(scheme, options)


def _place_fault(scheme: str, hosts: str, path: str) -> str | None:
    if scheme == "unix":
        is_socket = path and not hosts
        return None if is_socket else "after unix:// comes the path of a socket, as in unix:///tmp/s"
    is_watched = scheme.endswith("+sentinel")
    if not hosts or hosts.startswith(":"):
        return "it names no host"
    try:
        for host in hosts.split(",") if is_watched else [hosts]:
            host_and_port(host)
    except ValueError:  # also brackets that hold no IPv6 address
        return _NO_ADDRESS
    form, fault = (r"/[^/]+(/\d*)?", _NO_SERVICE) if is_watched else (r"/?\d*", _NO_DATABASE)
    return None if re.fullmatch(form, path) else fault


def _options_fault(scheme: str, options: list[tuple[str, str]]) -> str | None:
    known = _OPTIONS + (_TLS_OPTIONS if scheme.startswith("rediss") else ())
    known += SENTINEL_OPTIONS if scheme.endswith("+sentinel") else ()
    for name, value in options:
        if name in _TLS_OPTIONS and name not in known:
            return f"{name} is an option of rediss://"
        if name not in known:
            return f"it takes no option {name}, only {', '.join(known)}"
        if name == "db" and not value.isdecimal():
            return "db is the number of a database"
        if name == "ssl_cert_reqs" and value not in _CERT_REQS:
            return f"ssl_cert_reqs is one of {', '.join(_CERT_REQS)}"
    return None


def hide_password(url: str) -> str:
    """A URL as it may be shown. What looks like no URL may hold a password, too."""
    url = re.sub(r"^([a-z+]*://)?([^/@:]*):.*@", r"\1\2:***@", url)
    return re.sub(r"(password=)[^&]*", r"\1***", url)


def split_url(url: str) -> tuple[str, str, str, list[tuple[str, str]]]:
    """Scheme, authority, path, options. Not by `urlsplit`, which takes several hosts for one."""
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("#")[0].partition("?")
    authority, slash, path = rest.partition("/")
    return scheme, authority, slash + path, parse_qsl(query, keep_blank_values=True)


def host_and_port(host: str, usual_port: int = SENTINEL_PORT) -> tuple[str, int]:
    """Raises ValueError."""
    parts = urlsplit(f"//{host}")
    if not parts.hostname or parts.port == 0 or parts.path or "," in host:
        raise ValueError(_NO_ADDRESS)
    return parts.hostname, parts.port or usual_port

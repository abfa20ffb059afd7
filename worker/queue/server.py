"""Which servers our scripts can run on, by what INFO says."""

from __future__ import annotations

from collections.abc import Mapping

OLDEST_VERSION = (6, 2, 0)  # BLMOVE, LPOP with a count, GETDEL


def facts_of(info: bytes) -> dict[str, str]:
    """The lines of INFO by name; empty where a user may not ask."""
    lines = (line.partition(":") for line in info.decode(errors="replace").split("\r\n"))
    return {name: value for name, colon, value in lines if colon}


def server_fault(facts: Mapping[str, object]) -> str:
    """The reason, and the remedy behind a colon; '' for a server that serves."""
    mode = str(facts.get("server_mode") or facts.get("redis_mode") or "standalone")  # Valkey has its own name for it
    if mode == "cluster" or str(facts.get("cluster_enabled")) == "1":
        return "this Redis runs in cluster mode, where our scripts cannot run: name one with cluster-enabled no"
    if mode == "sentinel":
        return (
            "this is a sentinel and no Redis: write redis+sentinel://HOST:PORT/NAME/0 for the primary that it watches"
        )
    version = str(facts.get("redis_version") or "")
    if version and tuple(int(part) for part in version.split(".")[:3] if part.isdecimal()) < OLDEST_VERSION:
        return (
            f"this Redis is {version}, too old for our scripts: take {'.'.join(map(str, OLDEST_VERSION[:2]))} or later"
        )
    if facts.get("role") == "slave":  # it would answer all that reads, with what was true a moment ago
        return "this Redis is a replica: name its primary, or its sentinels as redis+sentinel://"
    return ""

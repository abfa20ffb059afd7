"""Surroundings in which `miniserve up` finds no Redis but the one that is installed with it."""

from __future__ import annotations

from pathlib import Path


def only_the_bundled_redis(empty_directory: Path) -> dict[str, str]:
    """Environment variables: a PATH without any program, and so without a system redis-server."""
    return {"PATH": str(empty_directory)}

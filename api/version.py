"""The version of the package."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def package_version() -> str:
    try:
        return version("miniserve")
    except PackageNotFoundError:  # run from a checkout
        return "unknown"

"""The browser and the systems of tests/system, for clients that others wrote."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.pace import patient
from tests.system.conftest import browser, keyed_site, site, system

__all__ = ["browser", "keyed_site", "site", "system"]
expect.set_options(timeout=1e3 * patient(20))

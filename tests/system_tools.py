"""Programs that only tests/system needs. `make test-system` has ops/deploy/system_tools.sh see that they are there."""

from __future__ import annotations

import os
import shutil

_SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # not on everybody's PATH


def find(command: str) -> str:
    """Where the program is. Raises AssertionError that says what to do where it is missing."""
    found = shutil.which(command, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_SYSTEM_PATHS]))
    assert found, f"{command} is missing: run ops/deploy/system_tools.sh"
    return found

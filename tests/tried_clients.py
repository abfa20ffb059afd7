"""Which clients of LanguageTool `make test-system` has tried: its last line, by `python -m tests.tried_clients`.

A client is a program of others, or the request that one sends where no registry has it. Where the program is missing
the test fails on Debian 12, whose packages ops/deploy/system_tools.sh installs; elsewhere it is left out, and said so.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import system_tools

CLIENTS = (
    "language_tool_python", "language_tool_python 3.3.1", "pylanguagetool", "gramma", "quill-languagetool", "Emacs",
    "LibreOffice", "TeXstudio", "request of LTeX", "request of languagetool-rust", "request of Lokalize",
    "request of requests", "request of curl",
)  # fmt: skip
_NOTES = Path(sys.prefix, "tried-clients")


@contextmanager
def tried(client: str, program: str = "") -> Iterator[None]:
    """Note a client whose test has passed."""
    assert client in CLIENTS
    if program and not is_complete() and not system_tools.has(program):
        pytest.skip(f"no {program} here: {client} was not tried")
    yield
    _NOTES.mkdir(exist_ok=True)
    (_NOTES / client).touch()


def is_complete() -> bool:
    """Whether this system has a package of every program."""
    try:
        about = platform.freedesktop_os_release()
    except OSError:
        return False
    return (about.get("ID"), about.get("VERSION_ID")) == ("debian", "12")


def main() -> int:
    noted = [client for client in CLIENTS if (_NOTES / client).exists()]
    missing = [client for client in CLIENTS if client not in noted]
    print(f"clients of LanguageTool tried, {len(noted)} of {len(CLIENTS)}: {', '.join(noted)}", end="")
    print(f"; NOT TRIED: {', '.join(missing)}" if missing else "; none left out")
    return 1 if missing and is_complete() else 0


if __name__ == "__main__":
    sys.exit(main())

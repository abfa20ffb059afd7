"""Whether a process may write temporary files. Imports nothing heavy."""

from __future__ import annotations

import tempfile

import click

NO_FOLDER = "no folder for temporary files can be written"
NAME_ONE = "set TMPDIR to one that can"


def temporary_fault() -> str | None:
    try:
        with tempfile.TemporaryFile():
            return None
    except OSError as error:
        return error.strerror


def check_temporary() -> None:
    """Raises click.ClickException where nothing can be written."""
    if fault := temporary_fault():
        raise click.ClickException(f"{NO_FOLDER} ({fault}): {NAME_ONE}")

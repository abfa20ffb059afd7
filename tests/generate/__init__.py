"""`make generate`: files and tables that the code knows already, which are committed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.generate import compose, drawings, kubernetes, rules, tables

ROOT = Path(__file__).resolve().parents[2]


def generated() -> Mapping[Path, str]:
    """What each of the files should hold."""
    files = {**rules.files(), **kubernetes.files(ROOT), **tables.files(ROOT), **compose.files(ROOT), **drawings.files()}
    return {ROOT / name: text for name, text in files.items()}

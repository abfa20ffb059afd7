"""LibreOffice and TeXstudio, with this server for their grammar checks: the marks that their users see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.desktop_editors import Screen, libreoffice_marks, texstudio_picture
from tests.running_system import RunningSystem
from tests.tried_clients import tried

SENTENCES = {
    "He goed home & slept 100% + 5%25.": [("goed", "went")],
    "Caf\u00e9s was full. \U0001f600 She have writed it.": [("was", "were"), ("have", "has"), ("writed", "written")],
    "They went home.": [],
}


@pytest.fixture(scope="module")
def system() -> Iterator[RunningSystem]:
    with RunningSystem() as system:
        yield system


def test_libreoffice_finds_the_mistakes_in_their_places(system: RunningSystem, tmp_path: Path) -> None:
    with tried("LibreOffice", "soffice"):
        found = libreoffice_marks(system.url, tmp_path, list(SENTENCES))

        for places, (text, wanted) in zip(found, SENTENCES.items(), strict=True):
            units = text.encode("utf-16-le")
            words = [units[2 * start : 2 * (start + length)].decode("utf-16-le") for start, length, *_ in places]
            assert [(word, right) for word, (_, _, (right, *_), _) in zip(words, places, strict=True)] == wanted
            assert all(why for *_, why in places)


def test_texstudio_shows_the_marks_below_the_words(system: RunningSystem, tmp_path: Path) -> None:
    with tried("TeXstudio", "texstudio"), Screen() as screen:
        texstudio_picture(system.url, tmp_path, screen)

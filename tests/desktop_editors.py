"""LibreOffice and TeXstudio as people use them, with this server for their grammar checks, on a screen of their own."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from PIL import Image, ImageGrab

from tests import system_tools
from tests.pace import patient
from tests.running_system import wait_until

TEXT = "Last summer we was in Italy. My brother swimmed every day, and my sister have learned Italian."
NUM_MARKS = 3
PATIENCE_S = 120.0  # two programs of a hundred megabytes, on a machine that is busy
SIZE = "1000x600"
_REMOTE = Path(__file__).with_name("libreoffice_remote.py")
_PROFILE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Linguistic/GrammarChecking/LanguageTool"><prop oor:name="BaseURL"
 oor:op="fuse"><value>{url}/v2</value></prop></item>
<item oor:path="/org.openoffice.Office.Linguistic/GrammarChecking/LanguageTool"><prop oor:name="IsEnabled"
 oor:op="fuse"><value>true</value></prop></item>
<item oor:path="/org.openoffice.Office.Linguistic/ServiceManager/GrammarCheckerList"><prop oor:name="en-US"
 oor:op="fuse" oor:type="oor:string-list"><value><it>org.openoffice.lingu.LanguageToolGrammarChecker</it></value>
</prop></item>
</oor:items>
"""
_TEXSTUDIO = r"""[texmaker]
Grammar\Language%20Tool%20URL={url}/
Grammar\Language%20Tool%20Autorun=false
Editor\Check%20Grammar=true
Editor\Check%20Spelling=false
Spell\DictionaryDir={folder}/dictionaries
Spell\Language=en_US
Update\AutoCheck=false

[formats]
version=1.0
data\grammarMistake\waveUnderline=true
data\grammarMistake\linescolor=#d0107f
data\grammarMistake\priority=-1
"""
Colour = Callable[[int, int, int], bool]
Place = tuple[int, int, list[str], str]  # offset, length, suggestions, why


class Screen:
    """An X server that nobody sees."""

    def __init__(self) -> None:
        ours, its = os.pipe()
        # Else it starts anew whenever its last client leaves, as each picture does before the editor is there.
        about = ["-noreset", "-nolisten", "tcp", "-screen", "0", f"{SIZE}x24"]
        command = [system_tools.find("Xvfb"), "-displayfd", str(its), *about]
        self._process = subprocess.Popen(command, pass_fds=(its,), stderr=subprocess.DEVNULL)
        os.close(its)
        with os.fdopen(ours) as number:
            self.display = f":{number.readline().strip()}"
        self.env = os.environ | {"DISPLAY": self.display}

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def picture(self) -> Image.Image:
        return ImageGrab.grab(xdisplay=self.display).convert("RGB")

    def type(self, *command: str) -> bool:
        """Whether xdotool did it."""
        return (
            subprocess.run([system_tools.find("xdotool"), *command], env=self.env, capture_output=True).returncode == 0
        )


def num_marks(picture: Image.Image, box: tuple[int, int, int, int], is_mark: Colour) -> int:
    """How many words have a wave below them: columns that have its colour, and lie together."""
    part = picture.crop(box)
    pixels = part.load()
    columns = [x for x in range(part.width) if any(is_mark(*pixels[x, y]) for y in range(part.height))]
    return sum(x - before > 4 for before, x in zip([-10, *columns], columns, strict=False))


@contextmanager
def libreoffice(
    url: str, folder: Path, what: str, *options: str, env: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """The remote control of a LibreOffice, whose base URL is `url`/v2; at the end both have ended."""
    profile, pipe = folder / "profile", f"miniserve-{secrets.token_hex(4)}"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_PROFILE.format(url=url))
    command = [system_tools.find("soffice"), f"-env:UserInstallation={profile.as_uri()}", "--norestore", "--nologo"]
    office = subprocess.Popen(
        [*command, f"--accept=pipe,name={pipe};urp;", *options], env=env, stderr=subprocess.DEVNULL
    )
    remote = subprocess.Popen(
        ["/usr/bin/python3", str(_REMOTE), pipe, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield remote
        remote.communicate(timeout=patient(PATIENCE_S))
        office.wait(patient(PATIENCE_S))
    finally:
        for process in (remote, office):
            process.kill()
            process.wait()


def libreoffice_marks(url: str, folder: Path, texts: Sequence[str]) -> list[list[Place]]:
    """What its client of LanguageTool finds in each text."""
    with libreoffice(url, folder, "marks", "--headless", env=dict(os.environ)) as remote:
        return [[tuple(place) for place in json.loads(_ask(remote, text))] for text in texts]


def libreoffice_picture(url: str, folder: Path, screen: Screen) -> Image.Image:
    """Its window, once the marks are there."""
    with libreoffice(url, folder, "window", env=screen.env | {"SAL_USE_VCLPLUGIN": "gen"}) as remote:
        _ask(remote, TEXT)
        return _marked(screen, (60, 125, 880, 400), lambda red, green, blue: red - blue > 60 and green > blue)


def texstudio_picture(url: str, folder: Path, screen: Screen) -> Image.Image:
    """Its window, once the marks are there."""
    for path, text in {
        "home/.config/texstudio/texstudio.ini": _TEXSTUDIO.format(url=url, folder=folder),
        "dictionaries/en_US.aff": "SET UTF-8\n", "dictionaries/en_US.dic": "1\nword\n",
        "thesis.tex": f"\\documentclass{{article}}\n\n\\begin{{document}}\n{TEXT}\n\\end{{document}}\n",
    }.items():  # fmt: skip
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    env = screen.env | {"HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder / "home" / ".config")}
    command = [system_tools.find("texstudio"), "--no-session", str(folder / "thesis.tex")]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def again() -> None:
        screen.type("search", "--onlyvisible", "--name", "^TeXstudio$", "key", "Return")  # no LaTeX: it warns
        screen.type("search", "--name", "thesis.tex - TeXstudio", "windowmove", "0", "0", "windowsize", "1000", "600")
        screen.type("key", "Down")  # it draws marks with the next change of a line

    try:
        return _marked(
            screen, (345, 95, 1000, 300), lambda red, green, blue: red - green > 60 and blue - green > 30, again
        )
    finally:
        process.kill()
        process.wait()


def _ask(remote: subprocess.Popen[str], line: str) -> str:
    given: IO[str] | None = remote.stdin
    assert given is not None and remote.stdout is not None
    given.write(f"{line}\n")
    given.flush()
    answer = remote.stdout.readline()
    assert answer, "LibreOffice or its remote control has ended"
    return answer


def _marked(
    screen: Screen, box: tuple[int, int, int, int], is_mark: Colour, again: Callable[[], None] = lambda: None
) -> Image.Image:
    pictures: list[Image.Image] = []

    def is_there() -> bool:
        again()
        pictures[:] = [screen.picture()]
        return num_marks(pictures[0], box, is_mark) == NUM_MARKS

    try:
        wait_until(is_there, PATIENCE_S, f"{NUM_MARKS} marks on the screen")
    except AssertionError:
        print(f"the screen: {_kept(pictures[0])}", file=sys.stderr)
        raise
    return pictures[0]


def _kept(picture: Image.Image) -> Path:
    path = Path(os.environ.get("TMPDIR", "/tmp"), f"miniserve-screen-{os.getpid()}.png")
    picture.save(path)
    return path

"""Programs that only tests need: from the PATH, or unpacked from Debian's package into the virtual environment.

Unpacking takes no root and starts no server, as installing the package would.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

_SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_PATIENCE_S = 240


@cache
def find(command: str, package: str) -> str:
    """Where the program is. Raises AssertionError that says what to do where it cannot be had."""
    folder = Path(sys.prefix) / "debian-tools" / package
    unpacked = [str(folder / "usr" / "bin"), str(folder / "usr" / "sbin")]
    paths = os.pathsep.join([os.environ.get("PATH", ""), *_SYSTEM_PATHS, *unpacked])
    if shutil.which(command, path=paths) is None:
        _unpack(package, folder)
    found = shutil.which(command, path=paths)
    assert found, f"{command} is missing: apt install {package}"
    return found


def _unpack(package: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not _download(package, folder) and os.geteuid() == 0:  # without package lists nothing can be downloaded
        _run("apt-get", "update", "-qq", folder=folder)
        _download(package, folder)
    for archive in folder.glob(f"{package}_*.deb"):
        _run("dpkg-deb", "-x", str(archive), ".", folder=folder)
        archive.unlink()


def _download(package: str, folder: Path) -> bool:
    return _run("apt-get", "download", "-qq", package, folder=folder)


def _run(*command: str, folder: Path) -> bool:
    try:
        return subprocess.run(command, cwd=folder, timeout=_PATIENCE_S, stdout=sys.stderr).returncode == 0
    except OSError:  # no Debian
        return False

"""Proxies as docs/proxies.md shows them, on free ports, as children of the test."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from ops.run.embedded_redis import free_port
from tests import system_tools
from tests.running_system import wait_until

DOCS = Path(__file__).resolve().parents[1] / "docs"
_APACHE_MODULES = ("mpm_event", "authz_core", "proxy", "proxy_http")


def _nginx(folder: Path, shown: str, _: int) -> tuple[str, list[str]]:
    places = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    logs = _blocks("proxies", "Logs")[0].replace("/var/log/nginx/", f"{folder}/")
    text = f"pid {folder}/pid;\nevents {{}}\nhttp {{\n{logs}{places}{shown}}}\n"
    return text, ["nginx", "-c", "{}", "-e", "stderr", "-g", "daemon off;"]


def _haproxy(folder: Path, shown: str, _: int) -> tuple[str, list[str]]:
    return shown, ["haproxy", "-db", "-f", "{}"]


def _caddy(folder: Path, shown: str, _: int) -> tuple[str, list[str]]:
    return f"{{\n\tadmin off\n}}\n{shown}", ["caddy", "run", "--adapter", "caddyfile", "--config", "{}"]


def _apache(folder: Path, shown: str, _: int) -> tuple[str, list[str]]:
    modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in _APACHE_MODULES)
    own = f"ServerRoot {folder}\nServerName localhost\nDefaultRuntimeDir {folder}\nPidFile {folder}/pid\n"
    return f"{modules}{own}ErrorLog {folder}/errors\n{shown}", ["apache2", "-D", "FOREGROUND", "-f", "{}"]


def _varnish(folder: Path, shown: str, port: int) -> tuple[str, list[str]]:
    command = ["varnishd", "-F", "-n", f"{folder}/varnish", "-a", f"127.0.0.1:{port}", "-f", "{}"]
    return shown, [*command, "-s", "malloc,16m"]


_KINDS: dict[str, Callable[[Path, str, int], tuple[str, list[str]]]] = {
    "nginx": _nginx, "HAProxy": _haproxy, "Caddy": _caddy, "Apache": _apache, "Varnish": _varnish,
}  # fmt: skip
NAMES = tuple(_KINDS)


class Proxy:
    """One of them. `shown`: its configuration, with port 8080. `idle_s`: in place of the shown 60 s of keep-alive."""

    def __init__(self, name: str, shown: str, idle_s: int = 60) -> None:
        self.name, self.port, self._temporary = name, free_port(), tempfile.TemporaryDirectory()
        self.url = f"http://127.0.0.1:{self.port}"
        folder = self._folder = Path(self._temporary.name)
        folder.chmod(0o755)  # some run as another user
        shown = re.sub(r"(?<=[ :])8080\b", str(self.port), shown)
        shown = re.sub(r"(keepalive_timeout |keepalive |ttl=)60", rf"\g<1>{idle_s}", shown)
        text, command = _KINDS[name](folder, shown, self.port)
        (folder / "configuration").write_text(text, encoding="utf-8")
        found = [part.replace("{}", str(folder / "configuration")) for part in command]
        if name == "Varnish":
            found += ["-p", f"backend_idle_timeout={idle_s}"]
        self._command = [system_tools.find(found[0]), *found[1:]]

    def __enter__(self) -> Self:
        env = os.environ | {"HOME": str(self._folder), "XDG_DATA_HOME": str(self._folder)}
        with (self._folder / "said").open("wb") as said:
            self._process = subprocess.Popen(self._command, env=env, stdout=said, stderr=said)
        try:
            wait_until(self._is_up, 40, lambda: (self._folder / "said").read_text(errors="replace"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def logged(self) -> str:
        """All that it has written so far, as text."""
        paths = [self._folder / name for name in ("said", "access.log", "error.log", "errors")]
        return "".join([path.read_text(errors="replace") for path in paths if path.exists()])

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._temporary.cleanup()

    def _is_up(self) -> bool:
        assert self._process.poll() is None, (self._folder / "said").read_text(errors="replace")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def before_one(name: str, api_port: int) -> str:
    """The configuration that docs/proxies.md shows, for an API on this port."""
    return re.sub(r"\b8000\b", str(api_port), _blocks("proxies", name)[0])


def before_cells(ports: Sequence[int]) -> str:
    """The configuration that docs/proxies.md shows, for cells on these ports."""
    addresses = iter([f"127.0.0.1:{port}" for port in ports])
    return re.sub(r"10\.0\.\d\.10:8000", lambda _: next(addresses), _blocks("proxies", "Past one Redis: cells")[0])


def _blocks(page: str, section: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)

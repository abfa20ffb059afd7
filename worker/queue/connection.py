"""One connection to Redis that never retries, and our Lua on the other side of it.

A silent retry would hide a lost reply, and with it the requests that the reply carried: here a broken connection is
always a MailboxDown that the caller sees, and whether the commands ran is not known. Several commands go out as one
packet and their replies are read in order, by `ask` at once or, after `send`, by `receive` when the caller has time for
them. A connection belongs to one thread.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hiredis import pack_command

from scheduler.urls import is_sentinel_url
from worker.queue.line import Line, ResponseError
from worker.queue.protocol import FAILURE_TTL_S, FUNCTION_NAME, KEPT_TTL_S, MAX_DATA_BYTES, MailboxDown
from worker.queue.server import facts_of, server_fault

# Each script, and the parts between core.lua and it. Redis creates the functions of a script whenever it runs, which
# costs more than a command. So the parts in brackets run only where those before them have set `needs_rules`.
SCRIPTS = {
    # asked by the API
    "enqueue": "accept [rules other_requests]", "cancel": "rules", "check": "rules", "find": "rules", "status": "rules",
    "observe": "rules history", "learn": "rules learners counted", "first": "rules counted",
    "learner": "rules learners", "forget": "rules learners",
    # asked by workers
    "drain": "lease take [rules other_jobs]", "finish": "answer [rules other_answers]", "progress": "rules",
    "hand_over": "rules", "resync": "rules recovery", "leave": "rules recovery",
    "beat": "rules recovery history reap register [reconcile]",
    # asked by both
    "report": "rules history",
    # asked by operators
    "revive": "rules", "drop": "rules",
}  # fmt: skip
_RULES = {
    "FUNCTION_NAME": FUNCTION_NAME,
    "KEPT_TTL_S": KEPT_TTL_S,
    "FAILURE_TTL_S": FAILURE_TTL_S,
    "MAX_DATA_BYTES": MAX_DATA_BYTES,
}
Command = tuple[Any, ...]
T = TypeVar("T")
CANNOT_SAVE = (
    "Redis refuses every write because it cannot save to its disk (MISCONF): free space there, and read its log"
)
_NO_ENTRY = ("NOAUTH", "WRONGPASS", "NOPERM", "ERR AUTH", "ERR Client sent AUTH", "ERR invalid password")
AUTHENTICATION_REFUSED = "authentication refused by Redis: check the user and the password of --redis-url"


class Address(NamedTuple):
    """Of a Redis; no client of it is needed."""

    url: str  # a sound one
    timeout_s: float = 2.0  # of a reply: more than any blocking call takes (MAX_BLOCK_S)


class UnusableServer(ResponseError):
    """It answers, and no wait would help; the message says why, and after a colon what to do."""


def refusal_of(error: BaseException | None) -> str:
    """What to mend where Redis refused us, at the root of an error or anywhere above; '' for all else."""
    while error is not None:
        if isinstance(error, UnusableServer):
            return str(error)
        if isinstance(error, ResponseError) and error.is_a(*_NO_ENTRY):
            return AUTHENTICATION_REFUSED
        if isinstance(error, ResponseError) and "MISCONF" in str(error):
            return CANNOT_SAVE
        error = error.__cause__
    return ""


def start_fault(url: str) -> str:
    """Why no process can work on the Redis at `url`; '' also where it does not answer, or is still to be promoted."""
    if is_sentinel_url(url):
        return ""
    connection = RedisConnection(Address(url))
    try:
        connection.ask(("PING",))
    except MailboxDown as error:
        return str(error) if isinstance(error.__cause__, UnusableServer) else ""
    finally:
        connection.close()
    return ""


@cache
def script_sources() -> Mapping[str, str]:
    """Every script with the parts that it uses in front of it, and before them the rules that both languages know."""
    rules = "".join([f"local {name} = {json.dumps(value)}\n" for name, value in _RULES.items()])
    folder = Path(__file__).with_name("lua")

    def source(word: str) -> str:
        text = (folder / f"{word.strip('[]')}.lua").read_text()
        return ("if needs_rules then\n" if word[0] == "[" else "") + text + ("end\n" if word[-1] == "]" else "")

    return {name: rules + "".join(map(source, ("core", *parts.split(), name))) for name, parts in SCRIPTS.items()}


@cache
def _digests() -> Mapping[str, str]:
    return {name: hashlib.sha1(source.encode()).hexdigest() for name, source in script_sources().items()}


def script(name: str, *arguments: Any) -> Command:
    """The command that runs one of our scripts."""
    return ("EVALSHA", _digests()[name], 0, *arguments)


class RedisConnection(Line):
    """Connects when first used and again after every failure."""

    def __init__(self, address: Address) -> None:
        super().__init__(*address)
        self.is_open = False
        self._num_expected = 0  # replies to what was sent
        self.run_id = ""  # of the Redis process behind the connection; another one may have lost the last second

    def ask(self, *commands: Command) -> list[Any]:
        """The replies in order; a refused command has its ResponseError as reply. Raises MailboxDown."""
        self.send(*commands)
        return self.receive()

    def ask_one(self, command: Command) -> Any:
        """The reply. Raises MailboxDown also where Redis refused."""
        return checked(self.ask(command)[0])

    def send(self, *commands: Command) -> None:
        """Send commands whose replies `receive` will read, behind those to what was sent before. Raises MailboxDown."""
        self.open()
        self._whole(self._send, commands)

    def open(self) -> None:
        """Connect where it is not. Raises MailboxDown."""
        if not self.is_open:
            self._whole(self._open)

    def receive(self) -> list[Any]:
        """Wait for the replies to what was sent last; as `ask`."""
        return self._checked(self._whole(self._read_all))

    def receive_ready(self) -> list[Any]:
        """The next replies that are whole, where something has come; as `ask`."""
        replies = self._whole(self.read_ready)
        self._num_expected -= len(replies)
        return self._checked(replies)

    def _checked(self, replies: list[Any]) -> list[Any]:
        for reply in [each for each in replies if isinstance(each, ResponseError)]:
            if reply.is_a("NOSCRIPT"):  # SCRIPT FLUSH: load them again on the next call
                raise self._broken("Redis has forgotten our scripts")
            if _is_demoted(reply):  # the next call finds the new primary
                raise self._broken(f"this Redis is not the primary, or not any more: {reply}")
        return replies

    @property
    def is_waiting(self) -> bool:
        """Whether replies are still to be received."""
        return self._num_expected > 0

    def has_reply(self, timeout_s: float = 0.0) -> bool:
        """Whether `receive` would find a reply, or a broken connection, without a wait. Raises MailboxDown."""
        return self._whole(self.has_data, timeout_s)

    @property
    def address(self) -> str:
        """Our end, as CLIENT LIST shows it and RQ's tools with it; 'unknown' while it is not open, as theirs."""
        if self.sock is None:
            return "unknown"
        if self.sock.family == socket.AF_UNIX:
            return f"{self.sock.getpeername()}:0"
        host, port, *_ = self.sock.getsockname()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        self.is_open = False
        self._num_expected = 0
        super().close()

    def _whole(self, work: Callable[..., T], *arguments: Any) -> T:
        try:
            return work(*arguments)
        except (ResponseError, OSError) as error:
            raise self._broken(refusal_of(error) or error) from error

    def _broken(self, why: object) -> MailboxDown:
        self.close()
        return MailboxDown(str(why))

    def _open(self) -> None:
        self.connect()
        self._send([("INFO",)])
        (info,) = self._read_all()
        facts = {} if isinstance(info, ResponseError) else facts_of(info)
        if fault := server_fault(facts):
            raise UnusableServer(fault)
        self._send([("SCRIPT", "LOAD", source) for source in script_sources().values()])
        for reply in self._read_all():
            if isinstance(reply, ResponseError):
                raise reply
        # Where INFO is forbidden or unknown all Redis processes look alike, and a lost request counts as deleted.
        self.run_id = facts.get("run_id") or "unknown"
        self.is_open = True

    def _send(self, commands: Any) -> None:
        self.write(b"".join(map(pack_command, commands)))
        self._num_expected += len(commands)

    def _read_all(self) -> list[Any]:
        num_expected, self._num_expected = self._num_expected, 0
        return [self.read() for _ in range(num_expected)]


def checked(reply: Any) -> Any:
    """The reply. Raises MailboxDown where Redis refused the command: out of memory, read-only, forbidden."""
    if isinstance(reply, Exception):
        raise MailboxDown(str(reply)) from reply
    return reply


def _is_demoted(refusal: ResponseError) -> bool:
    """Whether a primary refused to write that is one no longer, or has lost its replicas and may be cut off with us.
    Redis 6.2 wraps what it says to a script in an error of the script's."""
    return any(word in str(refusal) for word in ("READONLY", "NOREPLICAS"))

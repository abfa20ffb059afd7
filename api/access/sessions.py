"""Sessions of pages: a random token in a cookie stands for the key that it was exchanged for.

Only the token's SHA-256 is kept, with the id of the key, in Redis, so that every replica knows it. A session ends with
DELETE /session, after SESSION_S, or with its key, which is looked up at every request.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Any, Protocol

SESSION_S = 12 * 3600
_KNOWN_S = 1.0  # a session that another replica has ended may go on for so long
_MOST_KNOWN = 1024


class Store(Protocol):
    """Where sessions are kept. Raises NotReady."""

    def keep(self, digest: str, key_id: str, ttl_s: int) -> None: ...

    def find(self, digest: str) -> str: ...

    def drop(self, digest: str) -> None: ...


class RedisStore:
    """`ask` sends a command to Redis and returns its reply. Raises NotReady."""

    def __init__(self, ask: Callable[[tuple[Any, ...]], Any]) -> None:
        self._ask = ask

    def keep(self, digest: str, key_id: str, ttl_s: int) -> None:
        self._ask(("SET", _name(digest), key_id, "EX", ttl_s))

    def find(self, digest: str) -> str:
        found = self._ask(("GET", _name(digest)))
        return found.decode(errors="replace") if found else ""

    def drop(self, digest: str) -> None:
        self._ask(("DEL", _name(digest)))


class MemoryStore:
    """For the local modes, which are one process."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[str, float]] = {}

    def keep(self, digest: str, key_id: str, ttl_s: int) -> None:
        now = time.monotonic()
        self._sessions = {name: one for name, one in self._sessions.items() if one[1] > now}
        self._sessions[digest] = key_id, now + ttl_s

    def find(self, digest: str) -> str:
        key_id, until_s = self._sessions.get(digest, ("", 0.0))
        return key_id if time.monotonic() < until_s else ""

    def drop(self, digest: str) -> None:
        self._sessions.pop(digest, None)


class Sessions:
    """Any thread may ask."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._clock = store, clock
        self._known: dict[str, tuple[str, float]] = {}

    def begin(self, key_id: str) -> str:
        """A new token. Raises NotReady."""
        token = secrets.token_urlsafe(32)
        self._store.keep(_digest(token), key_id, SESSION_S)
        return token

    def key_id(self, token: str) -> str:
        """The id of its key; '' of no session. Raises NotReady."""
        digest, now = _digest(token), self._clock()
        key_id, until_s = self._known.get(digest, ("", 0.0))
        if now >= until_s:
            key_id = self._store.find(digest)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[digest] = key_id, now + _KNOWN_S
        return key_id

    def end(self, token: str) -> None:
        """Raises NotReady."""
        digest = _digest(token)
        self._store.drop(digest)
        self._known.pop(digest, None)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _name(digest: str) -> str:
    return f"miniserve:session:{digest}"

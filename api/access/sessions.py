"""Sessions of pages: a random token in a cookie stands for the key that it was exchanged for.

Only the token's SHA-256 is kept, under the id of the key, in Redis, so that every replica knows it. A session ends with
DELETE /session, after SESSION_S, or with its key, which is looked up at every request.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import Any, Protocol

SESSION_S = 12 * 3600
MOST_SESSIONS = 1000  # of a key; the one that ends first makes room
_KNOWN_S = 1.0  # a session that another replica has ended may go on for so long
_MOST_KNOWN = 1024


class Store(Protocol):
    """Where sessions are kept, MOST_SESSIONS of each key; times are of the wall clock. Raises NotReady."""

    def keep(self, key_id: str, digest: str, until_s: float) -> None: ...

    def find(self, key_id: str, digest: str) -> float:
        """Return the end of the session; 0 if there is none."""

    def drop(self, key_id: str, digest: str) -> None: ...


class RedisStore:
    """`ask` sends a command to Redis and returns its reply. Raises NotReady."""

    def __init__(self, ask: Callable[[tuple[Any, ...]], Any]) -> None:
        self._ask = ask

    def keep(self, key_id: str, digest: str, until_s: float) -> None:
        self._ask(("ZADD", _name(key_id), until_s, digest))
        self._ask(("ZREMRANGEBYRANK", _name(key_id), 0, -MOST_SESSIONS - 1))
        self._ask(("EXPIRE", _name(key_id), SESSION_S))

    def find(self, key_id: str, digest: str) -> float:
        return float(self._ask(("ZSCORE", _name(key_id), digest)) or 0.0)

    def drop(self, key_id: str, digest: str) -> None:
        self._ask(("ZREM", _name(key_id), digest))


class MemoryStore:
    """Holds sessions for the local modes, which are one process."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[str, float]] = {}

    def keep(self, key_id: str, digest: str, until_s: float) -> None:
        sessions = self._sessions.setdefault(key_id, {})
        sessions[digest] = until_s
        if len(sessions) > MOST_SESSIONS:
            sessions.pop(next(iter(sessions)), None)  # another thread may have been faster

    def find(self, key_id: str, digest: str) -> float:
        return self._sessions.get(key_id, {}).get(digest, 0.0)

    def drop(self, key_id: str, digest: str) -> None:
        self._sessions.get(key_id, {}).pop(digest, None)


class Sessions:
    """Any thread may ask. A token names the key that it was begun with, and only such a key is looked up."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._known: dict[str, tuple[float, float]] = {}  # by digest: until when the session holds, and what is known

    def begin(self, key_id: str) -> str:
        """A new token. Raises NotReady."""
        token = f"{key_id}.{secrets.token_urlsafe(32)}"
        self._store.keep(key_id, _digest(token), self._clock() + SESSION_S)
        return token

    def holds(self, token: str) -> bool:
        """Whether it is the token of a session. Raises NotReady."""
        digest, now = _digest(token), self._clock()
        until_s, known_until_s = self._known.get(digest, (0.0, 0.0))
        if now >= known_until_s:
            until_s = self._store.find(key_id_of(token), digest)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[digest] = until_s, now + _KNOWN_S
        return now < until_s

    def end(self, token: str) -> None:
        """Raises NotReady."""
        digest = _digest(token)
        self._store.drop(key_id_of(token), digest)
        self._known.pop(digest, None)


def key_id_of(token: str) -> str:
    """The key that a session was begun with, if it is one."""
    return token.partition(".")[0]


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _name(key_id: str) -> str:
    return f"miniserve:sessions:{key_id}"

"""The file of API keys: one line for each, with the SHA-256 of the key and never the key.

    <id> <name> <sha256> [requests_per_s=N] [tokens_per_s=N]

A key is `ms_<id>_<64 hex digits>`: 32 random bytes need no slow hash, and the id finds the line. Keys of one name are
one account, so that a key can be replaced by another. A file that changes is read again; one that cannot be read
or has a broken line changes nothing, and the log says so.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scheduler.accounts import Account

LOOK_EVERY_S = 0.5
MAX_KEY_CHARACTERS = 128  # of what is hashed at all
MAX_KEYS = 10_000
MAX_NAMES = 1000  # each is a label of metrics
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}"
_LINE = re.compile(rf"([0-9a-f]{{12}})\s+({_NAME})\s+([0-9a-f]{{64}})((?:\s+(?:requests|tokens)_per_s=[0-9.]+)*)")
_MOST_PER_S = 1e9
logger = logging.getLogger(__name__)


class KeyFileFault(ValueError):
    """What is wrong with the file, in words that hold nothing of it: somebody may have pasted a key."""


@dataclass(frozen=True, slots=True)
class Key:
    """One line of the file."""

    digest: bytes
    account: Account


def new_key(name: str) -> tuple[str, str]:
    """A new key, and its line for the file. Raises ValueError."""
    if not re.fullmatch(_NAME, name):
        raise ValueError(f"{name!r} is no name of a key: 1 to 48 letters, digits, '.', '_' and '-'")
    key_id = secrets.token_hex(6)
    key = f"ms_{key_id}_{secrets.token_hex(32)}"
    return key, f"{key_id} {name} {hashlib.sha256(key.encode()).hexdigest()}"


def parse_keys(text: str) -> dict[str, Key]:
    """The lines by id; empty ones and comments (#) are left out. Raises KeyFileFault."""
    keys: dict[str, Key] = {}
    accounts: dict[str, Account] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise KeyFileFault(f"line {number} is not: id name sha256 [requests_per_s=N] [tokens_per_s=N]")
        key_id, name, digest, limits = found.groups()
        account = _account(name, limits, number)
        if key_id in keys:
            raise KeyFileFault(f"line {number} has the id of a line before it")
        if accounts.setdefault(name, account) != account:
            raise KeyFileFault(f"line {number} has the name of a line before it, and other limits")
        keys[key_id] = Key(bytes.fromhex(digest), account)
    if len(keys) > MAX_KEYS or len(accounts) > MAX_NAMES:
        raise KeyFileFault(f"it has more than {MAX_KEYS:,} keys or {MAX_NAMES:,} names")
    return keys


def _account(name: str, limits: str, number: int) -> Account:
    values = {}
    for limit in limits.split():
        field, _, text = limit.partition("=")
        try:
            values[field] = float(text)
        except ValueError:
            values[field] = 0.0
        if not 0.001 <= values[field] <= _MOST_PER_S:
            raise KeyFileFault(f"line {number}: {field} takes a number from 0.001 to {_MOST_PER_S:,.0f}")
    return Account(name, **values)


def read_keys(path: Path) -> dict[str, Key]:
    """Raises KeyFileFault."""
    return parse_keys(_text_of(path))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileFault(f"it cannot be read ({getattr(error, 'strerror', None) or 'no UTF-8'})") from None


class KeyFile:
    """The keys as the file has them, twice LOOK_EVERY_S late at most. Any thread may ask."""

    def __init__(self, path: str) -> None:
        """Raises KeyFileFault: a server that begins without keys would lock everybody out."""
        self._path = Path(path)
        self._text = _text_of(self._path)
        self._keys: Mapping[str, Key] = parse_keys(self._text)
        self._seen, self._fault = self._text, ""

    def watch(self) -> None:
        """Look at the file again and again, in a thread that no request waits for."""
        threading.Thread(target=self._watch, name="key-file", daemon=True).start()

    def account_of(self, key: str) -> Account | None:
        """Whose key it is; None where nobody's, or not any more."""
        if len(key) > MAX_KEY_CHARACTERS:
            return None
        known = self._keys.get(self.id_of(key))
        digest = hashlib.sha256(key.encode(errors="replace")).digest()
        return known.account if known is not None and hmac.compare_digest(known.digest, digest) else None

    @staticmethod
    def id_of(key: str) -> str:
        """The part of a key that is no secret."""
        return key[3:15] if key.startswith("ms_") else ""

    def look(self) -> None:
        """Read all of the file, for times of change can be equal. What is found twice counts: one may be writing it."""
        try:
            text = _text_of(self._path)
            is_settled, self._seen = text == self._seen, text
            if not is_settled:
                return
            if text != self._text:
                self._keys, self._text = parse_keys(text), text
                logger.info("API keys read", extra={"keys": len(self._keys)})
            fault = ""
        except KeyFileFault as error:
            fault = str(error)
        if fault and fault != self._fault:
            logger.error("the file of API keys is broken: the last good keys stay", extra={"reason": fault})
        elif self._fault and not fault:
            logger.warning("the file of API keys is whole again")
        self._fault = fault

    def _watch(self) -> None:
        pause = threading.Event()
        while not pause.wait(LOOK_EVERY_S):
            try:
                self.look()
            except Exception:  # one look that fails must not be the last one
                logger.exception("the file of API keys could not be looked at")

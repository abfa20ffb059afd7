"""The file of API keys: one line for each, with the SHA-256 of the key and never the key.

    <id> <name> <sha256> [requests_per_s=N] [tokens_per_s=N]

A key is `ms_<id>_<64 hex digits>`: 32 random bytes need no slow hash. The id tells people which key a line is for.
Keys of one name are one account, so that a key can be replaced by another. A file that changes is read again; one that
cannot be read or has a broken line changes nothing, and the log says so.
"""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

from api.service.exchange import Account
from scheduler.errors import Unauthorized

LOOK_EVERY_S = 0.5
MAX_KEY_CHARACTERS = 128  # of what is hashed at all
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}"
_LIMIT = r"\s+((?:requests|tokens)_per_s)=(\d{1,9}(?:\.\d+)?)"
_LINE = re.compile(rf"[0-9a-f]{{12}}\s+({_NAME})\s+([0-9a-f]{{64}})((?:{_LIMIT})*)")
_LEAST_PER_S = 0.001
logger = logging.getLogger(__name__)


class KeyFileFault(ValueError):
    """What is wrong with the file, in words that hold nothing of it: somebody may have pasted a key."""


def new_key(name: str) -> tuple[str, str]:
    """A new key, and its line for the file. Raises ValueError."""
    if not re.fullmatch(_NAME, name):
        raise ValueError(f"{name!r} is no name of a key: 1 to 48 letters, digits, '.', '_' and '-'")
    key_id = secrets.token_hex(6)
    key = f"ms_{key_id}_{secrets.token_hex(32)}"
    return key, f"{key_id} {name} {digest_of(key)}"


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()


def parse_keys(text: str) -> dict[str, Account]:
    """The account of each key, by its digest; empty lines and comments (#) are left out. Raises KeyFileFault."""
    keys: dict[str, Account] = {}
    accounts: dict[str, Account] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        found = _LINE.fullmatch(line)
        limits = {name: float(value) for name, value in re.findall(_LIMIT, found[3])} if found else {}
        if found is None or any(value < _LEAST_PER_S for value in limits.values()):
            form = "id name sha256 [requests_per_s=N] [tokens_per_s=N]"
            raise KeyFileFault(f"line {number} is not: {form}, with N from {_LEAST_PER_S} to 999999999")
        account = Account(found[1], **limits)
        if accounts.setdefault(account.name, account) != account:
            raise KeyFileFault(f"line {number} has the name of a line before it, and other limits")
        keys[found[2]] = account
    return keys


def read_keys(path: Path) -> dict[str, Account]:
    """Raises KeyFileFault."""
    try:
        return parse_keys(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise KeyFileFault(f"it cannot be read ({getattr(error, 'strerror', None) or 'no UTF-8'})") from None


class KeyFile:
    """The keys as the file has them, twice LOOK_EVERY_S late at most. Any thread may ask."""

    def __init__(self, path: str) -> None:
        """Raises KeyFileFault: a server that begins without keys would lock everybody out."""
        self._path = Path(path)
        self._keys = read_keys(self._path)
        # What the last look found, and what was last found twice: the keys, and what is wrong with the file.
        self._seen = self._known = self._keys, ""

    def watch(self) -> None:
        """Look at the file again and again, in a thread that no request waits for."""
        threading.Thread(target=self._watch, name="key-file", daemon=True).start()

    def account_of(self, key: str) -> Account | None:
        """Whose key it is; None where nobody's, or not any more."""
        return self._keys.get(digest_of(key)) if len(key) <= MAX_KEY_CHARACTERS else None

    def look(self) -> None:
        """Read all of the file, for times of change can be equal. What is found twice counts: one may be writing it."""
        before, fault = self._seen, ""
        try:
            keys = read_keys(self._path)
        except KeyFileFault as error:
            keys, fault = self._keys, str(error)
        self._seen = keys, fault
        if self._seen != before or self._seen == self._known:
            return
        if fault:
            logger.error("the file of API keys is broken: the last good keys stay", extra={"reason": fault})
        elif self._known[1]:
            logger.warning("the file of API keys is whole again")
        else:
            logger.info("API keys read", extra={"keys": len(keys)})
        self._keys, self._known = keys, self._seen

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK_EVERY_S)
            self.look()


def admit_of(path: str) -> Callable[[str], Account | None]:
    """What returns whose a key is, or raises Unauthorized. '': no key is asked for. Raises KeyFileFault."""
    if not path:
        return lambda _: None
    keys = KeyFile(path)
    keys.watch()

    def admit(key: str) -> Account:
        if not key:
            how = "send it as Authorization: Bearer <key>, or in the form of an editor as apiKey"
            raise Unauthorized(f"This server asks for an API key: {how}.")
        if (account := keys.account_of(key)) is None:
            raise Unauthorized("The API key is not valid, or no longer valid; ask the operator for a key.")
        return account

    return admit

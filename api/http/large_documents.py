"""JSON documents of up to megabytes: encoded, and sent, a little at a time, so that others go first in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from api.http.problems import to_json
from api.http.replies import JSON, Reply

_STEP_ITEMS = 256  # of a list: a quarter of a millisecond
_STEP_BYTES = 65_536  # in one write
Fragment = bytes | bytearray


class EncodedList:
    """A list whose items are encoded as they come; `fragments_of` takes it for the list."""

    def __init__(self) -> None:
        self.num_bytes = 0
        self.pieces: list[bytearray] = []

    def append(self, item: Any) -> None:
        encoded = (b", " if self.pieces else b"[") + to_json(item).encode()
        if not self.pieces or len(self.pieces[-1]) >= _STEP_BYTES:
            self.pieces.append(bytearray())
        self.pieces[-1] += encoded
        self.num_bytes += len(encoded)


def large_reply(fragments: Sequence[Fragment], pause: Callable[[], None]) -> Reply:
    """Return a reply whose body is the fragments, one after the other."""
    length = sum(map(len, fragments))
    return Reply(_written(fragments, pause), 200, [("Content-Type", JSON), ("Content-Length", str(length))])


def fragments_of(document: dict[str, Any], pause: Callable[[], None]) -> list[Fragment]:
    """Encode the document as `json_reply` does, in pieces."""
    return [*_pieces(document, pause), b"\n"]


def _written(fragments: Sequence[Fragment], pause: Callable[[], None]) -> Iterator[bytes]:
    part = bytearray()
    for fragment in fragments:
        part += fragment
        if len(part) >= _STEP_BYTES:
            yield bytes(part)
            part.clear()
            pause()
    yield bytes(part)


def _pieces(value: Any, pause: Callable[[], None]) -> Iterator[Fragment]:
    """Encode each member of a dict by itself, a long list a few items at a time, and all else at once."""
    if isinstance(value, dict) and value:
        for number, (name, member) in enumerate(value.items()):
            yield f"{', ' if number else '{'}{to_json(name)}: ".encode()
            yield from _pieces(member, pause)
        yield b"}"
    elif isinstance(value, list) and len(value) > _STEP_ITEMS:
        for at in range(0, len(value), _STEP_ITEMS):
            yield ((", " if at else "[") + to_json(value[at : at + _STEP_ITEMS])[1:-1]).encode()
            pause()
        yield b"]"
    elif isinstance(value, EncodedList):
        yield from value.pieces
        yield b"]" if value.pieces else b"[]"
    else:
        yield to_json(value).encode()

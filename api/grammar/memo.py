"""Remembers what was computed for a word or an edit, within a bound for the memory."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

_LONGEST_KEY = 48  # characters, in all words of the key, or numbers; longer ones are computed each time
_MOST_ENTRIES = 4_096  # of each of two generations


def memo(compute: Callable[[_Key], _Value]) -> Callable[[_Key], _Value]:
    """Gives `compute` a memory. The result must follow from the key alone, and nobody may change it.

    Everyday text repeats a few thousand words, and no text makes the memory grow beyond its bound. A look-up costs as
    much as one in a dict; an lru_cache behind a check of the length costs three times that.
    """
    return _Memo(compute).__getitem__


class _Memo(dict[Any, Any]):
    """A dict that computes what it lacks. A full one becomes the older generation, from which keys in use come back."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        super().__init__()
        self._compute = compute
        self._older: dict[Any, Any] = {}

    def __missing__(self, key: Any) -> Any:
        older = self._older
        value = older[key] if key in older else self._compute(key)
        if _num_characters(key) <= _LONGEST_KEY:
            if len(self) >= _MOST_ENTRIES:
                self._older = dict(self)
                self.clear()
            self[key] = value
        return value


def _num_characters(key: Any) -> int:
    if isinstance(key, str):
        return len(key)
    return sum(map(_num_characters, key)) if isinstance(key, tuple) else 1

"""Other names, numbers and nouns for the written sentences: a training is to learn their grammar, not their words.

Every class (a line of `swap_classes.tsv`) holds words that may stand for each other in any sentence: of one number, one
gender, one article (a / an) and one need of an article. Used while training only, not where a bias is chosen.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from miniserve_training.text.tables import rows

_SHARE = 0.7  # of the sentences that hold such a word
_YEARS = (1950, 2019)
_WORD = re.compile(r"\b(?:[A-Za-z]+|(?:19[5-9]|20[01])\d)\b")

_CLASSES = tuple(tuple(text.split("|")) for _, text in rows("swap_classes"))


class Swaps:
    """Draws other words of the same class."""

    def __init__(self, is_verb_form: Callable[[str], bool]) -> None:
        """`is_verb_form`: small-letter words that are left alone, for they may be what the sentence is about."""
        classes = [tuple(word for word in words if not is_verb_form(word)) for words in _CLASSES]
        self._class_of = {word: words for words in classes for word in words}
        years = tuple(str(year) for year in range(_YEARS[0], _YEARS[1] + 1))
        self._class_of.update(dict.fromkeys(years, years))

    def words_in(self, text: str) -> frozenset[str]:
        """The words of a text that have others to stand for them."""
        return frozenset(word for word in _WORD.findall(text) if word in self._class_of)

    def draw(self, swappable: frozenset[str], rng: random.Random) -> dict[str, str]:
        """Another word for each, different ones for different ones; empty where all are to stay."""
        if not swappable or rng.random() >= _SHARE:
            return {}
        chosen: dict[str, str] = {}
        for word in sorted(swappable):
            free = [each for each in self._class_of[word] if each not in swappable and each not in chosen.values()]
            if free:
                chosen[word] = rng.choice(free)
        return chosen


def swapped(text: str, others: dict[str, str]) -> str:
    """The text with the other words in the place of its own."""
    return _WORD.sub(lambda match: others.get(match.group(), match.group()), text)

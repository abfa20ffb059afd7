"""As many sentences as a test wants, each another one."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

_SUBJECTS = ("He", "She", "My brother", "The teacher", "Our neighbour", "The old man", "Anna", "A friend of mine")
_VERBS = ("goed", "walked", "has went", "go", "was run", "don't likes", "wants to going", "is going", "will goes")
_PLACES = ("to school", "to the market", "home", "to the station", "to a small town", "to work", "there with us")
_TIMES = ("yesterday", "every day", "last week", "at noon", "on Monday", "in the evening", "because it was late")


def sentences(seed: int) -> Iterator[str]:
    """Endless short sentences, none twice: each ends in a number of its own. Most are wrong: 7 of the 9 verb phrases
    always, the other two where the time does not fit."""
    rng = random.Random(seed)
    for number in itertools.count(1):
        parts = (rng.choice(words) for words in (_SUBJECTS, _VERBS, _PLACES, _TIMES))
        yield f"{' '.join(parts)} with {number} others."

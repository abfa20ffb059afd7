"""Gives a replacement the looks of what it replaces: capitals and the kind of apostrophe.

The model works in lower case with straight apostrophes; what the user wrote otherwise is put back here.
"""

from __future__ import annotations

from collections.abc import Sequence

from api.verb_words import parts_of, plain

_CURLY, _STRAIGHT = "\u2019", "'"


def dress(source: Sequence[str], replacement: Sequence[str], has_curly: bool) -> tuple[str, ...]:
    """The replacement's words as they go into the sentence; `has_curly` tells that the sentence uses U+2019.

    >>> dress(["Goed"], ["went"], False), dress(["IS", "OWN"], ["owns"], False)
    (('Went',), ('OWNS',))
    """
    letters = "".join(source)
    if letters.isupper() and sum(map(str.isalpha, letters)) > 1:
        cased = [word.upper() for word in replacement]
    else:
        kept = {plain(word): word for word in source}
        cased = [_cased(word, kept) for word in replacement]
        cased[0] = _with_initial_of(source[0], cased[0])
        cased[1:] = [_without_initial(word, source[0]) for word in cased[1:]]
    curly = _CURLY in letters or (has_curly and _STRAIGHT not in letters)
    return tuple(word.replace(_STRAIGHT, _CURLY) for word in cased) if curly else tuple(cased)


def _cased(word: str, kept: dict[str, str]) -> str:
    text = plain(word)
    if text in kept:
        return kept[text]  # repeats a word of the user's, accents and all
    return "I" + text[1:] if parts_of(text)[0] == "i" else text


def _with_initial_of(source: str, word: str) -> str:
    # Not str.capitalize: "McKay's" keeps its inner capital.
    return word[0].upper() + word[1:] if source[0].isupper() else word


def _without_initial(word: str, moved: str) -> str:
    """The first word of the sentence loses its capital where another comes before it: Birds -> are birds."""
    is_pronoun = parts_of(word)[0] == "i"
    return word[0].lower() + word[1:] if word == moved and word[0].isupper() and not is_pronoun else word

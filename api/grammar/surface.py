"""Gives a replacement the capitals and the kind of apostrophe of the words it replaces.

The model writes lower case with straight apostrophes. It reads no sentence in capitals, and no verb in capitals after a
pronoun.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from api.grammar import word_sets
from api.grammar.memo import memo
from api.grammar.unread import end_of_label
from api.grammar.verb_words import VerbWords, parts_of, plain

_DO_NOT = {"don't": ("do", "not"), "doesn't": ("does", "not"), "didn't": ("did", "not")}
# An ending without the word before it: "I don't afraid" > "I" and "'m not".
_WHOLE = {"'m": "am", "'re": "are", "'s": "is", "'ve": "have", "'ll": "will"}
_LONE_I = re.compile(r"\bi\b")  # also of I'm
_PRONOUNS = "|".join(sorted(word_sets.SUBJECT_PRONOUNS))
_CAPITALS = re.compile("[A-Z][A-Z]")
# Elsewhere AIDS, LED and MAY are no verbs.
_VERB_IN_CAPITALS = re.compile(rf"\b((?i:{_PRONOUNS})\s)([A-Z]{{2,}}(?:['\u2019]T)?)\b")
_CURLY, _STRAIGHT = "\u2019", "'"
# Words that lose their capital where another word comes before them: "You want it?" > "Do you want it?"
_NEVER_NAMES = frozenset(
    "he she it we you they this that these those there the a an my your his her its our their some any all each every "
    "no not never who what which where when why how people children men women everyone everybody someone somebody "
    "nobody nothing something anyone anybody one many most two three".split()
)


def is_in_capitals(sentence: str) -> bool:
    """Return whether all of the sentence is in capitals, its label aside."""
    return sentence[end_of_label(sentence) :].isupper()


def in_small_letters(sentence: str, verbs: VerbWords) -> str:
    """Return a sentence in capitals in small letters after the first. In others only verbs after a pronoun change.

    The code points keep their places.
    """
    if not sentence.isupper():
        if _CAPITALS.search(sentence) is None:
            return sentence
        return _VERB_IN_CAPITALS.sub(lambda found: found[1] + _verb_in_small_letters(found[2], verbs), sentence)
    small = _LONE_I.sub("I", sentence.capitalize())
    return small if len(small) == len(sentence) else sentence


def _verb_in_small_letters(word: str, verbs: VerbWords) -> str:
    return word.lower() if verbs.lemmas_of(parts_of(word)[0]) else word


def match_case(
    source: Sequence[str], replacement: Sequence[str], has_curly: bool, is_start: bool = True, is_upper: bool = False
) -> tuple[str, ...]:
    """Return the replacement's words as they go into the sentence.

    `has_curly` says that the sentence uses U+2019, `is_start` that it begins with these words, `is_upper` that it is
    all in capitals, which a word of one letter does not show.

    >>> match_case(["Goed"], ["went"], False), match_case(["IS", "OWN"], ["owns"], False)
    (('Went',), ('OWNS',))
    """
    return _matched((tuple(source), tuple(replacement), has_curly, is_start, is_upper))


@memo
def _matched(edit: tuple[tuple[str, ...], tuple[str, ...], bool, bool, bool]) -> tuple[str, ...]:
    source, replacement, has_curly, is_start, is_upper = edit
    replacement = (_WHOLE.get(replacement[0], replacement[0]), *replacement[1:])
    if plain(source[0]) == "not" and replacement[0] in _DO_NOT:  # who writes 'not' keeps it
        replacement = (*_DO_NOT[replacement[0]], *replacement[1:])
    letters = "".join(source)
    if letters.isupper() and (is_upper or sum(map(str.isalpha, letters)) > 1):
        cased = [word.upper() for word in replacement]
    else:
        kept = {plain(word): word for word in source}
        kept = {parts_of(word)[0]: word[: len(parts_of(word)[0])] for word in source} | kept  # Tom of Tom's
        cased = _with_capital_in_front([_cased(word, kept) for word in replacement], source[0], is_start)
    curly = _CURLY in letters or (has_curly and _STRAIGHT not in letters)
    return tuple(word.replace(_STRAIGHT, _CURLY) for word in cased) if curly else tuple(cased)


def _with_capital_in_front(words: list[str], first: str, is_start: bool) -> list[str]:
    """Move the capital of the `first` word replaced to the first word written, unless it is that of a name."""
    if not first[0].isupper():
        return words
    moved = next(
        (rank for rank, word in enumerate(words) if rank and plain(word) in (plain(first), *parts_of(first))), 0
    )
    is_verb = moved == len(words) - 1 > 1 and plain(words[0]) in word_sets.DO_PARTS  # "Speak you" > "Do you speak"
    is_own = moved > 0 and plain(words[moved]) not in _NEVER_NAMES and not is_verb
    if not is_own or is_start:
        words = [words[0][0].upper() + words[0][1:], *words[1:]]  # not str.capitalize: "McKay's" has another capital
    if moved and (not is_own or (is_start and _is_common(words[moved]))):
        words[moved] = words[moved][0].lower() + words[moved][1:]
    return words


def _is_common(word: str) -> bool:
    """Guess whether the word is no name. At the start of a sentence Birds, Singing and Tom look the same."""
    return word.endswith(("s", "ing")) and not word.endswith("'s")


def _cased(word: str, kept: dict[str, str]) -> str:
    text = plain(word)
    if text in kept:
        return kept[text]  # repeats the user's word with its accents
    return "I" + text[1:] if parts_of(text)[0] == "i" else text

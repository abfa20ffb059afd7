"""Learners' slips outside the verbs, the same in the wrong and in the right text: the model leaves them alone.

Articles, prepositions, numbers of nouns, spelling of nouns and adjectives, commas, capitals, spaces, two sentences run
into one; about as frequent among each other as in the corpus of CoNLL-2014 (Ng et al., 2014), spelling more so. No slip
touches a word that may be a verb, nor "to", so a verb stays as right or wrong as it was; "don't" may lose its
apostrophe. Words may come or go: `add_slips` renumbers the edits.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from api.grammar.edit_script import ScriptEdit
from api.grammar.words import count_words
from miniserve_training.text.lexicon import MODAL_WORDS, Lexicon, words
from miniserve_training.text.surface import Span

_AFTER_ARTICLE = re.compile(r"\b(?:a|an|the) (?=([a-z]{3,})\b)")
_QUANTITIES = words("few lot little more most number couple great good bit same other rest only day week")
_PREPOSITION_AND_NOUN = re.compile(r"\b(?:of|with|about|from|for|without) (?=([a-z]{4,})\b)")
_ARTICLE = re.compile(r"\b(?:a|an) (?=([a-z]{3,})\b)")
_PLACE = re.compile(r"\b(?:in|on|at) (?=(?:the|my|his|her|their|our|this) ([a-z]{3,})\b)")
# At the end of its clause: what stands there is an object or belongs to a preposition.
_OBJECT = re.compile(r"\b(?:of|in|with|about|for|from|many|several|two|three|much|some) ([a-z]{4,})(?=[.,;!?])")
_CLAUSE = re.compile(r", (?:and|but|so) (?=(?:he|she|it|we|they|you|I|the|this|there)\b)")
_NAME = re.compile(r"(?<=[a-z] )[A-Z][a-z]{2,}\b")
_OWNER = re.compile(r"(?<= (?:of|in|at) the )[a-z]{3,}['\u2019]s(?= [a-z])")
_LONG_WORD = re.compile(r"\b[a-z]{5,}\b")
_CHAT_SPELLING = {
    "you": "u", "You": "U", "your": "ur", "I": "i", "because": "cuz", "people": "ppl", "please": "pls",
    "don't": "dont", "doesn't": "doesnt", "didn't": "didnt", "isn't": "isnt", "wasn't": "wasnt", "haven't": "havent",
}  # fmt: skip
_CHAT = re.compile(rf"(?<![\w'\u2019])(?:{'|'.join(_CHAT_SPELLING)})(?![\w'\u2019])")
_LETTERS = "abcdefghijklmnoprstuvw"


def add_slips(
    spans: list[Span], edits: Sequence[ScriptEdit], lexicon: Lexicon, rng: random.Random, most: int = 2
) -> tuple[ScriptEdit, ...]:
    """Put one to `most` slips into the spans, in place; the edits, with their word numbers as they are then."""
    plain = [index for index, span in enumerate(spans) if not span.is_corrupted and " " in span.wrong]
    for index in rng.choices(plain, k=rng.randint(1, most)) if plain else ():
        old = spans[index].wrong
        new = rng.choice(_SLIPS)(old, lexicon, rng)
        spans[index].wrong = spans[index].right = new
        end = count_words("".join(span.wrong for span in spans[:index])) + count_words(old)
        shift = count_words(new) - count_words(old)
        edits = [replace(edit, word=edit.word + shift) if edit.word >= end else edit for edit in edits]
    return tuple(edits)


def _replace_one(
    pattern: re.Pattern[str], text: str, rng: random.Random, change: Callable[[re.Match[str]], str | None]
) -> str:
    """One match of the pattern changed, drawn among those that may be."""
    options = [(match, new) for match in pattern.finditer(text) if (new := change(match)) is not None]
    if not options:
        return text
    match, new = rng.choice(options)
    return text[: match.start()] + new + text[match.end() :]


def _is_no_verb(word: str, lexicon: Lexicon) -> bool:
    return not lexicon.table.is_form(word) and word not in MODAL_WORDS and not word.endswith(("ed", "ing"))


def _drop_article(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    def change(match: re.Match[str]) -> str | None:
        noun = match.group(1)
        return "" if noun not in _QUANTITIES and _is_no_verb(noun, lexicon) else None

    return _replace_one(_AFTER_ARTICLE, text, rng, change)


def _add_article(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    def change(match: re.Match[str]) -> str | None:
        noun = match.group(1)
        fits = noun in lexicon.nouns and noun not in lexicon.known_adjectives and _is_no_verb(noun, lexicon)
        return match.group() + "the " if fits else None

    return _replace_one(_PREPOSITION_AND_NOUN, text, rng, change)


def _swap_article(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    return _replace_one(_ARTICLE, text, rng, lambda match: "an " if match.group() == "a " else "a ")


def _swap_preposition(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    def change(match: re.Match[str]) -> str | None:
        if not _is_no_verb(match.group(1), lexicon):
            return None
        return rng.choice([word for word in ("in ", "on ", "at ") if word != match.group()])

    return _replace_one(_PLACE, text, rng, change)


def _misspell(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    def change(match: re.Match[str]) -> str | None:
        word = match.group()
        if not (word in lexicon.nouns or word in lexicon.known_adjectives) or not _is_no_verb(word, lexicon):
            return None
        at = rng.randrange(1, len(word) - 3)
        wrong = rng.choice((
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + rng.choice(_LETTERS) + word[at + 1 :],
        ))  # fmt: skip
        return None if lexicon.is_real(wrong) else wrong

    return _replace_one(_LONG_WORD, text, rng, change)


def _other_number(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    """ "many book", "informations": never of a noun that may be the subject of a verb."""

    def change(match: re.Match[str]) -> str | None:
        noun = match.group(1)
        singular = noun.removesuffix("s")
        if not _is_no_verb(noun, lexicon) or not _is_no_verb(singular, lexicon) or noun.endswith("ss"):
            return None
        new = singular if singular != noun else noun + "s"
        is_noun = {noun, singular} <= lexicon.nouns
        return match.group().removesuffix(noun) + new if is_noun else None

    return _replace_one(_OBJECT, text, rng, change)


def _run_on(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    """ "He came, and she left" as "He came, she left"."""
    return _replace_one(_CLAUSE, text, rng, lambda match: ", ")


def _drop_capital(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    def change(match: re.Match[str]) -> str | None:
        small = match.group().lower()
        return small if _is_no_verb(small, lexicon) else None

    return _replace_one(_NAME, text, rng, change)


def _drop_apostrophe(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    return _replace_one(_OWNER, text, rng, lambda match: match.group()[:-2] + "s")


def _drop_comma(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    return text.replace(", ", " ", 1)


def _chat(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    """ "u" and "i", as people type where nobody minds."""
    return _CHAT.sub(lambda match: _CHAT_SPELLING[match.group()], text)


def _double_space(text: str, lexicon: Lexicon, rng: random.Random) -> str:
    return _replace_one(re.compile(r"(?<=\w) (?=\w)"), text, rng, lambda match: "  ")


_SLIPS = (
    *(_chat,) * 3,
    *(_drop_article,) * 3, *(_add_article,) * 2, _swap_article, *(_swap_preposition,) * 2, *(_misspell,) * 4,
    *(_other_number,) * 4, _run_on, *(_drop_capital,) * 2, _drop_apostrophe, *(_drop_comma,) * 2, _double_space,
)  # fmt: skip

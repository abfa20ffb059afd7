"""How people write: no final mark, small beginnings, curly quotes, accents, dashes, emoji.

A text is a list of spans; a corrupted span has two readings, wrong and right. Noise touches both alike, and never
changes what counts as a word, so that word numbers stay as they are.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from api.grammar.words import count_words

_CURLY = str.maketrans({"'": "\u2019"})
_ACCENTED_NAMES = {
    "Tom": "José", "Mary": "Zoë", "Jack": "René", "Bob": "Björn", "Ann": "Chloé", "Jane": "Renée", "Jim": "Jürgen",
    "Mike": "André", "Ken": "Łukasz", "John": "Jörg", "Bill": "Paweł", "Betty": "Noémie", "Lucy": "Inês",
    "Paul": "Nuño", "Boston": "Málaga", "London": "Zürich", "Paris": "Liège", "cafe": "café", "Australia": "Perú",
}  # fmt: skip
_NAME = re.compile(rf"\b({'|'.join(_ACCENTED_NAMES)})\b")
_QUOTES = (("\u201c", "\u201d"), ('"', '"'), ("\u2018", "\u2019"), ("\u00ab", "\u00bb"), ("(", ")"))
OPENING_QUOTES = frozenset(opening for opening, _ in _QUOTES)
_EMOJI = ("\U0001f600", "\U0001f602", "\U0001f44d", "\u2764\ufe0f", "\U0001f389", "\U0001f622", ":)", "\u2728")
_PICTURES = (*range(0x1F30D, 0x1F3F0), *range(0x1F400, 0x1F4F0), *range(0x1F600, 0x1F650), *range(0x1F910, 0x1F970))


@dataclass(slots=True)
class Span:
    """`wrong` and `right` are the same except where the sentence is corrupted."""

    wrong: str
    right: str
    is_corrupted: bool = False


def vary(spans: list[Span], rng: random.Random, *, keeps_capital: bool) -> None:
    """Make the text look typed, in place; `keeps_capital`: the first word is a name or "I"."""
    roll = rng.random()
    if roll < 0.27:
        _drop_final_mark(spans[-1])
    elif roll < 0.29:
        _set(spans[-1], spans[-1].wrong.rstrip(".") + rng.choice(("!", "...", "\u2026", "!!", " .")))
    if not keeps_capital and rng.random() < 0.13:
        _lower_first(spans[0])
    if rng.random() < 0.3:
        _curl(spans)
    if rng.random() < 0.2:
        _accent(spans)
    if rng.random() < 0.1:
        _decorate(spans, rng)


def shout(spans: list[Span], rng: random.Random) -> None:
    """Put a mistake, or some word of a right sentence, in capitals: "He GOED home", in place."""
    corrupted = [span for span in spans if span.is_corrupted]
    if corrupted:
        span = rng.choice(corrupted)
        if all(len(word) > 1 for word in span.wrong.split(" ")):  # of one letter nobody sees that it shouts
            span.wrong, span.right = span.wrong.upper(), span.right.upper()
    elif found := [*re.finditer(r"(?<= )[a-z]{2,}(?= )", spans[0].wrong)]:
        word = rng.choice(found)
        text = spans[0].wrong
        _set(spans[0], text[: word.start()] + word.group().upper() + text[word.end() :])


_BEFORE = (
    "Dear Mr. Nov\u00e1k, ", "Dear all, ", "Hi Anna, ", "Hello Ms O'Brien, ", "P.S. ", "Thanks, Mehmet! ", "Well, ",
    "Oh, ", "Monday, 3 May 2021: ", "10:30 ", "Chapter 12: ", "Hey, ", "Yes, ", "No, ", "Sorry, ", "Listen, Zo\u00eb, ",
    "(Laughs) ", "THE END? ", "Question 7: ", "TL;DR: ", "Hey guys, ", "My answer: ", "#1: ",
    "Rule 3: ", "Good morning, Mrs. Garc\u00eda. ", "\u2026 ", "... ", "<b>", "<p>", "<li>", "<h1>", "**", "*",
)  # fmt: skip
# What goes on in small letters, before any sentence and before a statement. The API blanks most of what else there is;
# "And", "But", "So" and "Or" it leaves where no subject follows.
_OPENINGS = (
    *("And ", "But ") * 2, "So ", "Or ", "Then ", "Tom, ", "Mary, ", "Maybe ", "Sadly, ", "As I said, ", "As usual, ",
    "In my family, ", "In my country, ", "In our class, ", "At the same time, ", "According to him, ",
    "According to the newspaper, ", "For many people, ", "With all due respect, ", "Unlike me, ",
)  # fmt: skip
_MAIN_CLAUSES = (
    "I am sure ", "They say ", "You know, ", "It seems that ", "We all know that ", "It is true that ",
    "She says that ", "The problem is that ", "My friend and I believe that ", "It is clear that ", "The fact is that ",
    "Note that ", "Although it is late, ", "One thing is certain: ", "What I mean is that ",
)  # fmt: skip
_STATEMENT = re.compile(
    "(?i:he|she|it|we|they|you|i|there|this|these|those|the|an?|my|your|his|her|our|their|some|many|most|everyone|"
    r"nobody|people)\b"
)
_AFTER = (
    " (see p. 12)", " (Li Wei, 2019)", " LOL", " Thanks!", " Best regards, Bj\u00f8rn", " Yours, A. K.", " :-(",
    " Bye!", " xoxo", " [1]", " (laughs)", " #happy", " (see https://example.org)", " OK?", " Right?",
    "</b>", "</p>", "<br>", " Love, S\u00e9bastien",
)  # fmt: skip
_SPEAKERS = (
    "Tom", "Mary", "the old man", "Mrs. Dalton", "my aunt", "the captain", "Nguyen Van Minh", "she", "he", "Zo\u00eb",
    "Dr. Okonkwo", "the boy", "O'Hara", "Siobh\u00e1n", "Prince Andrej", "the girl in red", "Se\u00f1or Ruiz", "I",
)  # fmt: skip
_SAID = ("said", "replied", "asked", "cried", "shouted", "whispered", "answered", "added")
_PAIRS = (("\u201c", "\u201d"), ('"', '"'), ("\u2018", "\u2019"))


def frame(spans: list[Span], rng: random.Random, *, keeps_capital: bool = False) -> int:
    """Put a greeting, a clause, a speaker round the sentence, in place; how many words now stand before it."""
    roll, last = rng.random(), spans[-1]
    if roll < 0.3 and not last.is_corrupted and last.wrong.endswith("."):
        return _quote(spans, rng)
    if roll < 0.8:
        before = rng.choice(_BEFORE)
        if roll < 0.65:
            is_statement = not last.wrong.endswith("?") and _STATEMENT.match(spans[0].wrong) is not None
            before = rng.choice(_OPENINGS + _MAIN_CLAUSES if is_statement else _OPENINGS)
            if not (keeps_capital or spans[0].wrong[1:2].isupper()):  # it may shout
                _lower_first(spans[0])
        spans.insert(0, Span(before, before))
        return count_words(before)
    after = rng.choice(_AFTER)
    spans.append(Span(after, after))
    return 0


def _quote(spans: list[Span], rng: random.Random) -> int:
    """\u201cHe left,\u201d said Tom. Or: Tom said, \u201cHe left.\u201d"""
    opening, closing = rng.choice(_PAIRS)
    speaker, said = rng.choice(_SPEAKERS), rng.choice(_SAID)
    if rng.random() < 0.5:
        before = f"{speaker[0].upper()}{speaker[1:]} {said}{rng.choice((',', ':'))} {opening}"
        spans.insert(0, Span(before, before))
        spans.append(Span(closing, closing))
        return count_words(before)
    _set(spans[-1], spans[-1].wrong.removesuffix(".") + rng.choice((",", ",", ",", "!", "\u2026")))
    after = f"{closing} {speaker} {said}." if len(speaker) < 4 else f"{closing} {said} {speaker}."
    spans.insert(0, Span(opening, opening))
    spans.append(Span(after, after))
    return 0


def _set(span: Span, text: str) -> None:
    if not span.is_corrupted:
        span.wrong = span.right = text


def _drop_final_mark(span: Span) -> None:
    if not span.is_corrupted and span.wrong.endswith((".", "!")):
        _set(span, span.wrong.rstrip(".! "))


def _lower_first(span: Span) -> None:
    span.wrong = span.wrong[:1].lower() + span.wrong[1:]
    span.right = span.right[:1].lower() + span.right[1:]


def _curl(spans: list[Span]) -> None:
    """Curly apostrophes; the replacement stays straight, as the model writes it."""
    for span in spans:
        if span.is_corrupted and span.wrong.count(" ") > 1:
            continue  # two edits, and words between them that no edit writes
        span.wrong = span.wrong.translate(_CURLY)
        if not span.is_corrupted:
            span.right = span.wrong


def _accent(spans: list[Span]) -> None:
    for span in spans:
        if not span.is_corrupted:
            _set(span, _NAME.sub(lambda match: _ACCENTED_NAMES[match.group()], span.wrong))


def _add_emoji(spans: list[Span], rng: random.Random) -> None:
    """Behind the sentence, before it, or between two of its words: one, or the same one several times."""
    emoji = chr(rng.choice(_PICTURES)) if rng.random() < 0.5 else rng.choice(_EMOJI)
    emoji *= rng.choice((1, 1, 1, 2, 3))
    roll, plain = rng.random(), [span for span in spans if not span.is_corrupted and " " in span.wrong]
    if roll < 0.15:
        spans.insert(0, Span(text := emoji + rng.choice((" ", "")), text))
    elif roll < 0.3 and plain:
        span = rng.choice(plain)
        _set(span, span.wrong.replace(" ", f" {emoji} ", 1))
    else:
        spans.append(Span(text := rng.choice((" ", " ", "")) + emoji, text))


def _decorate(spans: list[Span], rng: random.Random) -> None:
    kind = rng.randrange(5)
    if kind <= 1:
        _add_emoji(spans, rng)
    elif kind <= 3:
        opening, closing = rng.choice(_QUOTES)
        spans.insert(0, Span(opening, opening))
        spans.append(Span(closing, closing))
    else:
        dash = rng.choice((" \u2013 ", " - ", "\u2014", "; "))
        for span in spans:
            if not span.is_corrupted:
                _set(span, span.wrong.replace(", ", dash, 1))

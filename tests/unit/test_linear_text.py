"""Every step on a text takes time in proportion to its length, and a long text lets others have their turn.

Operations are counted, not timed: lines of api/grammar that run, characters that patterns look at, and characters that
methods of strings copy or scan.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from typing import Any

import pytest

import api.grammar
from api.grammar import pipeline, tokenizer
from api.grammar.edit_script import FIRST_POSITION_ID, REASONS, TAG_IDS
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.sentences import find_sentences
from api.grammar.words import count_words, split_pieces
from scheduler.errors import ServingError
from tests.loop_holds import MOST_LINES, Work

PIPELINE = TextPipeline.load()
UNITS = {
    "a mark and a line break": "!\n", "blank": " ", "line break": "\n", "question and a blank": "?\n ", "dots": ". ",
    "ellipses": "\u2026 ", "quotes": '"', "curly quotes": "\u201ca.\u201d ", "a quote and a dot": '."',
    "typed quotes": "-'a", "open quotes": "\u201c",
    "closing brackets": '.)]}"', "opening brackets": "(((", "open bracket": "(a. ", "accents": "a\u0301",
    "accents alone": "\u0301", "zero width": "\u200b", "joiners": "\u200d", "emoji": "\U0001f600",
    "emoji behind dots": ".\U0001f600 ", "smileys": ".:) ", "one word": "a", "apostrophes": "a'", "hyphens": "a-",
    "digits": "1", "decimals": "1.", "numbers": "1. ", "initials": "A. ", "initialism": "a.b.",
    "list": "1. Buy milk.\n",
    "he said": '"Stop!" he said. ', "underscores": "\n\n_", "tabs": "\t", "carriage returns": "\r\n",
    "hard blanks": "\u00a0", "times": "at 5 p.m. ", "titles": "Mr. ", "companies": "Inc. I ", "small lines": "a\n",
    "capital lines": "A\n", "dashes": "- a\n", "sentences": "He goes. ", "one-word sentences": "I. Me. ",
    "letters with accents": "\u00e9", "Chinese": "\u4e2d", "capitals": "GOED ", "forgotten blanks": "home.She ",
    "blank before dot": " .", "all marks": ".!?\u2026", "all marks and blanks": ". ! ? ", "colons": ":;",
    "lone surrogates": "\ud800", "symbols": ".\u2600", "powers": "\u00b2", "long lines": "word " * 12 + "\n",
    "quoted dots": "'a.' ", "square brackets": "[", "e.g.": "e.g. ", "blank lines": " \n", "lines of marks": "\n_",
    "closed questions": "?) ", "lone underscores": "a\n\n_\n\n_\n\n", "marks and emoji": "a. \U0001f600",
    "soft hyphens": "a\u00ad", "acutes": "a\u00b4a\u00ad ", "links": "https://a.bc/d ", "a link": "https://",
    "web": "www.", "addresses": "a@b.cd ", "an address": "a@b.", "at signs": "@", "dotted": "a.b-", "a token": "aB3_",
    "equal signs": "=",
    "dotted tokens": "aB3." * 11 + " ",
    "verbs": "goed ", "contractions": "don't ", "moves": "I goed to school yesterday. ",
}  # fmt: skip
ALL = 10**6
BOUNDS = [
    (module, name, getattr(module, name))
    for module, name in (
        (pipeline, "MAX_WORDS"), (pipeline, "MAX_CHARACTERS"),
        (tokenizer, "MAX_WORDS"), (tokenizer, "MAX_PROMPT_TOKENS"),
    )
]  # fmt: skip


class Meter(Work):
    """Counts characters, too."""

    characters = 0


METER = Meter("/grammar/")


class CountedPattern:
    """Counts the characters that a pattern looks at."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._pattern, name)

        def counted(*arguments: Any) -> Any:
            text, *places = arguments[1:] if name == "sub" else arguments
            start = places[0] if places else 0
            end = min(len(text), places[1] if len(places) > 1 else len(text))
            found = method(*arguments)
            is_match = isinstance(found, re.Match)
            METER.characters += (found.end() if is_match else end) - start if is_match or name != "match" else 1
            return found

        return counted if callable(method) else method


class CountedText(str):
    """Counts the characters that are copied from it, or that a method looks at."""

    def __getitem__(self, place: Any) -> str:
        part = str.__getitem__(self, place)
        METER.characters += len(part)
        return CountedText(part)


def _counted(name: str) -> Callable[..., Any]:
    method = getattr(str, name)

    def counted(self: str, *arguments: Any, **named: Any) -> Any:
        places = [each for each in arguments if isinstance(each, int)]
        result = method(self, *arguments, **named)
        end = places[1] if len(places) > 1 else len(self)
        METER.characters += end - (max(result, places[0]) if name == "rfind" else places[0] if places else 0)
        if isinstance(result, str):
            return CountedText(result)
        return list(map(CountedText, result)) if isinstance(result, list) else result

    return counted


for _name in ("split", "rsplit", "strip", "lstrip", "rstrip", "lower", "find", "rfind", "count", "isupper", "isspace"):
    setattr(CountedText, _name, _counted(_name))


@pytest.fixture(autouse=True)
def _counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrap all patterns, and lift the bounds that would refuse the texts before anything is done with them."""
    for info in pkgutil.walk_packages(api.grammar.__path__, "api.grammar."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                monkeypatch.setattr(module, name, CountedPattern(value))
    for module, name, _ in BOUNDS:
        monkeypatch.setattr(module, name, ALL)


def edits_of(num_words: int) -> list[int]:
    """An output that changes each of the first words, as a model might, a few to each reason."""
    ids: list[int] = []
    for word in range(min(num_words, 12)):
        reason = Reason.QUESTION_ORDER if word % 4 < 2 else REASONS[word]
        ids += [FIRST_POSITION_ID + word, *PIPELINE._tokenizer.encode_piece(" went"), TAG_IDS[reason]]
    return ids


def correct(text: str) -> None:
    """All that the API does with a text, with an output for each of its sentences; the same for a GET of it."""
    try:
        draft = PIPELINE.prepare_text(text)
        sentences = draft.take()
    except (ServingError, TypeError):  # the tokenizer takes no surrogates, and the schema refuses them before
        return
    PIPELINE.add_answers(draft, [(sentence, edits_of(len(sentence.prompt.words))) for sentence in sentences])
    PIPELINE.conclude_text(draft)


STEPS: dict[str, Callable[[str], object]] = {
    "sentences": lambda text: list(find_sentences(text)),
    "pieces": split_pieces,
    "words": count_words,
    "correct": correct,
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("unit", UNITS)
def test_twice_the_text_takes_at_most_some_twice_the_operations(unit: str, step: str) -> None:
    for form in ("{}", "A {} Go."):
        counts = []
        for num_characters in (600, 1_200):
            text = CountedText(form.format(UNITS[unit] * (num_characters // len(UNITS[unit]))))
            METER.characters = 0
            with METER.counted():
                STEPS[step](text)
            counts.append(METER.characters + METER.most_lines)

        assert 0 < counts[1] <= 2.3 * counts[0]


TEXTS = {unit: UNITS[unit] * (12_000 // len(UNITS[unit])) for unit in UNITS} | {
    "rare words": " ".join(f"Zq{number:x} vx{number * 7:x}jk wq{number * 13:x}." for number in range(64)),
    "long words": " ".join(f"{'qzxv' * 1_900}{number}. A" for number in range(5)),
}


@pytest.mark.parametrize("name_of_text", TEXTS)
def test_between_two_pauses_any_text_takes_a_bounded_number_of_lines(
    name_of_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXTS[name_of_text]
    for module, name, bound in BOUNDS:
        monkeypatch.setattr(module, name, bound)
    monkeypatch.setattr(PIPELINE, "pause", METER.pause)

    with METER.counted():
        for whole in (f"A {text} Go.", f"A {text[:7_900]}"):
            correct(whole)
            METER.pause()

    assert 0 < METER.most_lines <= MOST_LINES

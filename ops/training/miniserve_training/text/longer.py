"""Joins statements of the text to sentences of up to 64 words; what breaks a part breaks the whole.

Only parts of one tense are joined, by marks and words that leave every verb as right, or as wrong, as it was.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from api.grammar.words import count_words, split_pieces
from miniserve_training.text.corpus import TaggedSentence, TaggedToken, shifted
from miniserve_training.text.lexicon import words
from miniserve_training.text.view import Candidate

MOST_WORDS = 64
_LEAST_TARGET = 16
_MOST_PARTS = 9
_JOINTS = (
    ", and", ", and", ", and", ", but", ", but", ";", ";", " because", ", while", ", so", ", yet", ", for", " and",
)  # fmt: skip
# Words that are small inside a sentence in every meaning; "I" and its forms stay as they are.
_OPENINGS = words("he she it we they you the a an this that these those my your his her our their there")
_PLAIN_STATEMENT = re.compile(r"[A-Z][^\"\u201c\u201d()?!:;.\u2026\u2013\u2014]*\.")
_IS_I = re.compile(r"I(?!\w)")
_OTHER_MOODS = words("if wish suggest insist recommend let please unless though when")

Part = tuple[TaggedSentence, Sequence[Candidate]]


def tense_of(sentence: TaggedSentence) -> str:
    """ "past" or "present" where a plain statement has finite verbs of one of them only, else ""."""
    if not _PLAIN_STATEMENT.fullmatch(sentence.text):
        return ""
    tags = {token.tag for token in sentence.tokens}
    is_past, is_present = "VBD" in tags, not tags.isdisjoint(("VBZ", "VBP"))
    if is_past == is_present or any(token.text.lower() in _OTHER_MOODS for token in sentence.tokens):
        return ""
    return "past" if is_past else "present"


class Joiner:
    """Draws the parts that go with a sentence."""

    def __init__(self, sentences: Sequence[TaggedSentence]) -> None:
        self._followers: dict[str, list[TaggedSentence]] = {"past": [], "present": []}
        for sentence in sentences:
            tense = tense_of(sentence)
            if tense and _may_follow(sentence):
                self._followers[tense].append(sentence)

    def lengthen(self, part: Part, rng: random.Random) -> Part:
        """The part with others after it, or one before it; the part alone where nothing fits."""
        followers = self._followers.get(tense_of(part[0]))
        if not followers:
            return part
        if _may_follow(part[0]) and rng.random() < 0.5:
            part = _join((rng.choice(followers), ()), part, rng)
        target = rng.randint(_LEAST_TARGET, MOST_WORDS)
        for _ in range(_MOST_PARTS):
            if count_words(part[0].text) >= target:
                break
            longer = _join(part, (rng.choice(followers), ()), rng)
            if count_words(longer[0].text) > MOST_WORDS:
                break
            part = longer
        return part


def _may_follow(sentence: TaggedSentence) -> bool:
    opening = split_pieces(sentence.text)[0].text
    return opening.lower() in _OPENINGS or _IS_I.match(opening) is not None


def _join(one: Part, other: Part, rng: random.Random) -> Part:
    joint = rng.choice(_JOINTS)
    num_words = count_words(one[0].text) + ("a" <= joint[-1] <= "z")
    first_text, second_text = one[0].text.removesuffix("."), other[0].text
    if not _IS_I.match(second_text):
        second_text = second_text[0].lower() + second_text[1:]
    start = len(first_text) + len(joint) + 1
    tokens = (*one[0].tokens[:-1], *_joint_tokens(joint, num_words - 1), *shifted(other[0].tokens, num_words))
    sentence = TaggedSentence(one[0].source, f"{first_text}{joint} {second_text}", tokens)
    moved = [_moved(candidate, num_words, start) for candidate in other[1]]
    return sentence, [*one[1], *moved]


def _joint_tokens(joint: str, word_number: int) -> list[TaggedToken]:
    mark, word = joint[:1].strip(), joint[1:].strip()
    tokens = [TaggedToken(mark, mark, None)] if mark else []
    return [*tokens, TaggedToken(word, "CC", word_number)] if word else tokens


def _moved(candidate: Candidate, num_words: int, start: int) -> Candidate:
    wrong = candidate.wrong
    if candidate.first == 0 and not _IS_I.match(wrong):
        wrong = wrong[0].lower() + wrong[1:]
    return candidate._replace(
        first=candidate.first + num_words,
        wrong=wrong,
        start=candidate.start + start,
        end=candidate.end + start,
    )

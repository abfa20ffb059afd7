"""Noun phrases of the text as sentences of their own: "The brilliant sound of the trumpets." lacks no verb form.

Captions, headings and answers look so; without them in training, a noun is taken for the missing verb.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from miniserve_training.text.corpus import TaggedSentence, TaggedToken

_MODIFIERS = frozenset(("JJ", "NN"))
_HEADS = frozenset(("NN", "NNS"))
_LINKS = frozenset(("of", "in", "for", "with", "on", "from", "about", "between", "at"))
_MOST = 20_000


def fragments(sentences: Sequence[TaggedSentence], rng: random.Random) -> list[TaggedSentence]:
    """A noun phrase with one or more phrases behind it, of each sentence that has one; at most 20,000."""
    found: dict[str, TaggedSentence] = {}
    for sentence in rng.sample(sentences, len(sentences)):
        if len(found) >= _MOST:
            break
        words = _longest_phrase(sentence.tokens)
        if words:
            text = " ".join(words)
            text = text[0].upper() + text[1:] + "."
            opening = TaggedToken(text.split()[0], "DT", 0)
            found.setdefault(text, TaggedSentence("fragment", text, (opening,)))
    return list(found.values())


def _longest_phrase(tokens: Sequence[TaggedToken]) -> list[str]:
    for start in range(len(tokens)):
        if tokens[start].tag == "DT" and (end := _phrase_end(tokens, start)):
            return [token.text for token in tokens[start:end]]
    return []


def _phrase_end(tokens: Sequence[TaggedToken], start: int) -> int:
    """Past the last word of "the sound of the trumpets"; 0 if nothing hangs on the first noun."""
    end, num_parts, at = 0, 0, start
    while head := _noun_end(tokens, at):
        end, num_parts = head, num_parts + 1
        if end >= len(tokens) or tokens[end].text not in _LINKS:
            break
        at = end + 1
    is_whole = num_parts > 1 and all(token.word_number is not None for token in tokens[start:end])
    return end if is_whole else 0


def _noun_end(tokens: Sequence[TaggedToken], start: int) -> int:
    """Past a plain noun phrase that begins at `start`; 0 if none does."""
    end = start + (start < len(tokens) and tokens[start].tag in ("DT", "PRP$"))
    while end < len(tokens) and tokens[end].tag in _MODIFIERS | _HEADS:
        end += 1
    return end if end > start and tokens[end - 1].tag in _HEADS else 0

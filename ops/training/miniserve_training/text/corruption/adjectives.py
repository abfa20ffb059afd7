"""Participles that stand before a noun: "the broken mirror", never "the broke mirror" or "the breaked mirror"."""

from __future__ import annotations

import random
from collections.abc import Sequence

from api.grammar.reasons import Reason
from api.grammar.words import split_pieces
from miniserve_training.text.corpus import TaggedSentence, TaggedToken, shifted
from miniserve_training.text.lexicon import Lexicon, words
from miniserve_training.text.view import View

_DETERMINERS = frozenset(("DT", "PRP$"))
# Verbs whose past is no word that may stand before a noun; "the spoke", "the rose", "a felt hat" are right.
_VERBS = words(
    "break forget hide steal write give grow freeze choose tear wear swear know shake fall bite drive forbid throw "
    "take mistake forsake shrink sink draw sew blow"
)
_NO_NOUN_AFTER = words("way lot kind sort one time times first same other bit number")
_MOST_MADE = 3000


def add_adjective_errors(view: View) -> None:
    for index, word in enumerate(view.words):
        verb = view.lexicon.participle.get(word.lower) if word.tag in ("VBN", "JJ") else None
        if verb is None or verb.lemma not in _VERBS or not _is_before_noun(view, index):
            continue
        past = verb.pasts[0]
        if past not in verb.participles:
            view.add(Reason.PASSIVE_PART, verb.lemma, index, past)
        for wrong in view.lexicon.over_regularised(verb):
            view.add(Reason.PART_IRREG, verb.lemma, index, wrong)


def participle_sentences(
    sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random
) -> list[TaggedSentence]:
    """Sentences of the text with a participle put before a noun: "The forgotten newspaper was on the floor."."""
    participles = sorted(
        {verb.participles[0] for verb in lexicon.base.values() if verb.lemma in _VERBS and verb.lemma != "bite"}
    )
    most = min(_MOST_MADE, len(sentences) // 50 + 20)
    made: list[TaggedSentence] = []
    for sentence in rng.sample(sentences, len(sentences)):
        if len(made) >= most:
            break
        at = _bare_noun(sentence.tokens)
        if at is not None:
            made.append(_with_participle(sentence, at, rng.choice(participles)))
    return made


def _bare_noun(tokens: Sequence[TaggedToken]) -> int | None:
    """The index of a noun right after its determiner, with no other word of the phrase behind it."""
    for at in range(1, len(tokens) - 1):
        before, noun, after = tokens[at - 1], tokens[at], tokens[at + 1]
        is_bare = before.tag in _DETERMINERS and noun.tag in ("NN", "NNS") and after.tag not in ("NN", "NNS", "POS")
        has_room = (
            before.text.lower() not in ("an", "all", "some", "any", "no", "that") and before.word_number is not None
        )
        if is_bare and has_room and noun.text.isalpha() and noun.text.lower() not in _NO_NOUN_AFTER:
            return at
    return None


def _with_participle(sentence: TaggedSentence, at: int, participle: str) -> TaggedSentence:
    noun = sentence.tokens[at]
    assert noun.word_number is not None
    added = TaggedToken(participle, "VBN", noun.word_number)
    tokens = (*sentence.tokens[:at], added, *shifted(sentence.tokens[at:], 1))
    start = _start_of_word(sentence.text, noun.word_number)
    return TaggedSentence(sentence.source, f"{sentence.text[:start]}{participle} {sentence.text[start:]}", tokens)


def _start_of_word(text: str, number: int) -> int:
    return next(piece.start for piece in split_pieces(text) if piece.word_number == number)


def _is_before_noun(view: View, index: int) -> bool:
    word, before, after = view.words[index], view.at(index - 1), view.at(index + 1)
    return before.tag in _DETERMINERS and before.is_joined and word.is_joined and after.tag in ("NN", "NNS")

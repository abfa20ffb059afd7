"""Sentences of the text with phrases between a subject and its verb: "The change in the other two photographs is"."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from miniserve_training.text.corpus import TaggedSentence, TaggedToken, shifted
from miniserve_training.text.generators.plain import tagged
from miniserve_training.text.lexicon import Lexicon
from miniserve_training.text.tables import word_list
from miniserve_training.text.view import View

_NEAR, _FAR = word_list("near_phrases"), word_list("far_phrases")
_MOST = 20_000
_AGREEING = frozenset(("VBZ", "VBP", "VBD"))


def heavy_subjects(sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random) -> list[TaggedSentence]:
    """At most 20,000: each with one or two phrases behind the noun that it begins with."""
    made: list[TaggedSentence] = []
    for sentence in rng.sample(sentences, len(sentences)):
        if len(made) >= min(_MOST, len(sentences) // 10 + 20):
            break
        if sentence.tokens[0].tag in ("DT", "PRP$"):
            made += _heavier(View(sentence, lexicon), sentence, rng)
    return made


def _heavier(view: View, sentence: TaggedSentence, rng: random.Random) -> Iterator[TaggedSentence]:
    verb = next((at for at, word in enumerate(view.words) if word.tag in _AGREEING), None)
    subject = view.subject(verb) if verb else None
    if not verb or not subject or not subject.number or subject.first or not view.words[verb - 1].tag.startswith("NN"):
        return
    phrase = " ".join(part for part in (rng.choice(_NEAR), rng.choice(_FAR)) if rng.random() < 0.6) or _NEAR[0]
    groups = tagged(phrase)
    added = [TaggedToken(token.text, token.tag, verb + at) for at, group in enumerate(groups) for token in group]
    place = next(at for at, token in enumerate(sentence.tokens) if token.word_number == verb)
    start, text = view.words[verb].start, " ".join(token.text for token in added)
    yield TaggedSentence(
        sentence.source,
        f"{sentence.text[:start]}{text} {sentence.text[start:]}",
        (*sentence.tokens[:place], *added, *shifted(sentence.tokens[place:], len(groups))),
        agreeing=((verb + len(groups), subject.number),),
    )

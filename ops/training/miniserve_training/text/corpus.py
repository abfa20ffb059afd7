"""Reads the tagged training text and says which sentences are never trained on.

The files have three tab-separated columns: source, sentence, tagged tokens (`token/PennTag/index`). Their index
counts punctuation, ours does not: tokens are renumbered with `api.grammar.words`, and a sentence on which the two ways
of cutting disagree is left out.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from api.grammar.words import split_pieces

HELD_OUT_PER_MILLE = 20
# Text as it is written for readers: every 20th sentence is for the figures, a tenth more for what is chosen by figures.
NATURAL_SOURCES = ("wikipedia", "wikitext", "ewt-", "debian-")
_PROSE_SOURCES = ("masc",)
MEASURED_PER_MILLE, UNTRAINED_PER_MILLE = 50, 150


@dataclass(frozen=True, slots=True)
class TaggedToken:
    """A token of the tagger: "don't" gives two, `do/VBP` and `n't/RB`, with the same word number."""

    text: str
    tag: str
    word_number: int | None  # None for punctuation


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    source: str
    text: str
    tokens: tuple[TaggedToken, ...]
    # Of made sentences whose subjects are long: (word number of a finite verb, number of its subject).
    agreeing: tuple[tuple[int, str], ...] = ()

    @property
    def is_natural(self) -> bool:
        """Written for readers, not for learners or listeners."""
        return self.source.startswith(NATURAL_SOURCES)

    @property
    def is_prose(self) -> bool:
        """Running text by people who mind how they write: names, titles, long subjects."""
        return self.is_natural or self.source in _PROSE_SOURCES

    @property
    def is_held_out(self) -> bool:
        """True for a sentence that no training sees."""
        return is_held_out(self.text, UNTRAINED_PER_MILLE if self.is_natural else HELD_OUT_PER_MILLE)

    @property
    def is_for_test(self) -> bool:
        """Of those held out, the ones for the figures; by the others something is chosen."""
        if self.is_natural:
            return is_held_out(self.text, MEASURED_PER_MILLE)
        return hashlib.blake2b(self.text.encode(), digest_size=1, salt=b"test").digest()[0] >= 64


def shifted(tokens: Iterable[TaggedToken], by: int) -> list[TaggedToken]:
    """The same tokens for a place so many words further on."""
    return [
        token if token.word_number is None else replace(token, word_number=token.word_number + by) for token in tokens
    ]


def is_held_out(text: str, per_mille: int = HELD_OUT_PER_MILLE) -> bool:
    """True for this share of the sentences, kept for evaluation, by a hash that is the same everywhere."""
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 1000 < per_mille


def read_corpus(paths: Iterable[Path | str]) -> list[TaggedSentence]:
    """All sentences of the `.tsv` and `.tsv.gz` files whose words line up with ours, in the files' order.

    Raises ValueError naming the line that is not in this form.
    """
    # Tokens repeat a great deal; sharing them keeps 280,000 sentences in some hundred MB.
    shared: dict[tuple[str, int | None], TaggedToken] = {}
    sentences = []
    for path in map(Path, paths):
        for number, line in enumerate(lines_of(path), start=1):
            try:
                source, text, tagged = line.rstrip("\n").split("\t")
                tokens = _aligned_tokens(text, tagged, shared)
            except ValueError:
                raise ValueError(
                    f"{path}, line {number}: not a source, a sentence and its tagged tokens (token/TAG/index), "
                    "separated by tabs"
                ) from None
            if tokens:
                sentences.append(TaggedSentence(source, text, tokens))
    return sentences


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a `.tsv` or `.tsv.gz` file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from file


def _aligned_tokens(
    text: str, tagged: str, shared: dict[tuple[str, int | None], TaggedToken]
) -> tuple[TaggedToken, ...]:
    """The tokens with our word numbers; empty if they do not spell out the same pieces as `split_pieces`."""
    pieces = split_pieces(text)
    spelled = [""] * len(pieces)
    tokens = []
    for raw in tagged.split(" "):
        label, _, index_text = raw.rpartition("/")
        index = int(index_text)
        if index >= len(pieces):
            return ()
        key = (label, pieces[index].word_number)
        if key not in shared:
            token_text, _, tag = label.rpartition("/")
            shared[key] = TaggedToken(token_text, tag, key[1])
        spelled[index] += shared[key].text
        tokens.append(shared[key])
    return tuple(tokens) if all(a == b.text for a, b in zip(spelled, pieces, strict=True)) else ()

"""Counts the n-grams that ship as `api/grammar/ngrams.bin`: `miniserve-training ngrams TEXT...`.

Only edits of verbs are judged by them: n-grams without a form of a verb are left out, but for single words and for what
longer ones begin with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import click

from api.grammar.ngrams import END, ORDER, SHIPPED, START, counted, packed
from api.grammar.surroundings.context import TOKEN
from api.grammar.verb_words import VerbWords
from api.grammar.verbs import VerbTable
from miniserve_training.text.corpus import TaggedSentence, lines_of

_LEAST = (3, 3, 4)  # counts of words, pairs and triples
_END_MARKS = ".!?"
_VERBAL = ("to", "not", "n't")


def count_ngrams(texts: Iterable[str], verbs: VerbTable) -> dict[tuple[str, ...], int]:
    """The counts that are kept, and under () that of all words."""
    tokenized = [TOKEN.findall(text.rstrip(_END_MARKS)) for text in texts]
    small = Counter(token for tokens in tokenized for token in tokens if token[0].islower())
    counts: Counter[tuple[str, ...]] = Counter()
    for tokens in tokenized:
        words = [START] * (ORDER - 1)
        words += counted(tokens, is_start=True, is_known=lambda word: small[word] >= _LEAST[0])
        words.append(END)
        for length in range(1, ORDER + 1):
            counts.update(zip(*(words[start:] for start in range(length)), strict=False))
    counts[START,] = counts[START, START]
    known = VerbWords(verbs)
    is_verbal = cache(lambda word: word in _VERBAL or bool(known.lemmas_of(word)))
    kept = {(): sum(count for words, count in counts.items() if len(words) == 1 and words != (START,))}
    for words, count in counts.items():
        if count >= _LEAST[len(words) - 1] and (len(words) == 1 or any(map(is_verbal, words))):
            for start in range(1, len(words) + 1):
                kept[words[:start]] = counts[words[:start]]
    return kept


def _sentences(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        for line in lines_of(path):
            source, text, *_ = line.rstrip("\n").split("\t")
            if not TaggedSentence(source, text, ()).is_held_out:
                yield text


@click.command()
@click.argument("texts", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True)
def main(texts: tuple[Path, ...]) -> None:
    """Count again the n-grams that ship, in TEXTS: lines of a source, a tab and a sentence (.tsv, .tsv.gz)."""
    made = SHIPPED.with_suffix(".new")  # processes may have the old one mapped
    made.write_bytes(packed(count_ngrams(_sentences(texts), VerbTable.load())))
    made.replace(SHIPPED)

"""Tags more text for the training as the corpus is tagged: `miniserve-training tag SENTENCES --like CORPUS --out FILE`.

An averaged perceptron (Collins, 2002) learns from a tagged corpus, word by word from left to right, by the word, its
ends, its neighbours and the two tags before it. So the corpus can grow without the program that tagged it first.
"""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
from tqdm import tqdm

from api.grammar.words import split_pieces
from miniserve_training.text.corpus import is_held_out, read_corpus

_ROUNDS = 5
_CERTAIN_COUNT, _CERTAIN_SHARE = 20, 0.97  # a word met so often, nearly always with one tag, has that tag
_NOT, _ENDINGS = re.compile(r"(?i)(.+)(n't)"), re.compile(r"(?i)(.+)('(?:s|re|ve|ll|d|m))")
_JOINED = {"cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3}  # characters of the first token
_START, _END = ("<s>", "<s2>"), ("</s>", "</s2>")

Tagged = tuple[Sequence[str], Sequence[str]]  # the tokens of a sentence, and their tags


class PerceptronTagger:
    """Scores of (feature, tag), averaged over all updates."""

    def __init__(self) -> None:
        self._weights: dict[str, dict[str, float]] = {}
        self._certain: dict[str, str] = {}
        self._tags: list[str] = []

    @classmethod
    def trained(cls, sentences: Sequence[Tagged], seed: int = 0) -> PerceptronTagger:
        """Learn from tagged sentences, in another order every round."""
        tagger = cls()
        tagger._know_certain(sentences)
        order, rng = list(sentences), random.Random(seed)
        sums: dict[tuple[str, str], float] = defaultdict(float)  # of each weight over the updates it lasted
        since: dict[tuple[str, str], int] = defaultdict(int)
        step = 0

        def add(feature: str, tag: str, by: float) -> None:
            scores, place = tagger._weights.setdefault(feature, {}), (feature, tag)
            sums[place] += (step - since[place]) * scores.get(tag, 0.0)
            since[place] = step
            scores[tag] = scores.get(tag, 0.0) + by

        for _ in range(_ROUNDS):
            rng.shuffle(order)
            for tokens, tags in tqdm(order, unit="sentence", mininterval=2.0):
                for guess, features, tag in tagger._guesses(tokens, tags):
                    step += 1
                    if guess != tag:
                        for feature in features:
                            add(feature, tag, 1.0)
                            add(feature, guess, -1.0)
        for feature, scores in tagger._weights.items():
            for tag in scores:
                add(feature, tag, 0.0)
                scores[tag] = sums[feature, tag] / step
        return tagger

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """A tag for each token."""
        return [guess for guess, _, _ in self._guesses(tokens)]

    def _know_certain(self, sentences: Iterable[Tagged]) -> None:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for tokens, tags in sentences:
            for token, tag in zip(tokens, tags, strict=True):
                counts[token][tag] += 1
        self._tags = sorted({tag for found in counts.values() for tag in found})
        for token, found in counts.items():
            (tag, most), total = found.most_common(1)[0], found.total()
            if total >= _CERTAIN_COUNT and most >= _CERTAIN_SHARE * total:
                self._certain[token] = tag

    def _guesses(self, tokens: Sequence[str], tags: Sequence[str] = ()) -> Iterator[tuple[str, list[str], str]]:
        """Guess, features and true tag of each token; a guess follows from those before it."""
        words = (*_START, *map(_normal, tokens), *_END)
        before = "-", "-"
        for index, token in enumerate(tokens):
            guess, features = self._certain.get(token), []
            if guess is None:
                features = _features(token, words, index + len(_START), before)
                guess = self._best(features)
                yield guess, features, tags[index] if tags else ""
            elif not tags:
                yield guess, features, ""
            before = before[1], guess

    def _best(self, features: Iterable[str]) -> str:
        scores: dict[str, float] = dict.fromkeys(self._tags, 0.0)
        for feature in features:
            for tag, weight in self._weights.get(feature, {}).items():
                scores[tag] += weight
        return max(scores, key=scores.__getitem__)


def _normal(token: str) -> str:
    if token[0].isdigit():
        return "#year" if len(token) == 4 and token.isdigit() else "#number"
    return token.lower()


def _features(token: str, words: Sequence[str], i: int, before: tuple[str, str]) -> list[str]:
    last, word, shape = before[1], words[i], "X" if token[0].isupper() else "x"
    return [
        "bias", f"w {word}", f"3 {word[-3:]}", f"2 {word[-2:]}", f"1 {word[0]}", f"A {shape} {last}",
        f"h {'-' in token} {token.isupper()} {shape}", f"t {last}", f"tt {before[0]} {last}", f"tw {last} {word}",
        f"-w {words[i - 1]}", f"-3 {words[i - 1][-3:]}", f"-- {words[i - 2]}", f"+w {words[i + 1]}",
        f"+3 {words[i + 1][-3:]}", f"++ {words[i + 2]}", f"w+ {word} {words[i + 1]}",
    ]  # fmt: skip


def tokens_of(text: str) -> list[tuple[str, int]]:
    """The tagger's tokens with the index of their word or mark: "don't" gives `do` and `n't` with one index."""
    tokens = []
    for index, piece in enumerate(split_pieces(text)):
        word = piece.text
        if match := _NOT.fullmatch(word) or _ENDINGS.fullmatch(word):
            tokens += [(part, index) for part in match.groups()]
        elif cut := _JOINED.get(word.lower()):
            tokens += [(word[:cut], index), (word[cut:], index)]
        else:
            tokens.append((word, index))
    return tokens


def agreement(tagger: PerceptronTagger, sentences: Iterable[Tagged]) -> float:
    """The share of tokens that get the tag they have."""
    pairs = [pair for tokens, tags in sentences for pair in zip(tagger.tag(tokens), tags, strict=True)]
    return sum(guess == tag for guess, tag in pairs) / max(1, len(pairs))


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("sentences", type=_FILE)
@click.option("--like", "corpora", type=_FILE, multiple=True, required=True, help="Tagged text to learn from.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="A .tsv.gz for --corpus.")
def main(sentences: Path, corpora: tuple[Path, ...], out: Path) -> None:
    """Tag SENTENCES, lines of a source, a tab and a sentence, as the text given by --like is tagged."""
    known = [(tuple(one.text for one in s.tokens), tuple(one.tag for one in s.tokens), s.text)
             for s in read_corpus(corpora)]  # fmt: skip
    tagger = PerceptronTagger.trained([(tokens, tags) for tokens, tags, text in known if not is_held_out(text)])
    share = agreement(tagger, [(tokens, tags) for tokens, tags, text in known if is_held_out(text)])
    click.echo(f"{share:.2%} of the tokens of sentences kept back get the tag that they have", err=True)
    lines = sentences.read_text(encoding="utf-8").splitlines()
    with gzip.open(out, "wt", encoding="utf-8") as file:
        for line in tqdm(lines, unit="sentence", mininterval=2.0):
            source, text = line.split("\t")
            tokens = tokens_of(text)
            tags = tagger.tag([token for token, _ in tokens])
            tagged = " ".join(f"{token}/{tag}/{i}" for (token, i), tag in zip(tokens, tags, strict=True))
            file.write(f"{source}\t{text}\t{tagged}\n")

"""Trains the tokenizer that ships as `api/grammar/tokenizer.json`: `miniserve-training vocabulary CORPUS...`.

Byte-level BPE over pieces as `api.grammar.tokenizer` cuts them. Two things help the model to see through mistakes: a
final -ed or -ing is a token of its own (walk|ed, shak|ed, swimm|ing), and so is every form of the irregular verbs and
its stem, because over-regularised forms never seen in training are corrected only if their stem is one token.
A trained model fits one tokenizer only: retrain it after running this.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from api.grammar.edit_script import special_tokens
from api.grammar.verbs import VerbTable
from api.grammar.words import split_pieces
from miniserve_training.text.corpus import read_corpus
from miniserve_training.text.maker import ExampleMaker
from miniserve_training.text.tables import word_list

VOCAB_SIZE = 3072
# The last merges of the text have counts near 100: a piece this frequent always ends as one token.
_STEM_COUNT = 2_000
# Frequent words that end so by nature; splitting them would only make prompts longer.
_WHOLE_WORDS = word_list("unsplit_words")
_QUOTES = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}


def irregular_stems(verbs: VerbTable) -> list[str]:
    """Forms of the irregular verbs, and what stands before -ed in mistaken ones: `shake`, `shook`, `shak`, `swimm`."""
    stems: dict[str, None] = {}
    for verb in verbs.verbs.values():
        if not verb.is_irregular:
            continue
        forms = (verb.lemma, *verb.pasts, *verb.participles)
        doubled = verb.lemma + verb.lemma[-1]
        stems |= dict.fromkeys(forms)
        stems |= dict.fromkeys(form[:-1] for form in forms if form.endswith("e"))
        stems |= dict.fromkeys(stem for form in verbs.over_regularised(verb.lemma) if (stem := form[:-2]) == doubled)
    return [stem for stem in stems if stem.isalpha() and len(stem) > 1]


def unsplit_words(verbs: VerbTable) -> list[str]:
    """Words whose final ed or ing is no ending."""
    forms = {form for verb in verbs.verbs.values() for form in (verb.lemma, verb.lemma + "s")}
    forms |= {form for verb in verbs.verbs.values() if verb.is_irregular for form in (*verb.pasts, *verb.participles)}
    return sorted({form for form in forms if form.endswith(("ed", "ing"))} | set(_WHOLE_WORDS))


def build_tokenizer(verbs: VerbTable) -> Tokenizer:
    """The untrained tokenizer: normalizer and pre-split in place, no vocabulary."""
    tokenizer = Tokenizer(models.BPE())
    replacements = [normalizers.Replace(curly, straight) for curly, straight in _QUOTES.items()]
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), *replacements])
    whole = "|".join(unsplit_words(verbs))
    stem = rf"(?i)^(?! ?(?:{whole})$).*[a-z]{{2}}(?=(?:ed|ing)$)"
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("'", "merged_with_next"),
        pre_tokenizers.Split(Regex(stem), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train_tokenizer(sentences: Iterable[str], verbs: VerbTable, path: Path) -> None:
    """Train on sentences, right and wrong ones together, and write the tokenizer file."""
    tokenizer = build_tokenizer(verbs)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE, special_tokens=special_tokens(), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    counts = Counter(piece for sentence in sentences for piece in _spaced_pieces(sentence))
    for stem in irregular_stems(verbs):
        counts[" " + stem] += _STEM_COUNT
    tokenizer.train_from_iterator(_repeated(counts), trainer)
    path.write_text(tokenizer.to_str(pretty=False), encoding="utf-8")


def _spaced_pieces(sentence: str) -> Iterator[str]:
    for piece in split_pieces(sentence):
        follows_space = piece.start == 0 or sentence[piece.start - 1].isspace()
        yield " " + piece.text if follows_space else piece.text


def _repeated(counts: Counter[str]) -> Iterator[str]:
    # The order of merges of equal count follows the order of the text, so it is fixed here.
    for piece, count in sorted(counts.items()):
        yield from itertools.repeat(piece, count)


def _training_text(corpora: Sequence[Path], verbs: VerbTable, seed: int) -> Iterator[str]:
    """Every sentence of the text, right and perhaps wrong; none that the generator rewrote, whose few time words and
    frames would crowd out words of the language."""
    sentences = [sentence for sentence in read_corpus(corpora) if not sentence.is_held_out]
    maker, rng = ExampleMaker(verbs, sentences), random.Random(seed)
    for sentence in sentences:
        yield sentence.text
        yield maker.make(sentence, rng).sentence


@click.command()
@click.argument("corpora", type=click.Path(exists=True, dir_okay=False, path_type=Path), nargs=-1, required=True)
def main(corpora: tuple[Path, ...]) -> None:
    """Train the tokenizer that ships again, from the sentences of CORPORA."""
    verbs = VerbTable.load()
    text = _training_text(corpora, verbs, seed=0)
    train_tokenizer(text, verbs, Path(__file__).parents[4] / "api" / "grammar" / "tokenizer.json")

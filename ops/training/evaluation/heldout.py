"""The held-out set of a run: examples made from sentences no training step sees, and how the twin does on them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from api.grammar.edit_script import ScriptEdit, parse_script
from api.grammar.tokenizer import Prompt, Tokenizer
from api.grammar.verbs import VerbTable
from ops.training.evaluation.items import Item, write_items
from ops.training.model.batches import NO_TARGET, BatchOptions, cut_batches, encode_example, to_tensors
from ops.training.model.decoding import Decoded, decode
from ops.training.model.twin import Twin
from ops.training.text.corpus import read_corpus
from ops.training.text.edits import apply_edits, edits_of, with_mistake
from ops.training.text.lexicon import Lexicon
from ops.training.text.maker import Example, ExampleMaker
from ops.training.text.written import lines as written

_INVENTED = ("made", "hard")  # by the maker itself: the same in training, so they prove nothing here
_LONG_TOKENS = 8


@dataclass(frozen=True, slots=True)
class HeldOutOptions:
    """How many of each to make, and from which seed."""

    num_wrong: int
    num_clean: int
    is_for_test: bool = False
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Score:
    """Shares of the set, decoded at one bias of <eos> and without the guard."""

    eos_bias: float
    exact: float  # of the wrong sentences: all edits right
    tagged: float  # of the wrong sentences: all edits and all reasons right
    detected: float  # of the wrong sentences: anything changed
    false_positives: float  # of the clean sentences: anything changed


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Examples with their prompts."""

    tokenizer: Tokenizer
    examples: tuple[Example, ...]
    prompts: tuple[Prompt, ...]

    @classmethod
    def make(cls, corpora: Sequence[Path], tokenizer: Tokenizer, options: HeldOutOptions) -> HeldOut:
        """The same set for the same options and corpora."""
        return cls._fitting(tokenizer, held_out_examples(corpora, options))

    @classmethod
    def as_written(cls, corpora: Sequence[Path], tokenizer: Tokenizer) -> HeldOut:
        """The held-out sentences of this length just as the text has them: nearest to news and essays."""
        texts = {sentence.text: sentence.source for sentence in read_corpus(corpora)
                 if len(sentence.tokens) >= _LONG_TOKENS and sentence.is_held_out
                 and not sentence.is_for_test}  # fmt: skip
        return cls._fitting(tokenizer, (Example(text, text, (), source) for text, source in texts.items()))

    @classmethod
    def written(cls, tokenizer: Tokenizer) -> HeldOut:
        """The generated lines that are kept from the training: each one right, and wrong where it can be."""
        rng = random.Random(0)
        examples = []
        for line in written.load(held_out=True):
            text, places = line.draw(rng)
            examples.append(Example(text, text, (), "written"))
            if places:
                mistake = rng.choice(rng.choice(places))
                examples.append(Example(with_mistake(text, mistake), text, edits_of(text, [mistake]), "written"))
        return cls._fitting(tokenizer, examples)

    @classmethod
    def _fitting(cls, tokenizer: Tokenizer, examples: Iterable[Example]) -> HeldOut:
        """Those of the examples that are within the model's limits."""
        fitting = tuple(example for example in examples if encode_example(tokenizer, example))
        return cls(tokenizer, fitting, tuple(tokenizer.encode(example.sentence) for example in fitting))

    def score(self, twin: Twin, device: str, eos_bias: float = 0.0) -> Score:
        """Decode everything and compare."""
        twin.eval()
        decoded = decode(twin, self.prompts, device)
        twin.train()
        return self.score_at(decoded, eos_bias)

    @torch.no_grad()
    def output_loss(self, twin: Twin) -> float:
        """Mean loss of the wanted output tokens: says more than counts do where two models are nearly equal."""
        rows = [row for example in self.examples if (row := encode_example(self.tokenizer, example))]
        total = num_tokens = 0.0
        for batch in cut_batches(rows, BatchOptions(), random.Random(0)):
            weight = float((batch.targets != NO_TARGET).sum())
            total += weight * twin.losses(to_tensors(batch, "cpu")).output.item()
            num_tokens += weight
        return total / max(1.0, num_tokens)

    def score_at(self, decoded: Sequence[Decoded], eos_bias: float) -> Score:
        """Score what was decoded, as if with this bias."""
        num_exact = num_tagged = num_detected = num_false = num_wrong = 0
        for example, prompt, result in zip(self.examples, self.prompts, decoded, strict=True):
            found = parse_script(self.tokenizer, result.at(eos_bias), len(prompt.words)).edits
            num_wrong += bool(example.edits)
            num_exact += bool(example.edits) and _without_reasons(found) == _without_reasons(example.edits)
            num_tagged += bool(example.edits) and found == example.edits
            num_detected += bool(example.edits) and bool(found)
            num_false += not example.edits and bool(found)
        num_clean = len(self.examples) - num_wrong
        return Score(eos_bias, num_exact / max(1, num_wrong), num_tagged / max(1, num_wrong),
                     num_detected / max(1, num_wrong), num_false / max(1, num_clean))  # fmt: skip


def held_out_examples(corpora: Sequence[Path], options: HeldOutOptions) -> list[Example]:
    """Examples from held-out sentences, first the wrong ones; reasons weighted as in training, no sentence twice.

    What the bias of <eos> is tuned on and what the final figures are counted on come from different sentences.
    """
    verbs, sentences = VerbTable.load(), read_corpus(corpora)
    lexicon = Lexicon.build(verbs, sentences)
    part = [each for each in sentences if each.is_held_out and each.is_for_test == options.is_for_test]
    if not part:
        raise ValueError("the corpus is too small: none of its sentences is held out")
    wrong: dict[str, Example] = {}
    clean: dict[str, Example] = {}
    # A small part runs out of distinct sentences in the end; the limit ends the search.
    limit = 40 * (options.num_wrong + options.num_clean)
    maker = ExampleMaker(verbs, part, lexicon=lexicon)
    for example in itertools.islice(maker.stream(options.seed), limit):
        if example.source in _INVENTED:
            continue
        kept, wanted = (wrong, options.num_wrong) if example.edits else (clean, options.num_clean)
        if len(kept) < wanted:
            text = example.sentence if example.edits else example.corrected
            kept.setdefault("".join(filter(str.isalpha, text)).lower(), example)
        if len(wrong) == options.num_wrong and len(clean) == options.num_clean:
            break
    return [*wrong.values(), *clean.values()]


def _without_reasons(edits: Sequence[ScriptEdit]) -> list[tuple[int, int, str]]:
    return [(edit.word, edit.num_words, edit.replacement) for edit in edits]


def write_held_out(out: Path, corpora: Sequence[Path]) -> None:
    """Write the evaluation file of the model card, 3,000 of each."""
    options = HeldOutOptions(num_wrong=3000, num_clean=3000, is_for_test=True)
    write_items((_item(example) for example in held_out_examples(corpora, options)), out)


def _item(example: Example) -> Item:
    edits = example.edits
    if "\u2019" in example.sentence:  # the model writes straight apostrophes, the pipeline those of the sentence
        edits = tuple(replace(edit, replacement=edit.replacement.replace("'", "\u2019")) for edit in edits)
    return Item(example.sentence, apply_edits(example.sentence, edits), tuple(edit.reason for edit in edits))

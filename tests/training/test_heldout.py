"""Sentences no training step sees, and how a model does on them."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import pytest
import torch

from api.grammar.tokenizer import Tokenizer
from ops.training.evaluation.heldout import HeldOut
from ops.training.model.twin import Twin, TwinConfig
from ops.training.text.corpus import is_held_out


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.tsv"
    words = [(f"word{letter}", "NN") for letter in "abcdefghi"]
    lines = []
    for number, letters in enumerate(product("abcdefghijkl", repeat=3)):
        tokens = [("".join(letters), "NNP"), *words[: 9 if number % 2 else 2]]
        text = " ".join(word for word, _ in tokens)
        tagged = " ".join(f"{word}/{tag}/{index}" for index, (word, tag) in enumerate(tokens))
        lines.append(f"test\t{text}\t{tagged}\n")
    path.write_text("".join(lines))
    return path


def test_plain_text_is_taken_as_it_stands_from_longer_held_out_sentences(corpus):
    held_out = HeldOut.as_written([corpus], Tokenizer.load())

    assert held_out.examples
    for example in held_out.examples:
        assert is_held_out(example.corrected)
        assert example.sentence == example.corrected and not example.edits
        assert len(example.sentence.split()) == 10


def test_the_loss_is_a_mean_over_the_output_tokens(corpus):
    tokenizer = Tokenizer.load()
    twin = Twin(TwinConfig(vocab_size=tokenizer.vocab_size))
    torch.nn.init.zeros_(twin.tok_emb)

    loss = HeldOut.as_written([corpus], tokenizer).output_loss(twin)

    assert loss == pytest.approx(math.log(tokenizer.vocab_size), rel=1e-4), "every token as likely as any other"

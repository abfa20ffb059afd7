"""Carries weights over to a new vocabulary: `python -m ops.training.transplant WEIGHTS OLD_TOKENIZER OUT`.

A retrained tokenizer or a new reason renumbers the tokens, but most of them mean what they meant. Rows of the
embedding move with the text of their token; a token that is new starts as the mean of its old pieces, a new reason at
zero. What comes out answers nearly as before and is the start of the next training (`miniserve train --start-from`).
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import tokenizers
from safetensors import safe_open
from safetensors.numpy import save_file

from api.grammar.edit_script import special_tokens
from api.grammar.tokenizer import Tokenizer
from worker.model.weights import ModelConfig, fingerprint

NEW_TOKENIZER = Path(__file__).parents[2] / "api" / "grammar" / "tokenizer.json"


def transplant_rows(rows: np.ndarray, old: tokenizers.Tokenizer, new: tokenizers.Tokenizer) -> np.ndarray:
    """The embedding (V_old, C) in the order of the new vocabulary (V_new, C)."""
    old_ids = old.get_vocab()
    specials = set(special_tokens())
    moved = np.zeros((new.get_vocab_size(), rows.shape[1]), dtype=rows.dtype)
    for token, token_id in new.get_vocab().items():
        if token in old_ids:
            moved[token_id] = rows[old_ids[token]]
        elif token not in specials:
            # The model alone, without the pre-split: the token is one piece of text already, in byte-level letters.
            pieces = [piece.id for piece in old.model.tokenize(token)]
            moved[token_id] = rows[pieces].mean(axis=0)
    return moved


def transplant(weights: Path, old_tokenizer: Path, out: Path, new_tokenizer: Path = NEW_TOKENIZER) -> None:
    """Write the weights file for the new tokenizer."""
    with safe_open(weights, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        metadata = dict(file.metadata())
    old, new = (tokenizers.Tokenizer.from_file(str(path)) for path in (old_tokenizer, new_tokenizer))
    tensors["tok_emb"] = transplant_rows(tensors["tok_emb"], old, new)
    config = replace(ModelConfig(**json.loads(metadata["config"])), vocab_size=new.get_vocab_size())
    made_for = Tokenizer.load(new_tokenizer).fingerprint
    metadata |= {"config": json.dumps(asdict(config)), "tokenizer": made_for,
                 "fingerprint": fingerprint(config, made_for)}  # fmt: skip
    save_file(tensors, out, metadata=metadata)
    out.chmod(0o644)


def main() -> None:
    """The arguments are three paths."""
    if len(sys.argv) != 4:
        raise SystemExit("usage: python -m ops.training.transplant WEIGHTS OLD_TOKENIZER OUT")
    transplant(*map(Path, sys.argv[1:]))


if __name__ == "__main__":
    main()

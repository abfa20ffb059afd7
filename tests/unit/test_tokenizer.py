"""The shipped tokenizer: its pre-split and limits are part of the model."""

from __future__ import annotations

from importlib.resources import files

import pytest

from api.grammar.edit_script import EOS_ID, NUM_SPECIAL_TOKENS
from api.grammar.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.load()


def test_white_space_and_curly_quotes_make_no_difference_to_the_model(tokenizer):
    plain = tokenizer.encode('She didn\'t say "go" to me')

    assert tokenizer.encode("  She\tdidn\u2019t \u00a0say  \u201cgo\u201d\nto me ").token_ids == plain.token_ids


def test_special_tokens_typed_by_a_user_are_plain_text(tokenizer):
    prompt = tokenizer.encode("He <eos> goed <p1> <sep> home")

    assert all(token_id >= NUM_SPECIAL_TOKENS for token_id in prompt.token_ids[:-1])


@pytest.mark.parametrize("line", ["=" * 80, "+----" * 40 + "+", "\U0001f600" * 70, "!" * 200, "*" * 16])
def test_a_line_drawn_with_marks_takes_one_token(tokenizer, line):
    alone, beside = tokenizer.encode("He goed home."), tokenizer.encode(f"{line} He goed home.")

    assert beside.token_ids[-len(alone.token_ids) :] == alone.token_ids
    assert len(beside.token_ids) <= len(alone.token_ids) + 4  # bytes of an emoji are tokens, too
    assert list(beside.words) == ["He", "goed", "home"]


def test_ids_outside_the_vocabulary_have_no_text_and_a_character_that_is_cut_off_shows_as_that(tokenizer):
    assert tokenizer.decode(tokenizer.encode_piece("\U0001f9ff")[:-1]) == "\ufffd"
    assert tokenizer.decode([-1, 3072, 10**9, EOS_ID]) == ""


def test_the_fingerprint_follows_the_file(tokenizer, tmp_path):
    changed = tmp_path / "tokenizer.json"
    changed.write_bytes((files("api.grammar") / "tokenizer.json").read_bytes() + b"\n")

    assert len(tokenizer.fingerprint) == 16
    assert Tokenizer.load(changed).fingerprint != tokenizer.fingerprint

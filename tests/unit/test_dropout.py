"""Prompts that come apart at random still spell the same sentence."""

from __future__ import annotations

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from ops.training.batches import encode_example
from ops.training.corruption import Example
from ops.training.dropout import DroppingTokenizer

SENTENCE = "The children have quickly forgetted everything, haven't they?"
EXAMPLE = Example(SENTENCE, SENTENCE, (ScriptEdit(4, 1, "forgotten", Reason.PART_IRREG),), "test")


def test_a_sentence_in_pieces_has_the_same_text_and_the_same_word_numbers():
    whole = Tokenizer.load()
    dropping = DroppingTokenizer.of_product(0.5, seed=1)
    expected = whole.encode(SENTENCE)

    prompt = dropping.encode(SENTENCE)

    assert len(prompt.token_ids) > len(expected.token_ids)
    for number in range(len(expected.words) + 1):
        texts = [whole.decode([token for token, row in zip(each.token_ids, each.word_numbers, strict=True)
                               if row == number]) for each in (expected, prompt)]  # fmt: skip
        assert texts[0] == texts[1]


def test_outputs_stay_whole_and_every_piece_of_a_mistake_is_labelled():
    whole, dropping = Tokenizer.load(), DroppingTokenizer.of_product(1.0, seed=1)

    expected, encoded = encode_example(whole, EXAMPLE), encode_example(dropping, EXAMPLE)

    assert encoded.output == expected.output
    labelled = [row for row, label in zip(encoded.word_numbers, encoded.labels, strict=True) if label]
    assert labelled == [5] * len(" forgetted"), "byte by byte at a share of 1"


def test_the_same_seed_cuts_alike_and_every_reading_otherwise():
    one, other = (DroppingTokenizer.of_product(0.3, seed=4) for _ in range(2))

    first = [one.encode(SENTENCE) for _ in range(5)]

    assert first == [other.encode(SENTENCE) for _ in range(5)]
    assert len({prompt.token_ids for prompt in first}) > 1


def test_a_sentence_too_long_in_pieces_is_read_whole():
    long = "understanding " * 40

    assert DroppingTokenizer.of_product(1.0, seed=1).encode(long) == Tokenizer.load().encode(long)

"""Defines the language the model answers in, `[<pN> [<x2>] replacement <TAG>]* <eos>`, and parses it.

The module holds the ids of the special tokens, one edit as a value, and a strict parser from token ids to edits. The
parser never raises: it drops and counts a malformed part, so that the part means "no correction". The API, the
training data and the evaluation use it; `pipeline.py` deals with text and offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Protocol

from api.grammar.memo import memo
from api.grammar.reasons import Reason
from scheduler.messages import EVEN_ODDS, ID_BITS, ID_MASK, LOG_ODDS_PER_STEP

PAD_ID, EOS_ID, SEP_ID, X2_ID = range(4)
FIRST_POSITION_ID = 4
NUM_POSITION_TOKENS = 64
FIRST_TAG_ID = FIRST_POSITION_ID + NUM_POSITION_TOKENS
REASONS = tuple(Reason)
NUM_SPECIAL_TOKENS = FIRST_TAG_ID + len(REASONS)
TAG_IDS = {reason: FIRST_TAG_ID + rank for rank, reason in enumerate(REASONS)}


def special_tokens() -> list[str]:
    """Return the special tokens in the order of their ids."""
    positions = [f"<p{number}>" for number in range(NUM_POSITION_TOKENS)]
    return ["<pad>", "<eos>", "<sep>", "<x2>", *positions, *(reason.token for reason in REASONS)]


@dataclass(slots=True)
class ScriptEdit:
    """Puts `replacement` in the place of `num_words` words from word number `word` on."""

    word: int
    num_words: int  # 1 or 2
    replacement: str  # plain text, "are singing": no leading space
    reason: Reason
    confidence: float = field(default=1.0, compare=False)  # 1.0: the worker did not say


@dataclass(slots=True)
class ScriptOutcome:
    """Holds the edits of an output and the number of malformed parts."""

    edits: tuple[ScriptEdit, ...]
    num_dropped: int


class TokenDecoder(Protocol):
    """Decodes the text of an edit; the parser needs no more of the tokenizer."""

    def decode(self, token_ids: Sequence[int]) -> str: ...


def parse_script(decoder: TokenDecoder, output_ids: Iterable[int], num_words: int) -> ScriptOutcome:
    """Parse a whole output or the beginning of one. An edit counts once its tag is there, even where <eos> is missing.

    Edits come in order and do not overlap. Tokens after <eos> are ignored.
    """
    edits: list[ScriptEdit] = []
    num_dropped = first_word = 0
    written: list[int] = []  # since the last position or tag; counts as one fault if it breaks a rule
    for output_id in output_ids:
        token_id = output_id & ID_MASK
        if token_id >= NUM_SPECIAL_TOKENS:
            written.append(output_id)
        elif token_id >= FIRST_TAG_ID:
            edit = _read_edit(decoder, written, REASONS[token_id - FIRST_TAG_ID], output_id >> ID_BITS)
            if edit is None or edit.word < first_word or edit.word + edit.num_words > num_words:
                num_dropped += 1
            else:
                first_word = edit.word + edit.num_words
                edits.append(edit)
            written = []
        elif token_id >= FIRST_POSITION_ID:
            num_dropped += bool(written)
            written = [token_id]
        elif token_id == EOS_ID:
            break
        else:
            written.append(output_id)
    return ScriptOutcome(tuple(edits), num_dropped + bool(written))


def _read_edit(decoder: TokenDecoder, written: Sequence[int], reason: Reason, step: int) -> ScriptEdit | None:
    """Read the tokens before a tag: a position, an optional <x2>, and text. Return None if they break a rule."""
    num_words = 2 if len(written) > 1 and written[1] == X2_ID else 1
    text_ids = written[num_words:]
    if not text_ids or min(text_ids) < NUM_SPECIAL_TOKENS or not FIRST_POSITION_ID <= written[0] < FIRST_TAG_ID:
        return None
    replacement = decoder.decode(text_ids).strip()
    if not replacement:
        return None
    return ScriptEdit(written[0] - FIRST_POSITION_ID, num_words, replacement, reason, _confidence(step))


@memo
def _confidence(step: int) -> float:
    return round(confidence_of(step), 2) if step else 1.0


def confidence_of(step: int) -> float:
    """Return the probability that a step of confidence stands for."""
    return 1 / (1 + exp((EVEN_ODDS - step) * LOG_ODDS_PER_STEP))

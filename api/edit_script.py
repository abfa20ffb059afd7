"""The language the model answers in: `[<pN> [<x2>] replacement <TAG>]* <eos>`.

Ids of the special tokens, one edit as a value, and the strict parser from token ids to edits. Whatever the model
may emit, the parser never raises: a malformed part is dropped and counted, so that it means "no correction".
Used by the API, the training data and the evaluation; text and offsets are the business of the API's agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from api.reasons import Reason

PAD_ID, EOS_ID, SEP_ID, X2_ID = range(4)
FIRST_POSITION_ID = 4
NUM_POSITION_TOKENS = 64
FIRST_TAG_ID = FIRST_POSITION_ID + NUM_POSITION_TOKENS
REASONS = tuple(Reason)
NUM_SPECIAL_TOKENS = FIRST_TAG_ID + len(REASONS)
TAG_IDS = {reason: FIRST_TAG_ID + rank for rank, reason in enumerate(REASONS)}


def special_tokens() -> list[str]:
    """The special tokens in the order of their ids."""
    positions = [f"<p{number}>" for number in range(NUM_POSITION_TOKENS)]
    return ["<pad>", "<eos>", "<sep>", "<x2>", *positions, *(reason.token for reason in REASONS)]


@dataclass(frozen=True, slots=True)
class ScriptEdit:
    """Put `replacement` in the place of `num_words` words from word number `word` on."""

    word: int
    num_words: int  # 1 or 2
    replacement: str  # plain text, "are singing": no leading space
    reason: Reason


@dataclass(frozen=True, slots=True)
class ScriptOutcome:
    """What a whole output meant."""

    edits: tuple[ScriptEdit, ...]
    num_dropped: int


class TokenDecoder(Protocol):
    """The side of the tokenizer that the parser needs."""

    def decode(self, token_ids: Sequence[int]) -> str: ...


@dataclass(slots=True)
class _Draft:
    """An edit still being written; one that broke a rule stays open, so that its tokens are counted as one fault."""

    word: int
    num_words: int = 1
    text_ids: list[int] = field(default_factory=list)
    is_broken: bool = False


class EditScriptParser:
    """Reads an output token by token; an edit is complete at its tag."""

    def __init__(self, decoder: TokenDecoder, num_words: int) -> None:
        self._decoder = decoder
        self._num_words = num_words
        self._next_word = 0  # edits come in order and do not overlap
        self._draft: _Draft | None = None
        self.finished = False
        self.num_malformed = 0

    def feed(self, token_id: int) -> ScriptEdit | None:
        """Take one token; return the edit it completes. Tokens after <eos> are ignored."""
        if self.finished:
            return None
        if token_id == EOS_ID:
            self.finish()
        elif FIRST_POSITION_ID <= token_id < FIRST_TAG_ID:
            self._drop_draft()
            self._draft = _Draft(word=token_id - FIRST_POSITION_ID)
        elif FIRST_TAG_ID <= token_id < NUM_SPECIAL_TOKENS:
            return self._complete(REASONS[token_id - FIRST_TAG_ID])
        else:
            self._extend(token_id)
        return None

    def finish(self) -> None:
        """The output is over, by <eos> or by its length: what is not complete is malformed."""
        self._drop_draft()
        self.finished = True

    def _extend(self, token_id: int) -> None:
        if self._draft is None:
            self._draft = _Draft(word=-1, is_broken=True)
        if token_id >= NUM_SPECIAL_TOKENS:
            self._draft.text_ids.append(token_id)
        elif token_id == X2_ID and self._draft.num_words == 1 and not self._draft.text_ids:
            self._draft.num_words = 2
        else:
            self._draft.is_broken = True

    def _complete(self, reason: Reason) -> ScriptEdit | None:
        draft, self._draft = self._draft, None
        if draft is None or draft.is_broken:
            self.num_malformed += 1
            return None
        replacement = self._decoder.decode(draft.text_ids).strip()
        end = draft.word + draft.num_words
        if not replacement or draft.word < self._next_word or end > self._num_words:
            self.num_malformed += 1
            return None
        self._next_word = end
        return ScriptEdit(draft.word, draft.num_words, replacement, reason)

    def _drop_draft(self) -> None:
        if self._draft is not None:
            self.num_malformed += 1
            self._draft = None


def parse_script(decoder: TokenDecoder, token_ids: Iterable[int], num_words: int) -> ScriptOutcome:
    """Parse a whole output; one that lacks <eos> keeps the edits that were complete."""
    parser = EditScriptParser(decoder, num_words)
    edits = [edit for token_id in token_ids if (edit := parser.feed(token_id)) is not None]
    if not parser.finished:
        parser.finish()
    return ScriptOutcome(tuple(edits), parser.num_malformed)

"""A tokenizer without a vocabulary file: every distinct piece of text gets the next id."""

from __future__ import annotations

from collections.abc import Sequence

from api.grammar.edit_script import EOS_ID, FIRST_POSITION_ID, NUM_SPECIAL_TOKENS, SEP_ID, TAG_IDS, X2_ID, ScriptEdit
from api.grammar.tokenizer import Prompt
from api.grammar.words import split_pieces
from scheduler.errors import SentenceTooLong
from scheduler.messages import MAX_WORDS


class FakeTokenizer:
    """One token a piece; decodes what it has encoded."""

    fingerprint = "fake"

    def __init__(self) -> None:
        self._texts: list[str] = []

    def encode(self, sentence: str) -> Prompt:
        pieces = split_pieces(sentence)
        words = [piece for piece in pieces if piece.word_number is not None]
        if len(words) > MAX_WORDS:
            raise SentenceTooLong(len(words))
        numbers = [0 if piece.word_number is None else piece.word_number + 1 for piece in pieces]
        texts, starts = tuple([word.text for word in words]), tuple([word.start for word in words])
        return Prompt((*(self._id(piece.text) for piece in pieces), SEP_ID), (*numbers, 0), texts, starts)

    def encode_output(self, edits: Sequence[ScriptEdit]) -> list[int]:
        ids: list[int] = []
        for edit in edits:
            ids += [FIRST_POSITION_ID + edit.word, *[X2_ID] * (edit.num_words - 1)]
            ids += [self._id(" " + edit.replacement), TAG_IDS[edit.reason]]
        return [*ids, EOS_ID]

    def decode(self, token_ids: Sequence[int]) -> str:
        return "".join(self._texts[token_id - NUM_SPECIAL_TOKENS] for token_id in token_ids)

    def _id(self, text: str) -> int:
        if text not in self._texts:
            self._texts.append(text)
        return NUM_SPECIAL_TOKENS + self._texts.index(text)

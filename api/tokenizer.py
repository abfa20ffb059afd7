"""Text to token ids and back, word by word.

Byte-level BPE from `tokenizer.json`, which also holds the normalizer (curly quotes become straight ones, for the
model only) and the pre-split of -ed, -ing and contractions. Each piece is encoded alone and with a leading space if
white space or the start of the sentence precedes it, so white space itself never costs a token and the ids of a word
can be cached. The model is trained through the same code; `fingerprint` tells whether the two sides still match.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import tokenizers

from api.edit_script import EOS_ID, FIRST_POSITION_ID, NUM_SPECIAL_TOKENS, SEP_ID, TAG_IDS, X2_ID, ScriptEdit
from api.words import Piece, split_pieces
from scheduler.errors import SentenceTooLong
from scheduler.messages import MAX_PROMPT_TOKENS, MAX_WORDS

# Everyday text has some 20,000 different words; the cache bounds memory, not only time, so long pieces stay out.
_CACHED_PIECES = 32_768
_LONGEST_CACHED_PIECE = 48


@dataclass(frozen=True, slots=True)
class Prompt:
    """A sentence as the model reads it; `<sep>` ends both lists."""

    token_ids: tuple[int, ...]
    word_numbers: tuple[int, ...]  # word number + 1 for tokens of words, 0 for punctuation and <sep>
    words: tuple[Piece, ...]  # index = word number


class Tokenizer:
    """Encodes sentences and edits, decodes replacements. Safe to share between threads once built."""

    def __init__(self, serialized: bytes) -> None:
        self.fingerprint = hashlib.sha256(serialized).hexdigest()[:16]
        self._tokenizer = tokenizers.Tokenizer.from_str(serialized.decode("utf-8"))
        self.vocab_size = self._tokenizer.get_vocab_size()
        self._token_bytes = _read_token_bytes(self._tokenizer)
        self._encode_cached = lru_cache(_CACHED_PIECES)(self._encode_piece)

    @classmethod
    def load(cls, path: Path | None = None) -> Tokenizer:
        """Read a tokenizer file; without a path the one that ships with the package."""
        return cls((files("api") / "tokenizer.json").read_bytes() if path is None else path.read_bytes())

    def encode(self, sentence: str) -> Prompt:
        """The prompt for a sentence; raises SentenceTooLong over the model's limits."""
        pieces = split_pieces(sentence)
        words = tuple(piece for piece in pieces if piece.word_number is not None)
        if len(words) > MAX_WORDS:
            raise SentenceTooLong(len(words))
        token_ids: list[int] = []
        word_numbers: list[int] = []
        for piece in pieces:
            follows_space = piece.start == 0 or sentence[piece.start - 1].isspace()
            ids = self.encode_piece(" " + piece.text if follows_space else piece.text)
            token_ids += ids
            word_numbers += [0 if piece.word_number is None else piece.word_number + 1] * len(ids)
        if len(token_ids) + 1 > MAX_PROMPT_TOKENS:
            raise SentenceTooLong(len(words), len(token_ids) + 1)
        return Prompt((*token_ids, SEP_ID), (*word_numbers, 0), words)

    def encode_piece(self, text: str) -> tuple[int, ...]:
        """Ids of one word or mark, leading space included in `text` where there is one."""
        return self._encode_cached(text) if len(text) <= _LONGEST_CACHED_PIECE else self._encode_piece(text)

    def encode_output(self, edits: Iterable[ScriptEdit]) -> list[int]:
        """The output that stands for these edits, `<eos>` included; for training."""
        ids: list[int] = []
        for edit in edits:
            ids.append(FIRST_POSITION_ID + edit.word)
            if edit.num_words == 2:
                ids.append(X2_ID)
            for word in edit.replacement.split():
                ids += self.encode_piece(" " + word)
            ids.append(TAG_IDS[edit.reason])
        return [*ids, EOS_ID]

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of BPE tokens; special tokens have none."""
        decoder = self.piece_decoder()
        return "".join(decoder.feed(token_id) for token_id in token_ids) + decoder.finish()

    def piece_decoder(self) -> PieceDecoder:
        """A decoder for tokens that arrive one at a time."""
        return PieceDecoder(self._token_bytes)

    def _encode_piece(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)


class PieceDecoder:
    """Token ids to text, holding back the bytes of a character until all of them are there."""

    def __init__(self, token_bytes: Sequence[bytes]) -> None:
        self._token_bytes = token_bytes
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def feed(self, token_id: int) -> str:
        """Text that this token completes; may be empty. An id outside the vocabulary has no text."""
        in_vocabulary = 0 <= token_id < len(self._token_bytes)
        return self._utf8.decode(self._token_bytes[token_id]) if in_vocabulary else ""

    def finish(self) -> str:
        """What remains when no more tokens come: a replacement mark for half a character, else nothing."""
        return self._utf8.decode(b"", final=True)


def _read_token_bytes(tokenizer: tokenizers.Tokenizer) -> list[bytes]:
    byte_of = _bytes_of_alphabet()
    token_bytes = [b""] * tokenizer.get_vocab_size()
    for token, token_id in tokenizer.get_vocab().items():
        if token_id >= NUM_SPECIAL_TOKENS:
            token_bytes[token_id] = bytes(byte_of[character] for character in token)
    return token_bytes


def _bytes_of_alphabet() -> dict[str, int]:
    # Byte-level BPE writes printable Latin-1 bytes as themselves and the others as code points from 256 on, in order.
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    return alphabet | {chr(256 + rank): byte for rank, byte in enumerate(hidden)}

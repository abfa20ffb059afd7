"""Encodes text as token ids word by word, and decodes ids.

`tokenizer.json` holds a byte-level BPE with its normalizer (curly quotes become straight ones, for the model only) and
the pre-split of -ed, -ing and contractions. Each word or mark is encoded alone, with a leading space if white space or
the start of the sentence precedes it. So white space costs no token, and what stands between two blanks always has the
same ids. The training uses the same code; `fingerprint` shows whether model and tokenizer match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tokenizers

from api.grammar.edit_script import (
    EOS_ID,
    FIRST_POSITION_ID,
    NUM_SPECIAL_TOKENS,
    SEP_ID,
    TAG_IDS,
    X2_ID,
    ScriptEdit,
)
from api.grammar.memo import memo
from api.grammar.tokenizer_file import SHIPPED, fingerprint
from api.grammar.words import count_words, split_pieces, without_links
from scheduler.errors import SentenceTooLong
from scheduler.messages import MAX_PROMPT_TOKENS, MAX_WORDS

# Everyday text has some 20,000 different words. Long pieces are not cached, so that the memory is bounded.
_CACHED_PIECES = 32_768
_LONGEST_CACHED_PIECE = 48
_NAME = "London"  # what the model reads in the place of a link; a frequent name in its training text
_NO_PIECE = re.compile(r"[\s_]+")


@dataclass(slots=True)
class Prompt:
    """Holds a sentence as the model reads it, and its words. `<sep>` ends the first two lists."""

    token_ids: tuple[int, ...]
    word_numbers: tuple[int, ...]  # word number + 1 for tokens of words, 0 for punctuation and <sep>
    words: tuple[str, ...]  # as written
    starts: tuple[int, ...]  # where each word begins in the sentence
    links: tuple[int, ...] = ()  # numbers of the words in whose place the model reads a name


# What stands between two blanks: ids, for each id the number of its word (0 for a mark), the words, their places, and
# the numbers of those that are links.
_Chunk = tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...], tuple[int, ...], tuple[int, ...]]


class Tokenizer:
    """Encodes sentences and edits, and decodes replacements. Threads may share it."""

    def __init__(self, serialized: bytes) -> None:
        self.fingerprint = fingerprint(serialized)
        self._tokenizer = tokenizers.Tokenizer.from_str(serialized.decode("utf-8"))
        self.vocab_size = self._tokenizer.get_vocab_size()
        self._token_bytes = _read_token_bytes(self._tokenizer)
        self._most_characters = MAX_PROMPT_TOKENS * max(map(len, self._token_bytes))  # no token stands for more
        self._chunk = memo(self._encode_chunk)
        self._decode = memo(self._text_of)
        self._encode_cached = lru_cache(_CACHED_PIECES)(self._encode_piece)

    @classmethod
    def load(cls, path: Path = SHIPPED) -> Tokenizer:
        """Read a tokenizer file, by default the one that ships with the package."""
        return cls(path.read_bytes())

    def encode(self, sentence: str) -> Prompt:
        """Return the prompt for a sentence. Raises SentenceTooLong over the model's limits."""
        most = self._most_characters
        if len(sentence) > most and len(_NO_PIECE.sub("", without_links(sentence))) > most:
            raise SentenceTooLong(count_words(sentence))
        token_ids: list[int] = []
        word_numbers: list[int] = []
        words: list[str] = []
        starts: list[int] = []
        links: list[int] = []
        encoded = self._chunk
        at = num_words = 0
        for chunk in sentence.split(" "):
            start, at = at, at + len(chunk) + 1
            if not chunk:  # there may be thousands
                continue
            ids, numbers, texts, places, of_links = encoded(chunk)
            if not ids:  # other white space
                continue
            token_ids += ids
            words += texts
            if len(words) > MAX_WORDS:
                raise SentenceTooLong(count_words(sentence))
            for number in numbers:
                word_numbers.append(number and number + num_words)
            for place in places:
                starts.append(start + place)
            for number in of_links:
                links.append(num_words + number)
            num_words = len(words)
        if len(token_ids) + 1 > MAX_PROMPT_TOKENS:
            raise SentenceTooLong(num_words, len(token_ids) + 1)
        return Prompt((*token_ids, SEP_ID), (*word_numbers, 0), tuple(words), tuple(starts), tuple(links))

    def encode_piece(self, text: str) -> tuple[int, ...]:
        """Return the ids of one word or mark. `text` includes the leading space where there is one."""
        return self._encode_cached(text) if len(text) <= _LONGEST_CACHED_PIECE else self._encode_piece(text)

    def encode_output(self, edits: Iterable[ScriptEdit]) -> list[int]:
        """Return the output that stands for these edits, with `<eos>`. The training uses it."""
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
        """Return the text of the tokens. Special tokens and ids outside the vocabulary have none."""
        return self._decode(tuple(token_ids))

    def _text_of(self, token_ids: tuple[int, ...]) -> str:
        known = range(len(self._token_bytes))
        text = b"".join([self._token_bytes[token_id] for token_id in token_ids if token_id in known])
        return text.decode("utf-8", errors="replace")

    def _encode_chunk(self, chunk: str) -> _Chunk:
        token_ids: list[int] = []
        numbers: list[int] = []
        words: list[str] = []
        places: list[int] = []
        links: list[int] = []
        for piece in split_pieces(chunk):
            text, number = piece.text, piece.word_number
            if number is None:
                text = text[0]  # of a line of marks
            else:
                words.append(text)
                places.append(piece.start)
                if piece.is_link:
                    text = _NAME
                    links.append(number)
            ids = self.encode_piece(" " + text if piece.start == 0 or chunk[piece.start - 1].isspace() else text)
            token_ids += ids
            numbers += [0 if number is None else number + 1] * len(ids)
        return tuple(token_ids), tuple(numbers), tuple(words), tuple(places), tuple(links)

    def _encode_piece(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)


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

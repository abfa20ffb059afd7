"""Prompts cut into smaller tokens now and then, so that the model learns words from their parts as well.

After BPE dropout (Provilkov et al., 2020). There merges are left out while a word is put together; here finished
tokens fall apart again along their merges, which gives cuts of the same kind, takes no second pass through the
tokenizer, and follows a seed. Outputs stay whole: the model should write one way only.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from importlib.resources import files

from api.grammar.tokenizer import Prompt, Tokenizer
from scheduler.errors import SentenceTooLong


class DroppingTokenizer(Tokenizer):
    """The tokenizer that ships, whose prompts come apart at random."""

    def __init__(self, serialized: bytes, share: float, seed: int) -> None:
        """`share`: how many of the tokens fall into two, and of the halves again."""
        super().__init__(serialized)
        self._share = share
        self._rng = random.Random(seed)
        self._halves = _halves(serialized)
        self._whole = Tokenizer(serialized)
        self._chunk = self._encode_chunk  # nothing is remembered, as it comes apart anew each time
        self.encode_output = self._whole.encode_output

    @classmethod
    def of_product(cls, share: float, seed: int) -> DroppingTokenizer:
        """From the file that ships."""
        return cls((files("api.grammar") / "tokenizer.json").read_bytes(), share, seed)

    def encode(self, sentence: str) -> Prompt:
        """A prompt in pieces; whole where the pieces would be too many."""
        try:
            return super().encode(sentence)
        except SentenceTooLong:
            return self._whole.encode(sentence)

    def encode_piece(self, text: str) -> tuple[int, ...]:
        """Ids of one word or mark, other ones each time."""
        return tuple(part for token in super().encode_piece(text) for part in self._parts(token))

    def _parts(self, token: int) -> Iterator[int]:
        halves = self._halves.get(token)
        if halves is None or self._rng.random() >= self._share:
            yield token
        else:
            for half in halves:
                yield from self._parts(half)


def _halves(serialized: bytes) -> dict[int, tuple[int, int]]:
    """The two tokens that each merged token was made of."""
    model = json.loads(serialized)["model"]
    ids = model["vocab"]
    # Older files write a merge as "left right", newer ones as a pair.
    merges = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    return {ids[left + right]: (ids[left], ids[right]) for left, right in merges}

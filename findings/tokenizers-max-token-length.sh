#!/bin/sh
# tokenizers 0.23.3: BpeTrainer's max_token_length, by its docstring "Prevents creating tokens longer than the specified size",
# makes no token of that size either: the longest has a letter less. Below three it makes tokens of two letters whatever it
# says, so that 1, 2 and 3 give the same vocabulary. UnigramTrainer's max_piece_length makes tokens of its size.
#
# Seen, for words of 1 to 8 letters: max_token_length 1, 2, 3: longest token 2; 4: 3; 5: 4; 7: 6; 8: 7; 9 and None: 8.
# max_piece_length 2: 2; 3: 3; 4: 4.
# Prints one line for each trainer; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
"$folder/venv/bin/python" - <<'EOF'
import sys

from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.trainers import BpeTrainer, UnigramTrainer

WORD = "abcdefgh"
TEXT = [" ".join([WORD[:length]] * 10) for length in range(1, len(WORD) + 1)]


def longest(model, trainer):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.train_from_iterator(TEXT, trainer)
    return max(len(token) for token in tokenizer.get_vocab() if token != "<unk>")


def by_bpe(size):
    return longest(BPE(), BpeTrainer(vocab_size=200, max_token_length=size, show_progress=False))


def by_unigram(size):
    options = {"unk_token": "<unk>", "special_tokens": ["<unk>"], "show_progress": False}
    return longest(Unigram(), UnigramTrainer(vocab_size=200, max_piece_length=size, **options))


found = {size: by_bpe(size) for size in (1, 2, 3, 4, 5, 7, 8, 9, None)}, {size: by_unigram(size) for size in (2, 3, 4)}
print(f"max_token_length of BpeTrainer, longest token: {found[0]}")
print(f"max_piece_length of UnigramTrainer, longest token: {found[1]}")
sys.exit(found != ({1: 2, 2: 2, 3: 2, 4: 3, 5: 4, 7: 6, 8: 7, 9: 8, None: 8}, {2: 2, 3: 3, 4: 4}))
EOF

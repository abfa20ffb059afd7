#!/bin/sh
# tokie 0.1.4, by its README a "drop-in replacement" for tokenizers that "works with any HuggingFace tokenizer",
# "100% token-accurate across all models", takes these tokenizer.json files of tokenizers 0.23.3 and gives other tokens and ids,
# without a warning:
# - NFC and Lowercase in a Sequence are left out of a BPE, and NFD, Lowercase and StripAccents out of a WordPiece;
# - the pattern of a Split is left out, and so is a ByteLevel's "add_prefix_space";
# - a BPE of letters has no unk_token for a character that it does not know: what follows comes again in its place;
# - truncation that is kept in the file is off (and so is padding).
# Lowercase alone and BertNormalizer are right. fastokens 0.3.5 reads these files, too: it gives what tokenizers gives, or raises.
#
# Seen, tokenizers and tokie: Goes: goes | G o e s; Góes: goes | [UNK]; goes, split after two letters: go e s | goes; go, with a
# prefix: Ġgo | go; goég: ▁ go <unk> g | ▁ go g g g; goes goes, cut at two: goes Ġgo | goes Ġgo e s.
# Prints one line for each file; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3 tokie==0.1.4 fastokens==0.3.5
"$folder/venv/bin/python" - "$folder/tokenizer.json" <<'EOF'
import sys

import fastokens
import tokie
from tokenizers import Regex, Tokenizer
from tokenizers.models import BPE, WordPiece
from tokenizers.normalizers import NFC, NFD, BertNormalizer, Lowercase, Sequence, StripAccents
from tokenizers.pre_tokenizers import BertPreTokenizer, ByteLevel, Metaspace, Split
from tokenizers.pre_tokenizers import Sequence as Steps

MERGES = [("g", "o"), ("Ġ", "go"), ("go", "e"), ("goe", "s")]
BYTES = [*sorted(ByteLevel.alphabet()), *("".join(pair) for pair in MERGES)]
TWO = Steps([Split(Regex(r"\p{L}{1,2}"), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)])
PLAIN, BERT, ACCENTS = ByteLevel(add_prefix_space=False), BertPreTokenizer(), [NFD(), Lowercase(), StripAccents()]


def tokenizer(model, pre_tokenizer, normalizer=None):
    made = Tokenizer(model)
    made.pre_tokenizer, made.normalizer = pre_tokenizer, normalizer
    return made


def numbered(tokens):
    return {token: number for number, token in enumerate(tokens)}


of_bytes, of_words = BPE(numbered(BYTES), MERGES), WordPiece(numbered(["[UNK]", "go", "goes"]), unk_token="[UNK]")
of_letters = BPE(numbered(["<unk>", "▁", "g", "o", "go"]), MERGES[:1], unk_token="<unk>")
CASES = {  # a file, a text, its tokens by tokenizers and by tokie
    "Lowercase": (tokenizer(of_bytes, PLAIN, Lowercase()), "Goes", "goes", "goes"),
    "BertNormalizer": (tokenizer(of_words, BERT, BertNormalizer()), "Góes", "goes", "goes"),
    "NFC, Lowercase": (tokenizer(of_bytes, PLAIN, Sequence([NFC(), Lowercase()])), "Goes", "goes", "G o e s"),
    "NFD, Lowercase, StripAccents": (tokenizer(of_words, BERT, Sequence(ACCENTS)), "Góes", "goes", "[UNK]"),
    "Split": (tokenizer(of_bytes, TWO), "goes", "go e s", "goes"),
    "add_prefix_space": (tokenizer(of_bytes, ByteLevel(add_prefix_space=True)), "go", "Ġgo", "go"),
    "unk_token": (tokenizer(of_letters, Metaspace()), "goég", "▁ go <unk> g", "▁ go g g g"),
    "truncation": (tokenizer(of_bytes, PLAIN), "goes goes", "goes Ġgo", "goes Ġgo e s"),
}
CASES["truncation"][0].enable_truncation(2)
changed = False
for name, (made, text, *seen) in CASES.items():
    made.save(sys.argv[1])
    ids = made.encode(text).ids
    try:
        changed |= list(fastokens.Tokenizer.from_file(sys.argv[1]).encode(text).ids) != ids
    except ValueError as error:
        print(f"fastokens: {error}")
    found = [" ".join(map(made.id_to_token, i)) for i in (ids, tokie.Tokenizer.from_json(sys.argv[1]).encode(text).ids)]
    print(f"{name}: {text}: tokenizers {found[0]}; tokie {found[1]}")
    changed |= found != seen
sys.exit(changed)
EOF

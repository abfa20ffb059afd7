#!/bin/sh
# tokenizers 0.23.3: what the normalizer Replace puts in has the offsets of the last character that it took out, and not of
# all of them, also where both are equally long. Its README promises that "it's always possible to get the part of the original
# sentence that corresponds to a given token". Who changes a text at the offsets of a token leaves the rest of the old word.
# One character for one is right, as are Lowercase and what stands beside a replacement. Public as issues 892 and 1040 of
# tokenizers, closed for their age.
#
# Seen, "He goed home", goed > went: the second token has (6, 7), "d", and not (3, 7); "went" put there gives "He goewent home".
# "He said `` go", `` > ": (9, 10), "`". "I am not going", am not > isn't: (7, 8), "t".
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
"$folder/venv/bin/python" - <<'EOF'
import sys

from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase, Replace
from tokenizers.pre_tokenizers import WhitespaceSplit


def read(text, normalizer, at):
    """A token of the text, its offsets, and what they show of the text."""
    words = normalizer.normalize_str(text).split()
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, WhitespaceSplit()
    encoding = tokenizer.encode(text)
    start, end = encoding.offsets[at]
    return encoding.tokens[at], (start, end), text[start:end]


GOED = Replace("goed", "went")
CASES = {  # text, normalizer, number of the token: token, offsets, part of the text
    "Lowercase": ("He Went home", Lowercase(), 1, ("went", (3, 7), "Went")),
    "one for one": ("He we_nt home", Replace("_", "-"), 1, ("we-nt", (3, 8), "we_nt")),
    "beside goed > went": ("He goed home", GOED, 2, ("home", (8, 12), "home")),
    "goed > went": ("He goed home", GOED, 1, ("went", (6, 7), "d")),
    "the same by a pattern": ("He goed home", Replace(Regex(r"\bgoed\b"), "went"), 1, ("went", (6, 7), "d")),
    '`` > "': ("He said `` go", Replace("``", '"'), 2, ('"', (9, 10), "`")),
    "am not > isn't": ("I am not going", Replace("am not", "isn't"), 1, ("isn't", (7, 8), "t")),
}
found = {name: read(text, normalizer, at) for name, (text, normalizer, at, _) in CASES.items()}
for name, (token, offsets, part) in found.items():
    print(f"{name}: {CASES[name][0]!r}, token {token!r}, offsets {offsets}, {part!r}")
text, (start, end) = CASES["goed > went"][0], found["goed > went"][1]
replaced = text[:start] + "went" + text[end:]
print(f"went at these offsets: {replaced!r}")
sys.exit(found != {name: case[3] for name, case in CASES.items()} or replaced != "He goewent home")
EOF

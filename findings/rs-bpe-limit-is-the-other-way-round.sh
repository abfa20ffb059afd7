#!/bin/sh
# rs-bpe 0.1.0: count_till_limit(text, limit) does not return what its README cuts texts and chunks by. There a number is the
# character at which the limit is reached, and None means that all of the text is within the limit. In truth a number is how
# many tokens a text has that is within, and None means that it has more.
# A program that follows the README sends a long text on whole, and cuts a short one after as many characters as it has tokens.
# Nothing raises or warns. encode() and count() give what tiktoken gives.
#
# Seen, cl100k_base and o200k_base alike: 201 tokens, limit 8: None, so all of its 760 characters stay; 5 tokens, limit 8: 5, so
# "He go" stays of "He goed to school."; 5 tokens, limit 5: 5; 5 tokens, limit 4: None, so all of it stays.
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check rs-bpe==0.1.0
"$folder/venv/bin/python" - <<'EOF'
import sys

from rs_bpe.bpe import openai

SHORT = "He goed to school."
LONG = f"{SHORT} " * 40
CASES = [  # text, limit: what is returned, what is left of the text by the README
    (LONG, 8, None, LONG),
    (SHORT, 8, 5, "He go"),
    (SHORT, 5, 5, "He go"),
    (SHORT, 4, None, SHORT),
]
changed = False
for name in ("cl100k_base", "o200k_base"):
    tokenizer = getattr(openai, name)()
    for text, limit, *seen in CASES:
        place = tokenizer.count_till_limit(text, limit)
        left = text if place is None else text[:place]
        tokens = tokenizer.count(text)
        assert tokens == len(tokenizer.encode(text))
        print(f"{name}: {tokens} tokens, limit {limit}: {place}; left are {tokenizer.count(left)} tokens, {left[:18]!r}")
        changed |= [place, left] != seen
sys.exit(changed)
EOF

#!/bin/sh
# @huggingface/tokenizers 0.2.0, the library for browsers and Node, takes these tokenizer.json files and gives other tokens,
# and so other ids, than tokenizers 0.23.3, which wrote them, without a word. Its README names the three behaviours of Split
# that it lacks (MergedWithPrevious, MergedWithNext, Contiguous); it does not name any of these:
# - Whitespace has the \w of JavaScript, which is ASCII: a word breaks at é, ï or ø;
# - Split with a String and "Removed" keeps what it should remove (with a Regex it removes it); Punctuation keeps it, too;
# - Split with "invert": true throws away all that the pattern does not match, also where the behavior is "Isolated";
# - an added token with "single_word": true is cut out of longer words;
# - a BPE with "continuing_subword_prefix" finds none of its merges, and every letter is a token.
# CharDelimiterSplit, which the README lists as supported, raises "Unknown PreTokenizer type". ByteLevel and WordPiece agree.
#
# Seen, Python and JavaScript: café: café | caf é; don't, Removed: don t | don ' t; go, go: go , go | go go; goes with an
# added "go": goes | go es; goes with a prefix: goes | g o e s.
# Prints one line for each file; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
cd "$folder"
npm install --silent --no-audit --no-fund @huggingface/tokenizers@0.2.0 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > write.py <<'EOF'
import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.models import BPE, WordPiece
from tokenizers.pre_tokenizers import ByteLevel, CharDelimiterSplit, Punctuation, Sequence, Split, Whitespace
from tokenizers.trainers import BpeTrainer, WordPieceTrainer

TEXT = ["He goes to the café , and I go , too .", "don ' t"]


def tokenizer(pre_tokenizer, prefix=None, added=(), model=BPE, trainer=BpeTrainer):
    made = Tokenizer(model(unk_token="<unk>", **({"continuing_subword_prefix": prefix} if prefix else {})))
    made.pre_tokenizer = Whitespace()
    options = {"continuing_subword_prefix": prefix} if prefix else {}
    made.train_from_iterator(TEXT, trainer(vocab_size=500, special_tokens=["<unk>"], show_progress=False, **options))
    made.add_tokens(list(added))
    made.pre_tokenizer = pre_tokenizer
    return made


INVERTED = Sequence([Split(" ", "removed"), Split(Regex(r"\w+"), "isolated", invert=True)])
FILES = {  # the tokenizer and the text that it reads
    "ByteLevel": (tokenizer(ByteLevel(add_prefix_space=False)), "don't"),
    "WordPiece": (tokenizer(Whitespace(), "##", model=WordPiece, trainer=WordPieceTrainer), "goes"),
    "Whitespace": (tokenizer(Whitespace()), "café"),
    "Split Regex Removed": (tokenizer(Split(Regex("'"), "removed")), "don't"),
    "Split String Removed": (tokenizer(Split("'", "removed")), "don't"),
    "Punctuation Removed": (tokenizer(Punctuation("removed")), "don't"),
    "Split invert": (tokenizer(INVERTED), "go, go"),
    "single_word": (tokenizer(Whitespace(), added=[AddedToken("go", single_word=True)]), "goes"),
    "continuing_subword_prefix": (tokenizer(Whitespace(), "##"), "goes"),
    "CharDelimiterSplit": (tokenizer(CharDelimiterSplit("'")), "don't"),
}
written = {}
for name, (made, text) in FILES.items():
    read = Tokenizer.from_str(made.to_str())
    written[name] = {"file": json.loads(made.to_str()), "text": text, "tokens": read.encode(text).tokens}
Path("files.json").write_text(json.dumps(written))
EOF
"$folder/venv/bin/python" write.py
cat > read.mjs <<'EOF'
import { readFileSync } from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const SEEN = {  // Python, JavaScript
  ByteLevel: ["don ' t", "don ' t"],
  WordPiece: ["goes", "goes"],
  Whitespace: ["café", "caf é"],
  "Split Regex Removed": ["don t", "don t"],
  "Split String Removed": ["don t", "don ' t"],
  "Punctuation Removed": ["don t", "don ' t"],
  "Split invert": ["go , go", "go go"],
  single_word: ["goes", "go es"],
  continuing_subword_prefix: ["goes", "g o e s"],
  CharDelimiterSplit: ["don t", "Unknown PreTokenizer type: CharDelimiterSplit"],
};

function tokensOf(file, text) {
  try {
    return new Tokenizer(file, {}).encode(text).tokens.join(" ");
  } catch (error) {
    return error.message;
  }
}

let isSame = true;
for (const [name, { file, text, tokens }] of Object.entries(JSON.parse(readFileSync("files.json", "utf8")))) {
  const found = [tokens.join(" "), tokensOf(file, text)];
  console.log(`${name}, ${text}: Python ${found[0]} | JavaScript ${found[1]}`);
  isSame &&= JSON.stringify(found) === JSON.stringify(SEEN[name]);
}
process.exit(isSame ? 0 : 1);
EOF
node read.mjs

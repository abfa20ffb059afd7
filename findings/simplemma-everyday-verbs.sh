#!/bin/sh
# simplemma 2.0.0: the English lemma of everyday verb forms is a word that does not exist.
# Who groups a learner's mistakes or builds a table of verbs with it gets "gan" for "gone". "went" and "goes" are right.
#
# Seen: gone > gan, thinking > thinke, playing > playe, growing > growe, fixed > fixe, crosses > crosse,
# preferred > preferr, cancelled > cancell, developed > develope, swore > sweare.
# Prints one line for each form; exit 1 if a lemma has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check simplemma==2.0.0
"$folder/venv/bin/python" - <<'EOF'
import sys

from simplemma import lemmatize

SEEN = {
    "gone": "gan", "thinking": "thinke", "playing": "playe", "growing": "growe", "fixed": "fixe", "crosses": "crosse",
    "preferred": "preferr", "cancelled": "cancell", "developed": "develope", "swore": "sweare",
    "went": "go", "goes": "go", "grew": "grow",
}
found = {form: lemmatize(form, lang="en") for form in SEEN}
for form, lemma in found.items():
    print(f"{form} > {lemma}")
sys.exit(found != SEEN)
EOF

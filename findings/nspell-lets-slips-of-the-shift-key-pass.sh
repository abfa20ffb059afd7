#!/bin/sh
# nspell 2.1.5, "Hunspell-like", with "most of the essential core of Hunspell", which is what retext-spell checks with: a word
# that is right in small letters is right with capitals anywhere. So it lets pass what a shift key held too long or a caps lock
# makes: THe, HEllo, tHE, wENT, DOn't. suggest(), by its README for "correctly spelled words", offers such words itself: for
# "Im" it has 51, among them aIM, dIM, hIM, rIM, sIM and vIM, and "I'm" in the 25th place.
# hunspell (chunspell 2.0.5) and typo-js 1.4.0, with the same dictionary, dictionary-en 4.0.0, take a word of small letters in
# small letters, with a capital in front, or in capitals, and nothing else; neither offers a word like dIM.
# Alike in all three: the, The, THE, English; not english, and not ENglish, which is no word in small letters.
#
# Seen: THe, HEllo, tHE, wENT, DOn't and dIM are correct by nspell, wrong by hunspell and by typo-js.
# Prints one line for each word; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund nspell@2.1.5 dictionary-en@4.0.0 typo-js@1.4.0 > npm.txt 2>&1 ||
  { cat npm.txt; exit 1; }
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check chunspell==2.0.5
cat > check.mjs <<'EOF'
import dictionary from "dictionary-en";
import { writeFileSync } from "node:fs";
import nspell from "nspell";
import Typo from "typo-js";

const [aff, dic] = [Buffer.from(dictionary.aff), Buffer.from(dictionary.dic)];
writeFileSync("en.aff", aff);
writeFileSync("en.dic", dic);
const checker = nspell({ aff, dic });
const typo = new Typo("en", aff.toString(), dic.toString());
const words = process.argv.slice(2).map((word) => [word, checker.correct(word), typo.check(word)]);
console.log(JSON.stringify({ words, nspell: checker.suggest("Im"), typo: typo.suggest("Im", 50) }));
EOF
cat > compare.py <<'EOF'
import json
import subprocess
import sys

import hunspell

SEEN = {  # correct by: nspell, hunspell, typo-js
    "the": (True, True, True), "The": (True, True, True), "THE": (True, True, True), "English": (True, True, True),
    "english": (False, False, False), "ENglish": (False, False, False),
    "THe": (True, False, False), "HEllo": (True, False, False), "tHE": (True, False, False),
    "wENT": (True, False, False), "DOn't": (True, False, False), "dIM": (True, False, False),
}
answer = json.loads(subprocess.run(["node", "check.mjs", *SEEN], check=True, capture_output=True, timeout=120).stdout)
checker = hunspell.Hunspell("en", hunspell_data_dir=".")
found = {word: (by_nspell, checker.spell(word), by_typo) for word, by_nspell, by_typo in answer["words"]}
for word, by in found.items():
    print(f"{word}: nspell {by[0]}, hunspell {by[1]}, typo-js {by[2]}")
offered = {"nspell": answer["nspell"], "hunspell": checker.suggest("Im"), "typo-js": answer["typo"]}
odd = {name: [word for word in words if word[0].islower() and word[1:].isupper()] for name, words in offered.items()}
place = offered["nspell"].index("I'm") + 1
print(f"for Im: {odd}; I'm by nspell in place {place} of {len(offered['nspell'])}")
sys.exit((found, odd["nspell"], odd["hunspell"], odd["typo-js"], place, len(offered["nspell"])) !=
         (SEEN, ["aIM", "dIM", "hIM", "rIM", "sIM", "vIM"], [], [], 25, 51))
EOF
venv/bin/python compare.py

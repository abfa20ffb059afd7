#!/bin/sh
# text-readability 1.1.1 and text-readability-ts 1.0.11 (npm) measure how hard a text is to read. Two of their measures depend on
# how long it is, and two on the place where a number is rounded:
# - gunningFog and daleChallReadabilityScore divide the number of different hard words by that of all words, where the formulas
#   count a hard word each time that it comes. The same text twice in a row is easier than once, and a text becomes easier
#   by being longer: the scores of a sentence, an essay and a corpus cannot be compared.
# - fleschReadingEase and fleschKincaidGrade round the syllables of a word to tenths before they multiply. In ten words or more,
#   one syllable more changes the score by nothing or by 8.46, the grade by nothing or by about 1.2; in fewer words by several
#   times as much. A correction of one word is measured as none, or as more than it is.
# Their READMEs name neither. textstat, of which the first one is "a rewrite", has changed both, by its source (0.7.13).
#
# Seen, a text once, twice, ten times, its hard words a constant share: Fog 15.16, 9.28, 4.58, Dale-Chall 9.63, 6.84, 0.98 (-ts:
# 22.22, 12.81, 5.28; 13.35, 8.7, 4.99). A sentence of 21 words, with 21, 22 and 23 syllables: reading ease 100.92, 100.92 and
# 92.46, by the formula 100.92, 96.89 and 92.86. Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund text-readability@1.1.1 text-readability-ts@1.0.11 > npm.txt 2>&1 ||
  { cat npm.txt; exit 1; }
cat > grade.mjs <<'EOF'
import js from "text-readability";
import ts from "text-readability-ts";

const TEXT = "Everybody at the university remembered the examination. " +
  "It was difficult, and several candidates complained about the regulations.";
const SENTENCE = "He went to the old school on the hill and read a WORD with his two best friends from the town.";
const LONGER = { // times: Gunning's Fog, Dale-Chall
  "text-readability": { 1: [15.16, 9.63], 2: [9.28, 6.84], 10: [4.58, 0.98] },
  "text-readability-ts": { 1: [22.22, 13.35], 2: [12.81, 8.7], 10: [5.28, 4.99] },
};
const EASE = { book: [100.92, 4.4, 100.92], letter: [100.92, 4.4, 96.89], banana: [92.46, 5.6, 92.86] };
const same = (found, seen) => found.every((number, index) => number === seen[index]);

let changed = 0;
for (const [name, measure] of [["text-readability", js], ["text-readability-ts", ts.default ?? ts]]) {
  for (const [times, seen] of Object.entries(LONGER[name])) {
    const text = Array(Number(times)).fill(TEXT).join(" ");
    const found = [measure.gunningFog(text), measure.daleChallReadabilityScore(text)];
    const share = measure.polySyllableCount(text) / measure.lexiconCount(text);
    changed += !same(found, seen) || share !== 8 / 17;
    console.log(`${name}, ${times} x: ${measure.lexiconCount(text)} words, Fog ${found[0]}, Dale-Chall ${found[1]}`);
  }
  for (const [word, seen] of Object.entries(EASE)) {
    const text = SENTENCE.replace("WORD", word);
    const [words, syllables] = [measure.lexiconCount(text), measure.syllableCount(text)];
    const formula = Number((206.835 - 1.015 * words - (84.6 * syllables) / words).toFixed(2));
    const found = [measure.fleschReadingEase(text), measure.fleschKincaidGrade(text), formula];
    changed += !same(found, seen);
    console.log(`${name}, ${word}: ${syllables} syllables, ease ${found[0]}, by the formula ${formula}, grade ${found[1]}`);
  }
}
process.exit(changed ? 1 : 0);
EOF
node grade.mjs

#!/bin/sh
# harper.js 2.10.0, the grammar checker for browsers and Node: setDialect(), of the Linter that one has, makes a new one with
# nothing in it. The words that importWords() put into the dictionary are gone, and so are the mistakes that ignoreLint() set
# aside, the rules that setLintConfig() turned off, and the counts of summarizeStats(). The promise resolves, nothing is said;
# its documentation has the sentence of getDialect(), "Get the dialect of English this linter was constructed for". Of each
# of the four it says how it is cleared, and not that this clears it: "clear the words which have been added", "clear records".
# Set to the dialect that it has already, it keeps them all. An editor whose user picks British English reports what
# the user had dismissed, and one that saves exportWords() afterwards saves an empty list over the user's words.
#
# Seen, after American, and again after British: mistakes found 0, then 3 (Agreement, Repetition, Typo); words 1, then 0;
# ignored 1, then 0; RepeatedWords false, then not set; applied 1, then 0. After American once more: no change.
# Exit 1 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund harper.js@2.10.0
cat > check.mjs <<'EOF'
import { Dialect, LocalLinter } from "harper.js";
import { binary } from "harper.js/binary";

const TEXT = "She go to the the miniserved.";
const linter = new LocalLinter({ binary, dialect: Dialect.American });

async function state() {
  const lints = await linter.lint(TEXT);
  return {
    found: lints.map((lint) => lint.lint_kind()).sort().join(" "),
    words: (await linter.exportWords()).length,
    ignored: JSON.parse(await linter.exportIgnoredLints()).context_hashes.length,
    repeated: (await linter.getLintConfig()).RepeatedWords ?? null,
    applied: (await linter.summarizeStats()).total_applied,
  };
}

async function show(when) {
  const now = await state();
  console.log(`${when}: ${JSON.stringify(now)}`);
  return JSON.stringify(now);
}

const fresh = await show("fresh");
await linter.importWords(["miniserved"]);
await linter.setLintConfig({ ...(await linter.getLintConfig()), RepeatedWords: false });
const [agreement] = await linter.lint(TEXT);
await linter.applySuggestion(TEXT, agreement, agreement.suggestions()[0]);
await linter.ignoreLint(TEXT, agreement);
const set = await show("set up");
await linter.setDialect(Dialect.American);
const same = await show("American again");
await linter.setDialect(Dialect.British);
const british = await show("British");
const FRESH = { found: "Agreement Repetition Typo", words: 0, ignored: 0, repeated: null, applied: 0 };
const SET = { found: "", words: 1, ignored: 1, repeated: false, applied: 1 };
const isAsSeen = [fresh, british].every((now) => now === JSON.stringify(FRESH))
  && [set, same].every((now) => now === JSON.stringify(SET));
process.exit(isAsSeen ? 0 : 1);
EOF
node check.mjs

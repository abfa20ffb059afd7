#!/bin/sh
# annotatedtext-remark 0.8.0 and annotatedtext-rehype 1.0.12 turn Markdown and HTML into the "data" of LanguageTool's API, where
# "text" is checked and "markup" is not. Their text is cut out of the source from the begin to the end of a node of the parser,
# which itself has the text without marks. So this is checked as if the writer had said it:
# - Markdown: the ">" before the second line of a quotation, and the blanks before that of an item of a list.
# - HTML: an entity as it is written, don&rsquo;t, and all of a <style> or <script>.
# In HTML without a line break between two elements, as programs write it, words become one: the markup between two <li>, <div>
# or <td> is interpreted as nothing, and the checker reads "goodbad". Between two <p> it is an empty line.
#
# Seen, what a checker reads: "> He goed\n> home." as "He goed\n> home."; <p>I don&rsquo;t</p> as it stands;
# <ul><li>good</li><li>bad</li></ul> as "goodbad"; <style>p { x: y }</style><p>good</p> with the style.
# Prints one line for each; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund annotatedtext-remark@0.8.0 annotatedtext-rehype@1.0.12 > npm.txt 2>&1 ||
  { cat npm.txt; exit 1; }
cat > read.mjs <<'EOF'
import remark from "annotatedtext-remark";
import { build as html } from "annotatedtext-rehype";

// What LanguageTool checks: the text, and what each piece of markup is to be interpreted as.
const read = (data) => data.annotation.map((part) => part.text ?? part.interpretAs).join("").trim();
const markdown = remark.build;
const SEEN = [
  [markdown, "> He goed\n> home.", "He goed\n> home."],
  [markdown, "- He goed\n  home.", "He goed\n  home."],
  [markdown, "He *goed*\nhome.", "He goed\nhome."],
  [html, "<p>I don&rsquo;t</p>", "I don&rsquo;t"],
  [html, "<ul><li>good</li><li>bad</li></ul>", "goodbad"],
  [html, "<div>good</div><div>bad</div>", "goodbad"],
  [html, "<table><tr><td>good</td><td>bad</td></tr></table>", "goodbad"],
  [html, "<p>good</p><p>bad</p>", "good\n\nbad"],
  [html, "<style>p { x: y }</style><p>good</p>", "p { x: y }good"],
];
let changed = 0;
for (const [build, source, seen] of SEEN) {
  const found = read(build(source));
  changed += found !== seen;
  console.log(`${JSON.stringify(source)}: ${JSON.stringify(found)}`);
}
process.exit(changed ? 1 : 0);
EOF
node read.mjs

#!/bin/sh
# remark-retext 6.0.1 and rehype-retext 5.0.1 let the checkers of retext read Markdown and HTML. A checker finds the right words
# there, and its message has the right "actual" and "expected"; but "place", by vfile-message's README the "place of message",
# is counted in the text as the parser made it, from the begin of its node. What is longer in the source than in that text moves
# what follows to the left, up to the next emphasis, link or code of the paragraph: &amp; by four, a backslash by one, the "> "
# or the blanks before each further line of a quotation or of an item of a list by two, and it adds up. Line and column are
# those of the wrong place. An editor marks other words than those meant, and a tool that writes "expected" there breaks the
# text. In plain text, and within one line without such marks, it is right; after an emphasis it is right again.
#
# Seen, what becomes of "went went" where "went" is put in at its place: "A &amp; B went went.": "A &ampwentwent.";
# "> No.\n> He went went.": "> No.\n> Hwentnt."; "<p>Tom&rsquo;s dog went went.</p>": "<p>Tom&rsquo;wentt went.</p>".
# Prints one line for each text; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund unified@11.0.5 vfile@6.0.3 retext-english@5.0.0 retext-repeated-words@5.0.0 \
  retext-stringify@4.0.0 remark-parse@11.0.0 remark-retext@6.0.1 remark-stringify@11.0.0 rehype-parse@9.0.1 \
  rehype-retext@5.0.1 rehype-stringify@10.0.1 > npm.txt 2>&1 || { cat npm.txt; exit 1; }
cat > check.mjs <<'EOF'
import rehypeParse from "rehype-parse";
import rehypeRetext from "rehype-retext";
import rehypeStringify from "rehype-stringify";
import remarkParse from "remark-parse";
import remarkRetext from "remark-retext";
import remarkStringify from "remark-stringify";
import retextEnglish from "retext-english";
import retextRepeatedWords from "retext-repeated-words";
import retextStringify from "retext-stringify";
import { unified } from "unified";
import { VFile } from "vfile";

const checkers = [retextEnglish, retextRepeatedWords];
const checker = unified().use(checkers);
const text = unified().use(checkers).use(retextStringify);
const markdown = unified().use(remarkParse).use(remarkRetext, checker).use(remarkStringify);
const html = unified().use(rehypeParse, { fragment: true }).use(rehypeRetext, checker).use(rehypeStringify);

const SEEN = [
  [text, "A &amp; B went went.", "A &amp; B went."],
  [markdown, "A & B went went.", "A & B went."],
  [markdown, "A &amp; B went went.", "A &ampwentwent."],
  [markdown, "A &amp; *B* went went.", "A &amp; *B* went."],
  [markdown, "Some \\*asterisks\\* went went.", "Some \\*asterisks\\wentnt."],
  [markdown, "*A* [B](c) `d` went went.", "*A* [B](c) `d` went."],
  [markdown, "> He went went.", "> He went."],
  [markdown, "> No.\n> He went went.", "> No.\n> Hwentnt."],
  [markdown, "- No.\n  No.\n  He went went.", "- No.\n  No.\n wentwent."],
  [html, "<p>A <b>dog</b> went went.</p>", "<p>A <b>dog</b> went.</p>"],
  [html, "<p>Tom&rsquo;s dog went went.</p>", "<p>Tom&rsquo;wentt went.</p>"],
];
let changed = 0;
for (const [processor, source, seen] of SEEN) {
  const { messages } = await processor.process(new VFile(source));
  const [{ actual, expected, place }] = messages;
  if (messages.length !== 1 || actual !== "went went") throw new Error(`${source}: ${messages}`);
  const found = source.slice(0, place.start.offset) + expected[0] + source.slice(place.end.offset);
  changed += found !== seen;
  console.log(`${JSON.stringify(source)}: ${JSON.stringify(found)}`);
}
process.exit(changed ? 1 : 0);
EOF
node check.mjs

// Text and places in it, without the document. Places count UTF-16 units, as strings of JavaScript do.

/**
 * The parts of a text that are corrected alone: lines up to a blank one, or to one that ends a sentence. The server reads each
 * sentence alone. A line that begins with a small letter goes on with the one before.
 */
export function paragraphs(text) {
  const found = [], lines = text.split("\n");
  let start = -1, at = 0;
  for (const [number, line] of lines.entries()) {
    if (line.trim() && start < 0) start = at + line.length - line.trimStart().length;
    if (start >= 0 && isLast(line.trimEnd(), lines[number + 1] ?? "")) {
      const end = at + line.trimEnd().length;
      found.push({ start, end, text: text.slice(start, end) });
      start = -1;
    }
    at += line.length + 1;
  }
  return found;
}

const isLast = (line, next) =>
  !next.trim() || (/[.!?…]["'”’)\]]{0,3}$/.test(line) && !ABBREVIATION.test(line.slice(-LONGEST_END)) && !/^\s*\p{Ll}/u.test(next));

const ABBREVIATION = /(?:^|[^\p{L}.])(?:Mr|Mrs|Ms|Dr|Prof|Capt|Gen|Jr|Sr|St|No|vs|etc|Jan|Feb|Aug|Sept|Oct|Nov|Dec|\p{Lu}|\p{L}(?:\.\p{L}{1,2})+)\.\s*$/u; // also i.e., a.m.
const LONGEST_END = 20; // characters looked at in front of a cut

/** Roughly the sentences of a text. */
export function sentences(text) {
  const found = [];
  let start = 0;
  const add = (end) => {
    const piece = text.slice(start, end), trimmed = piece.trim();
    if (trimmed) found.push({ start: start + piece.indexOf(trimmed[0]), text: trimmed });
    start = end;
  };
  for (const match of text.matchAll(/[.!?…]{1,5}["'”’)\]]{0,3}\s{1,9}(?=["'“‘(]{0,3}[\p{Lu}\p{Extended_Pictographic}])|\n/gu)) {
    const end = match.index + match[0].length;
    if (ABBREVIATION.test(text.slice(Math.max(start, end - LONGEST_END), end))) continue;
    add(end);
  }
  add(text.length);
  return found;
}

/** What makes two places the same to somebody who ignored one: the words, the reason and their neighbours. */
export function signature(text, place) {
  const before = /\S*\s*$/.exec(text.slice(Math.max(0, place.start - 40), place.start))[0];
  const after = /^\s*\S*/.exec(text.slice(place.end, place.end + 40))[0];
  return JSON.stringify([before.trim(), place.original, place.replacement, place.reason ?? place.code, after.trim()]);
}

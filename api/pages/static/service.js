// Sends texts to the server and asks again where that is of use: when it is busy, away, or wants a key. What it does not
// take as a whole is sent in parts, and what cannot be cut any more is skipped and says why.

import { fetchAskingForKey } from "./key.js";
import { sentences } from "./text.js";

const MAX_ITEMS = 64, MAX_UNITS = 38_000; // of a request: the server takes 64 sentences and 40,000 characters
const BUSY = [429, 503, 504];
const TOO_MUCH = [413, 422];
const UNREAD = ["not-english", "too-long"];
const WAIT_S = 2, LONGEST_WAIT_S = 30;

/** The server will not do it, and asking again is of no use. */
export class Refused extends Error {}

/**
 * Correct texts that are not blank. `way` has: `signal`; `onOutcome(text, outcome)`; `pause(slug, seconds)`, which ends when
 * it is time to ask again (`away`: nobody answers); `extra`, further members of the request. Throws an AbortError, also where
 * the user gives no key.
 */
export async function correct(texts, way) {
  for (const batch of batches(texts)) await send(batch, way);
}

function* batches(texts) {
  let batch = [], room = MAX_ITEMS, units = MAX_UNITS;
  for (const text of texts) {
    const num = (text.match(/[.!?…\n]+/g)?.length ?? 0) + 1;
    if (batch.length && (num > room || text.length > units)) {
      yield batch;
      batch = [], room = MAX_ITEMS, units = MAX_UNITS;
    }
    batch.push(text);
    room -= num;
    units -= text.length;
  }
  if (batch.length) yield batch;
}

async function send(texts, way) {
  const { results, problem } = await ask(texts, way);
  if (problem && texts.length > 1) {
    const half = texts.length >> 1;
    await send(texts.slice(0, half), way);
    return send(texts.slice(half), way);
  }
  const busy = [];
  for (const [at, text] of texts.entries()) {
    const answer = problem ?? results[at];
    if (answer.edits) way.onOutcome(text, outcomeOf(text, answer));
    else if (BUSY.includes(answer.status)) busy.push([text, answer]);
    else await cut(text, answer, way);
  }
  if (busy.length) {
    await way.pause(slugOf(busy[0][1]), busy[0][1].retry_after_s ?? WAIT_S);
    await send(busy.map(([text]) => text), way);
  }
}

/** The response as `{results}`, or as `{problem}` where this is too much at once. */
async function ask(texts, way) {
  const request = {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sentences: texts, offsets: "utf16", ...way.extra }),
    signal: way.signal,
  };
  for (let wait = WAIT_S; ; wait = Math.min(2 * wait, LONGEST_WAIT_S)) {
    let response, document;
    try {
      response = await fetchAskingForKey("/correct/batch", request);
      document = await response.json().catch((error) => {
        if (response.ok || way.signal.aborted) throw error;
        return { detail: `The server answered ${response.status}.` }; // a proxy's own page
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      await way.pause("away", wait);
      continue;
    }
    if (response.ok) return document;
    if (TOO_MUCH.includes(response.status)) return { problem: document };
    if (BUSY.includes(response.status)) await way.pause(slugOf(document), Number(response.headers.get("Retry-After")) || wait);
    else throw new Refused(document.detail ?? `The server answered ${response.status}.`);
  }
}

const slugOf = (problem) => problem.type?.split(":").at(-1) ?? "";

/** A text that was refused by itself: its sentences one by one, or nothing of it. */
async function cut(text, problem, way) {
  let pieces = TOO_MUCH.includes(problem.status) ? sentences(text) : [];
  if (pieces.length === 1) pieces = sentences(text, true);
  const outcome = { places: [] };
  if (pieces.length < 2) {
    outcome.places.push({ start: 0, end: text.length, original: text, code: "too-long", detail: problem.detail });
    outcome.failed = problem.status >= 500;
  } else {
    const found = new Map();
    await correct([...new Set(pieces.map((piece) => piece.text))], { ...way, onOutcome: (piece, one) => found.set(piece, one) });
    for (const piece of pieces) {
      const one = found.get(piece.text);
      outcome.places.push(...one.places.map((place) => ({ ...place, start: place.start + piece.start, end: place.end + piece.start })));
      outcome.failed ||= one.failed;
    }
  }
  way.onOutcome(text, outcome);
}

/** The edits of an answer, and its notes on what was not checked, in the order of the text. */
function outcomeOf(text, { edits, notes }) {
  const unread = notes
    .filter(({ code, start, end }) => UNREAD.includes(code) && !edits.some((edit) => edit.start < end && edit.end > start))
    .map((note) => ({ ...note, original: text.slice(note.start, note.end) }));
  return { places: [...edits, ...unread].sort((one, other) => one.start - other.start) };
}

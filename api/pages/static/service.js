// Sends texts to the server and asks again where that is of use: when it is busy, away, or wants a key.

import { fetchAskingForKey } from "./key.js";

const MAX_ITEMS = 64; // of a request
const MAX_UNITS = 10_000; // a longer text comes in several answers, the first one soon
const LATE = 504, BUSY = [429, 503, LATE];
const TOO_LARGE = 413;
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
  let batch = [], units = 0;
  for (const text of texts) {
    if (batch.length === MAX_ITEMS || (units && units + text.length > MAX_UNITS)) {
      yield batch;
      batch = [], units = 0;
    }
    batch.push(text);
    units += text.length;
  }
  if (batch.length) yield batch;
}

/** `late`: texts that were not ready in time. They are sent once more and no oftener: another try takes as long. */
async function send(texts, way, late = []) {
  const { results } = await ask(texts, way), busy = [];
  for (const [at, text] of texts.entries()) {
    if (BUSY.includes(results[at].status) && !(results[at].status === LATE && late.includes(text))) busy.push([text, results[at]]);
    else way.onOutcome(text, outcomeOf(text, results[at]));
  }
  if (busy.length) {
    await way.pause(slugOf(busy[0][1]), busy[0][1].retry_after_s ?? WAIT_S);
    const nowLate = busy.filter(([, { status }]) => status === LATE).map(([text]) => text);
    await send(busy.map(([text]) => text), way, [...late, ...nowLate]);
  }
}

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
    if (response.status === LATE) return { results: texts.map(() => ({ detail: document.detail, status: LATE })) };
    if (response.status === TOO_LARGE) return askForHalves(texts, way);
    if (BUSY.includes(response.status)) await way.pause(slugOf(document), Number(response.headers.get("Retry-After")) || wait);
    else throw new Refused(document.detail ?? `The server answered ${response.status}.`);
  }
}

/** Send half of the texts at a time. A text that is too large by itself is not read. */
async function askForHalves(texts, way) {
  if (texts.length === 1) {
    const size = `${texts[0].length.toLocaleString("en")} characters`;
    return { results: [{ detail: `This part has ${size}, more than the server reads at once. Divide it with a blank line.` }] };
  }
  const half = Math.ceil(texts.length / 2), { results } = await ask(texts.slice(0, half), way);
  return { results: [...results, ...(await ask(texts.slice(half), way)).results] };
}

const slugOf = (problem) => problem.type?.split(":").at(-1) ?? "";

/** The edits of an answer, and its notes on what was not checked, in the order of the text; of a problem, why it was not read. */
function outcomeOf(text, { edits, notes, status, detail }) {
  if (!edits) return { places: [{ start: 0, end: text.length, original: text, code: "too-long", detail }], failed: status >= 500 };
  const unread = notes
    .filter(({ code, start, end }) => UNREAD.includes(code) && !edits.some((edit) => edit.start < end && edit.end > start))
    .map((note) => ({ ...note, original: text.slice(note.start, note.end) }));
  return { places: [...edits, ...unread].sort((one, other) => one.start - other.start) };
}

// The live view: events of the server become a moving picture, figures and words.

import { fetchAskingForKey } from "./key.js";
import { columnOf, Lanes } from "./lanes.js";

const byId = (id) => document.getElementById(id);
const SLOW_PER_S = 14, MOST_BEHIND = 900, MOST_WAITING = 96;
const AGAIN_MS = 1000;
const BATCHES = 30, BATCH = 7, PAUSE_MS = 30; // of a burst
const SENTENCES = [
  "He goed to school.", "Yesterday I buyed two apples and she have eat one.", "They was late.", "She don't likes coffee.",
  "I have wrote three letters to my brother, and they was lost on the way.", "If it will rain tomorrow, we stay at home.",
  "My sister have learned Italian since she were ten years old.", "We swimmed every day.", "The letters was wrote by Tom.",
  "When I came home, my brother have already went to bed because he were very tired.", "He can swims well.", "I am here.",
];
const workers = new Map(); // by name: lanes, what is still to be shown, the last column
let isSlow = true, isPaused = matchMedia("(prefers-reduced-motion: reduce)").matches;
let numTaken = 0, numFreed = 0;

const shows = { figures: showFigures, batch: take, problem: ({ detail }) => tell(detail) };

/** Reads the events for ever, with `fetch`: an EventSource sends no key. */
async function connect() {
  for (;;) {
    try {
      const response = await fetchAskingForKey("/ops/events");
      if (!response.ok) throw new Error(`The server answered ${response.status}.`); // it starts, or has too many viewers
      tell("");
      await read(response.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch (error) {
      tell(error.name === "AbortError" ? error.message : "The server is away; the view goes on when it is back.");
      if (error.name === "AbortError") return;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** Shows the events of a stream, until it ends. */
async function read(stream) {
  for (let text = ""; ; ) {
    const { value, done } = await stream.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const [, name, data] = event.match(/^event: (.*)\ndata: (.*)$/) ?? []; // else a comment
      queueMicrotask(() => shows[name]?.(JSON.parse(data))); // what fails there is no fault of the stream
    }
  }
}

function take({ worker, slots, iterations }) {
  let one = workers.get(worker);
  if (!one) {
    byId("idle")?.remove();
    one = { lanes: new Lanes(byId("workers"), worker), pending: [], last: null, owed: 0, name: worker };
    workers.set(worker, one);
  }
  for (const iteration of iterations) {
    const column = columnOf(iteration, one.last);
    if (column.began.size && one.last) {
      numFreed += Math.min(one.last.ended.size, column.began.size);
      numTaken += column.taken.size;
    }
    one.last = column;
    one.pending.push(column);
  }
  if (one.pending.length > MOST_BEHIND) one.pending.splice(0, one.pending.length - 120);
  if (one.last) showBusy(one, one.last.decoding.size + one.last.began.size - one.last.ended.size, slots);
  if (numFreed) byId("taken").textContent = `While others waited, ${numTaken} of ${numFreed} freed slots were taken in the very next iteration.`;
}

function showBusy({ lanes, name }, busy, slots) {
  lanes.title.textContent = `${name}: ${busy} of ${slots} slots busy`;
}

function showFigures(found) {
  for (const { name, running, slots } of found.workers) { // the end of a cancelled request is in no iteration
    if (workers.has(name)) showBusy(workers.get(name), running, slots);
  }
  byId("waiting").textContent = found.waiting;
  const line = byId("line"), wanted = Math.min(found.waiting, MOST_WAITING);
  while (line.childElementCount > wanted) line.lastChild.remove();
  while (line.childElementCount < wanted) line.append(document.createElement("i"));
  const times = (pair) => (pair ? `${pair[0]} / ${pair[1]} ms` : "–");
  const rows = {
    "Answers a second": found.answers_per_s, "Tokens a second": found.tokens_per_s, "Running": found.running,
    "First token, median / p95": times(found.ttft_ms), "Between tokens, median / p95": times(found.itl_ms),
    "Utilization": `${Math.round(100 * found.utilization)} %`, "Workers": found.workers.length,
  };
  const list = byId("figures");
  if (!list.childElementCount) {
    for (const name of Object.keys(rows)) {
      const row = list.appendChild(document.createElement("div"));
      row.appendChild(document.createElement("dt")).textContent = name;
      row.appendChild(document.createElement("dd"));
    }
  }
  for (const [at, value] of Object.values(rows).entries()) list.children[at].lastChild.textContent = value;
  const law = found.law;
  byId("law").textContent = law ? `Little's law: L = λ · W: ${law.L} in the system, ${law.rate_per_s} a second · ${law.W_ms} ms` +
    ` = ${((law.rate_per_s * law.W_ms) / 1000).toFixed(3)} (off by ${(100 * law.residual).toFixed(1)} %)`
    : "Little's law: L = λ · W. Nothing has ended lately.";
  const alerts = byId("alerts"), said = found.alerts.map((one) => `${one.name}: ${one.sentence}`);
  if (alerts.dataset.said === said.join("|")) return;
  alerts.dataset.said = said.join("|");
  alerts.replaceChildren(...found.alerts.map((one) => {
    const item = document.createElement("li");
    item.append(Object.assign(document.createElement("b"), { textContent: one.name }), ` ${one.sentence}`);
    return item;
  }));
}

let drawn = performance.now();
function frame(now) {
  const seconds = Math.min(0.25, (now - drawn) / 1000);
  drawn = now;
  for (const one of workers.values()) {
    if (isPaused) continue;
    one.owed = isSlow ? one.owed + seconds * SLOW_PER_S : one.pending.length;
    let has = false;
    for (; one.owed >= 1 && one.pending.length; one.owed--, has = true) one.lanes.add(one.pending.shift());
    if (!one.pending.length) one.owed = 0;
    if (has) one.lanes.draw();
  }
  requestAnimationFrame(frame);
}

async function burst() {
  const button = byId("burst");
  button.disabled = true;
  const began = performance.now();
  say(`${BATCHES * BATCH} sentences are on their way.`);
  const faults = await Promise.all([...Array(BATCHES).keys()].map(async (number) => {
    await new Promise((resolve) => setTimeout(resolve, number * PAUSE_MS));
    return send([...Array(BATCH).keys()].map((at) => SENTENCES[(number * BATCH + at * 5) % SENTENCES.length]));
  }));
  const bad = faults.filter(Boolean);
  say(bad.length ? `The server refused ${bad.length} of ${BATCHES} requests: ${bad[0]}`
    : `${BATCHES * BATCH} sentences were answered in ${((performance.now() - began) / 1000).toFixed(2)} s.`);
  button.disabled = false;
}

/** Returns why there is no answer, or nothing. */
async function send(sentences) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sentences }) };
  const response = await fetchAskingForKey("/correct/batch", request).catch((error) => error);
  if (response instanceof Error) return response.name === "AbortError" ? "no key was given." : "it did not answer.";
  if (response.ok) return "";
  const problem = await response.json().catch(() => null);
  return problem?.detail ?? `it answered ${response.status}.`;
}

const say = (text) => { byId("said").textContent = text; };
const tell = (text) => { byId("link").textContent = text; };
function press(button, is) { button.setAttribute("aria-pressed", String(is)); }
byId("burst").onclick = burst;
byId("pace").onclick = (event) => press(event.currentTarget, (isSlow = !isSlow));
byId("pause").onclick = (event) => press(event.currentTarget, (isPaused = !isPaused));
press(byId("pause"), isPaused);
addEventListener("resize", () => { for (const one of workers.values()) one.lanes.draw(); });
connect();
requestAnimationFrame(frame);

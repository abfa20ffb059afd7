// The live view: events of the server become a moving picture, and words that say the same.

import { Batch, EMPTY, MOST_TOKENS, replay } from "./batch.js";
import { fetchAskingForKey } from "./key.js";
import { colourOf, draw } from "./lanes.js";

const byId = (id) => document.getElementById(id);
const ITERATIONS_PER_S = 14, MOST_BEHIND = 420, AGAIN_MS = 1000, GONE_MS = 5000;
const CELL = 11, MARGIN = 48, MOST_ROWS = 16, MOST_WAITING = 96, MOST_REPLAYED = 60, REPLAY_SLOTS = 6;
const REQUESTS = 5; // of a burst, at once, each with all sentences: a browser has six connections, and one brings the events
const SENTENCES = [
  "He goed to school.", "Yesterday I buyed two apples and she have eat one.", "They was late.", "She don't likes coffee.",
  "I have wrote three letters to my brother, and they was lost on the way.", "If it will rain tomorrow, we stay at home.",
  "My sister have learned Italian since she were ten years old.", "We swimmed every day.", "The letters was wrote by Tom.",
  "When I came home, my brother have already went to bed because he were very tired.", "He can swims well.", "I am here.",
];
const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches; // then a new picture once a second
const workers = new Map(); // by name
let isPaused = false, isSending = false, numQueued = 0, drawn = [], count = {};

const shows = {
  batch: take,
  state: ({ queue_depth }) => { numQueued = queue_depth; tell(""); },
  problem: ({ detail }) => tell(detail),
};

/** Reads the events for ever, with `fetch`: an EventSource sends no key. */
async function connect() {
  for (;;) {
    try {
      const response = await fetchAskingForKey("/ops/events");
      if (!response.ok) throw new Error(`The server answered ${response.status}.`); // it starts, or has too many viewers
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
  if (!workers.has(worker)) workers.set(worker, newWorker(worker, slots));
  const one = workers.get(worker);
  const columns = iterations.length ? iterations.flatMap((each) => one.batch.columnsOf(each)) : one.batch.idle();
  one.pending.push(...columns.map((column) => ({ ...column, numQueued })));
  one.heard = performance.now();
  if (one.pending.length > MOST_BEHIND) {
    count.skipped += one.pending.splice(0, one.pending.length - 60).length;
    one.pending.unshift({ ...one.pending[0], ...EMPTY });
  }
}

function newWorker(name, numSlots) {
  byId("idle").hidden = true;
  byId("burst").disabled = false;
  const figure = byId("worker").content.firstElementChild.cloneNode(true);
  byId("workers").append(figure);
  const one = { name, numSlots, figure, batch: new Batch(), pending: [], columns: [], owed: 0, numRows: Math.min(numSlots, REPLAY_SLOTS) };
  show(one);
  return one;
}

/** The next column has come to the right edge of the picture. */
function step(one) {
  const column = one.pending.shift();
  one.columns.push(column);
  one.columns.splice(0, one.columns.length - 400);
  one.numRows = Math.min(MOST_ROWS, Math.max(one.numRows, ...[...column.cells.keys()].map((slot) => slot + 1)));
  count.iterations += column.cells.size > 0;
  count.wanted += column.numWanted;
  count.joined += column.numJoined;
  count.answered += column.done.length;
  if (!one.name.endsWith(" prefill")) drawn.push(...column.done.filter((request) => request.isWhole)); // there all have one token
  drawn = drawn.slice(-MOST_REPLAYED);
}

function show(one) {
  const { figure, columns, numRows, numSlots } = one, canvas = figure.querySelector("canvas");
  const last = columns.at(-1), waiting = last?.waiting ?? 0, busy = last ? last.cells.size - last.freed.size : 0;
  const room = Math.floor((canvas.clientWidth - MARGIN) / CELL), seen = columns.slice(-room).map((column) => column.cells);
  const height = Math.floor(Math.min(24, 160 / numRows));
  draw(canvas, seen, { numRows, height, width: CELL, left: canvas.clientWidth - seen.length * CELL });
  const part = numRows < numSlots ? `; the first ${numRows} are drawn` : "";
  figure.querySelector("h3").textContent = `${one.name}: ${busy} of ${numSlots} slots busy${part}`;
  figure.querySelector(".number").textContent = waiting;
  const squares = [...Array(Math.min(waiting, MOST_WAITING)).keys()].map((at) => {
    const square = document.createElement("i");
    square.style.background = colourOf(last.next + at, true);
    return square;
  });
  figure.querySelector(".line").replaceChildren(...squares);
}

function showWords() {
  const { iterations, answered, wanted, joined, skipped } = count, all = [...workers.values()];
  const late = Math.max(...all.map((one) => one.pending.length));
  const queued = Math.max(...all.map((one) => one.columns.at(-1)?.numQueued ?? 0));
  byId("count").textContent = [
    `Iterations drawn: ${iterations}${late ? `, to come: ${late}` : ""}. Sentences answered: ${answered}.`,
    `Slots freed while others waited: ${wanted}; joined in the very next iteration: ${joined}.`,
    queued && `Waiting in Redis, too: ${queued}.`,
    skipped && `Too many to draw: ${skipped} iterations.`,
    all.some((one) => one.numSlots > MOST_ROWS) && "A burst does not fill so many slots; miniserve up --max-slots 6 starts a worker of six.",
  ].filter(Boolean).join(" ");
}

function showReplay() {
  if (!drawn.length) return;
  byId("replay").hidden = false;
  byId("replay-name").textContent = `The same ${drawn.length} sentences on ${REPLAY_SLOTS} slots, under three policies`;
  const found = new Map(["continuous", "static", "fixed"].map((policy) => [policy, replay(drawn, policy, REPLAY_SLOTS)]));
  const most = found.get("fixed").length;
  for (const [policy, columns] of found) {
    const figure = byId(policy), canvas = figure.querySelector("canvas"), cells = columns.flatMap((column) => [...column.values()]);
    const share = (number) => `${Math.round((100 * number) / (columns.length * REPLAY_SLOTS))} %`;
    figure.querySelector("b").textContent = `${columns.length} iterations`;
    figure.querySelector("span").textContent = {
      continuous: "A freed slot is taken at once.",
      static: `A batch waits for its longest: ${share(columns.length * REPLAY_SLOTS - cells.length)} empty.`,
      fixed: `Each decodes ${MOST_TOKENS} tokens: ${share(cells.filter((cell) => cell.isWasted).length)} wasted.`,
    }[policy];
    draw(canvas, columns, { numRows: REPLAY_SLOTS, height: 7, width: canvas.clientWidth / most, left: 0 });
  }
}

function showAll() {
  for (const one of workers.values()) show(one);
  showReplay();
}

let last = performance.now(), swept = 0;
function frame(now) {
  const isDue = now - swept > 1000;
  for (const one of workers.values()) {
    one.owed += (ITERATIONS_PER_S * Math.min(250, now - last)) / 1000;
    let number = isPaused ? 0 : isStill ? isDue * one.pending.length : Math.min(Math.floor(one.owed), one.pending.length);
    one.owed = one.pending.length ? one.owed % 1 : 0;
    if (!number) continue;
    while (number--) step(one);
    show(one);
    showWords();
    if (!one.pending.length) showReplay();
  }
  last = now;
  if (isDue && !isPaused) {
    swept = now;
    for (const one of [...workers.values()].filter(({ pending, heard }) => !pending.length && now - heard > GONE_MS)) {
      one.figure.remove();
      workers.delete(one.name);
    }
  }
  requestAnimationFrame(frame);
}

async function burst() {
  if (isSending) return;
  isSending = true;
  const began = performance.now(), number = REQUESTS * SENTENCES.length;
  newCount();
  say(`${number} sentences are on their way.`);
  const faults = (await Promise.all([...Array(REQUESTS)].map(send))).filter(Boolean);
  say(faults.length ? `The server refused ${faults.length} of ${REQUESTS} requests: ${faults[0]}`
    : `${number} sentences were answered in ${((performance.now() - began) / 1000).toFixed(2)} s; here they are in slow motion.`);
  isSending = false;
}

/** Returns why there is no answer, or nothing. */
async function send() {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sentences: SENTENCES }) };
  const response = await fetchAskingForKey("/correct/batch", request).catch((error) => error);
  if (response instanceof Error) return response.name === "AbortError" ? "no key was given." : "it did not answer.";
  if (response.ok) return "";
  const problem = await response.json().catch(() => null);
  return problem?.detail ?? `it answered ${response.status}.`;
}

const say = (text) => { byId("said").textContent = text; };
const tell = (text) => { byId("link").textContent = text; };
function newCount() {
  count = { iterations: 0, answered: 0, wanted: 0, joined: 0, skipped: 0 };
  drawn = [];
  for (const one of workers.values()) one.pending = [];
}
byId("burst").onclick = burst;
byId("pause").onclick = ({ currentTarget }) => {
  currentTarget.setAttribute("aria-pressed", String((isPaused = !isPaused)));
  showReplay();
};
addEventListener("resize", showAll);
newCount();
connect();
requestAnimationFrame(frame);

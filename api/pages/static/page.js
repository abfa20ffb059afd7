// The page at /. It holds the text and what is known of it, sends what changed after a pause, and draws the answers.
// The text goes to the server and nowhere else: not into an address, not into storage.

import { Marks } from "./marks.js";
import { Refused, correct } from "./service.js";
import { applied, change, moved, paragraphs, signature } from "./text.js";

const PAUSE_MS = 400;
const COUNTED_MS = 600; // a count is written within 250 ms of its answer
const SLOW_MS = 250; // only then it is said that an answer is waited for
const MAX_OUTCOMES = 4000;
const WAITS = {
  away: "The server cannot be reached. Your text is still here.",
  "rate-limited": "This is more than your share for now.",
  "not-ready": "The server is not ready.",
  "shutting-down": "The server is restarting.",
};
const NOTHING_FOUND = "No verb mistakes found; other things are not checked.";
const FOREIGN = {
  all: "The text seems not to be English; only English is checked.",
  part: "Part of the text seems not to be English; only English is checked.",
};
const $ = (id) => document.getElementById(id);
const box = $("text"), live = $("live");

let text = "", edits = [], unread = [];
let ignored = new Set();
let undos = []; // each is the inverse of a step, with places as they are now
const outcomes = new Map(); // of paragraphs, by their text
let run = null, timer = 0, slow = 0, isSlow = false, notBefore = 0, waiter = null, pausedAt = 0;

const marks = new Marks($("result"), { accept: (edit) => accept([edit]), ignore });

/* ---- what is known ---- */

/** Edits and places of the whole text: those of the answers, and until there is one those that a change left alone. */
function settle() {
  const found = [], gaps = [];
  for (const part of paragraphs(text)) {
    const outcome = outcomes.get(part.text);
    const at = (one) => ({ ...one, start: one.start + part.start, end: one.end + part.start });
    const isInside = (one) => one.start >= part.start && one.end <= part.end;
    found.push(...(outcome ? outcome.edits.map(at) : edits.filter(isInside)));
    gaps.push(...(outcome ? outcome.unread.map(at) : unread.filter(isInside)));
  }
  edits = found.filter((edit) => !ignored.has(signature(text, edit)));
  unread = gaps;
  draw();
}

function draw() {
  marks.draw(text, edits, unread);
  $("empty").hidden = text.trim() !== "";
  $("clear").hidden = text === "";
  $("accept-all").disabled = edits.length === 0;
  $("copy").disabled = text.trim() === "";
  $("undo").disabled = undos.length === 0;
  $("count").textContent = isSlow ? "Reading…" : edits.length ? counted(edits.length) : "";
}

const counted = (number) => `${number} correction${number === 1 ? "" : "s"}`;

/** For those who hear the page. The same sentence twice is said twice. */
function say(sentence) {
  $("status").textContent = $("status").textContent === sentence ? `${sentence}\u00a0` : sentence;
}

/* ---- steps, and their undoing ---- */

/** The text was changed from `before`: places move along, also those of steps that can be undone. */
function follow(before, step = change(before, text)) {
  edits = moved(edits, step);
  unread = moved(unread, step);
  undos = undos.map((undo) => ({ ...undo, changes: moved(undo.changes, step) }))
    .filter((undo) => undo.ignored || undo.changes.length > 0);
}

function replace(start, end, replacement) {
  const before = text;
  box.setRangeText(replacement, start, end, "preserve");
  text = box.value;
  follow(before, { start, end, added: text.length - before.length + (end - start) });
}

function accept(chosen) {
  learner?.accepted(text, chosen, edits).then((isCounted) => isCounted && setTimeout(showLearner, COUNTED_MS));
  const changes = [], focus = marks.hasFocus, first = chosen[0].start;
  let by = 0;
  for (const edit of chosen) {
    const start = edit.start + by;
    edits = edits.filter((one) => one.start !== start || one.replacement !== edit.replacement);
    replace(start, edit.end + by, edit.replacement);
    changes.push({ start, end: start + edit.replacement.length, before: edit.original });
    by += edit.replacement.length - (edit.end - edit.start);
  }
  undos.push({ changes });
  keep();
  settle();
  if (focus) marks.focusNear(first);
  const what = chosen.length > 1 ? `${chosen.length} corrections accepted.` : `Accepted: ${chosen[0].replacement}.`;
  say(`${what} ${edits.length ? `${counted(edits.length)} left.` : "None left."}`);
  schedule(0);
}

/** A paragraph with corrections that nobody has decided on is not sent again because another of them was accepted. */
function keep() {
  for (const part of paragraphs(text)) {
    const inside = (places) => places.filter((one) => one.start >= part.start && one.end <= part.end)
      .map((one) => ({ ...one, start: one.start - part.start, end: one.end - part.start }));
    if (!outcomes.has(part.text) && inside(edits).length) {
      outcomes.set(part.text, { edits: inside(edits), unread: inside(unread), foreign: "" });
    }
  }
}

function ignore(edit) {
  const focus = marks.hasFocus;
  undos.push({ changes: [], ignored });
  ignored = new Set(ignored).add(signature(text, edit));
  settle();
  if (focus) marks.focusNear(edit.start);
  if (!edits.length) finish(false);
  say(`Ignored. ${edits.length ? `${counted(edits.length)} left.` : "None left."}`);
}

function undo() {
  const step = undos.pop();
  if (!step) return;
  for (const one of [...step.changes].reverse()) replace(one.start, one.end, one.before);
  ignored = step.ignored ?? ignored;
  settle();
  say("Undone.");
  schedule(0);
}

/** Put another text in place of the whole; that can be undone, too. */
function put(another) {
  const before = text;
  edits = [], unread = [];
  undos = [];
  box.value = text = another;
  if (before.trim()) undos.push({ changes: [{ start: 0, end: text.length, before }] });
  settle();
  schedule(0);
}

/* ---- asking the server ---- */

function schedule(ms = PAUSE_MS) {
  clearTimeout(timer);
  if (!live.checked && ms) return;
  timer = setTimeout(check, Math.max(ms, notBefore - performance.now()));
}

async function check() {
  clearTimeout(timer);
  clearTimeout(slow);
  run?.abort();
  notice("");
  const mine = run = new AbortController();
  const missing = [...new Set(paragraphs(text).map((part) => part.text))].filter((one) => !outcomes.has(one));
  if (outcomes.size > MAX_OUTCOMES) outcomes.clear();
  if (missing.length) slow = setTimeout(() => reads(true), SLOW_MS);
  pausedAt = performance.now();
  try {
    await correct(missing, { signal: mine.signal, onOutcome: take, pause: (slug, s) => pause(mine.signal, slug, s) });
    if (!mine.signal.aborted) finish(missing.length > 0);
  } catch (error) {
    if (mine.signal.aborted) return; // a newer text is asked for
    const isRefused = error instanceof Refused;
    if (error.name === "AbortError") notice("Without a key this server corrects nothing.", "Enter a key");
    else notice(isRefused ? error.message : "Something went wrong in this page; the text is still here.", "Try again");
    if (!isRefused && error.name !== "AbortError") console.error(error);
  } finally {
    if (run === mine) reads(false);
  }
}

function reads(isSo) {
  clearTimeout(slow);
  isSlow = isSo;
  draw();
}

function take(part, outcome) {
  outcomes.set(part, outcome);
  settle();
}

function finish(isNew) {
  const failed = [...outcomes].filter(([, outcome]) => outcome.failed).map(([part]) => part);
  failed.forEach((part) => outcomes.delete(part)); // asked for again with the next change
  if (isNew) requestAnimationFrame(() => performance.measure("pause to mark", { start: pausedAt }));
  if (!text.trim()) return notice("");
  if (failed.length) return notice("Some sentences could not be read this time.", "Try again");
  const skipped = unread.length === 1 ? " 1 sentence was not read. It is marked, and says why."
    : unread.length ? ` ${unread.length} sentences were not read. They are marked, and say why.` : "";
  const known = paragraphs(text).map((part) => outcomes.get(part.text)).filter(Boolean);
  const language = FOREIGN[known.length && known.every((one) => one.foreign === "all") ? "all" : known.some((one) => one.foreign) ? "part" : ""] ?? "";
  if (edits.length) {
    const more = `${language}${skipped}`.trim();
    if (more) notice(more, "", !skipped);
    if (isNew) say(`${counted(edits.length)}. ${more}`);
    return;
  }
  const said = [known.some((one) => one.isClean) ? NOTHING_FOUND : "", language].filter(Boolean).join(" ");
  const isRead = applied(text, unread.map((one) => ({ ...one, replacement: "" }))).trim() !== "";
  const sentence = isRead ? `${said || "Nothing is left to correct."}${skipped}`
    : "No part of the text could be checked. The marks say why.";
  notice(sentence, "", !skipped);
  if (isNew) say(sentence);
}

/** Wait until it is time to ask again, and say so; a click or a network that is back ends the wait. */
function pause(signal, slug, seconds) {
  const what = WAITS[slug] ?? "The server is busy.";
  notBefore = performance.now() + seconds * 1000;
  reads(false);
  say(`${what} Trying again in ${seconds} second${seconds === 1 ? "" : "s"}.`);
  return new Promise((resolve, reject) => {
    const end = (settled) => {
      clearInterval(ticker);
      removeEventListener("online", waiter);
      waiter = null;
      settled();
    };
    const show = () => {
      const left = Math.ceil((notBefore - performance.now()) / 1000);
      if (left <= 0) return waiter?.();
      notice(`${what} Trying again in ${left} s.`, "Try now");
    };
    const ticker = setInterval(show, 250);
    waiter = () => end(() => {
      notBefore = 0;
      notice("");
      resolve();
    });
    addEventListener("online", waiter);
    signal.addEventListener("abort", () => end(() => reject(signal.reason)), { once: true });
    show();
  });
}

function notice(sentence, button = "", isCalm = false) {
  $("notice").hidden = !sentence;
  $("notice").classList.toggle("calm", isCalm);
  $("notice-text").textContent = sentence;
  $("again").hidden = !button;
  $("again").textContent = button;
}

/* ---- what a learner often misses: off until somebody turns it on ---- */

let learner = null;
const OFF = "Off. When it is on, the server counts which kinds of mistakes you accept corrections for, and the verbs; never your text.";

async function learn() {
  if (learner) return;
  const { Learner } = await import("./learner.js");
  learner = new Learner($("learner-list"));
  $("learner-name").value = learner.name;
  await showLearner();
}

async function showLearner() {
  $("learner-on").checked = Boolean(learner);
  $("learner-more").hidden = !learner;
  $("learner-title").textContent = learner?.name ? `${learner.name} often misses` : "You often miss";
  const number = await learner?.show();
  $("learner-about").textContent = !learner ? OFF : `${number ? "" : "Nothing yet: corrections that you accept are counted. "}Turning this off forgets all of it, here and on the server.`;
}

async function forget() {
  const isGone = await learner.forget();
  learner = null;
  await showLearner();
  say(isGone ? "Forgotten." : "Forgotten here; the server could not be reached and forgets within 90 days.");
  $("learner-on").focus();
}

/* ---- wiring ---- */

function typed(event) {
  const before = text;
  text = box.value;
  if (!text) ignored = new Set();
  follow(before);
  settle();
  if (!event?.isComposing) schedule();
}

async function copy() {
  const result = applied(text, edits);
  try {
    await navigator.clipboard.writeText(result);
  } catch { // not allowed, or a page without TLS from another machine
    const carrier = document.createElement("textarea");
    carrier.value = result;
    document.body.append(carrier);
    carrier.select();
    document.execCommand("copy");
    carrier.remove();
    $("copy").focus();
  }
  $("copy").textContent = "Copied";
  setTimeout(() => ($("copy").textContent = "Copy"), 1600);
  say(edits.length ? "Copied, with all corrections that are left." : "Copied.");
}

box.addEventListener("input", typed);
box.addEventListener("compositionend", () => schedule());
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    check();
  }
});
live.addEventListener("change", () => {
  $("check").classList.toggle("main", !live.checked);
  if (live.checked) schedule();
});
$("check").addEventListener("click", check);
$("clear").addEventListener("click", () => {
  put("");
  box.focus();
});
$("again").addEventListener("click", () => (waiter ? waiter() : check()));
$("accept-all").addEventListener("click", () => {
  accept(edits);
  $("undo").focus();
});
$("copy").addEventListener("click", copy);
$("undo").addEventListener("click", () => {
  undo();
  if ($("undo").disabled) box.focus();
});
$("examples").addEventListener("click", (event) => {
  const example = event.target.closest("button");
  if (example) put(example.textContent);
});
document.addEventListener("keydown", (event) => {
  const isUndo = event.key === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
  if (isUndo && event.target !== box && !event.target.matches("input")) {
    event.preventDefault();
    undo();
  }
});
$("learner-on").addEventListener("change", () => (learner ? forget() : learn()));
$("learner-name").addEventListener("input", () => {
  learner.name = $("learner-name").value.trim();
  showLearner();
});
if (localStorage.getItem("miniserve.learner")) learn();
else showLearner();
if (!CSS.supports("field-sizing", "content")) {
  const grow = () => {
    box.style.height = "auto";
    box.style.height = `${box.scrollHeight}px`;
  };
  box.addEventListener("input", grow);
}
if (box.value) typed(); // what a browser kept over a reload

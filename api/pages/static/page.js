// The page at /. After a pause it sends the paragraphs that changed. It shows the answers in the editor and in the list next to
// it. The text goes only to the server; a draft is kept in this tab.

import { Cards, spoken } from "./cards.js";
import { undo, undoDepth } from "./codemirror.js";
import { accept, createEditor, decisionsOf, ignore, isDecision, isOpening, neighbour, openPlace, placesOf, replaceText, showPlaces } from "./editor.js";
import { TAB, keep, kept } from "./kept.js";
import { Learner } from "./learner.js";
import { Refused, correct } from "./service.js";
import { paragraphs, signature } from "./text.js";

const DRAFT = "miniserve.draft", IGNORED = "miniserve.ignored";
const PAUSE_MS = 400;
const BELOW = 80; // px in view below an open place: mostly the next one
const SLOW_MS = 250; // a longer wait for an answer is shown
const MAX_OUTCOMES = 4000; // beyond it only those of the text are kept
const WAITS = {
  away: "The server cannot be reached. Your text is still here.",
  "rate-limited": "You have sent too much at once.",
  "not-ready": "The server is not ready.",
  "shutting-down": "The server is restarting.",
};
const $ = (id) => document.getElementById(id);
const narrow = matchMedia("(max-width: 52rem)"); // as in page.css

const outcomes = new Map(); // of paragraphs, by their text
let run = null, timer = 0, slow = 0, isSlow = false, notBefore = 0, waiter = null, pausedAt = 0, frame = 0;

const cards = new Cards($("cards"), {
  open: (place) => openPlace(view, place),
  step: (by) => go(by),
  accept: (place) => take([place]),
  ignore: (place) => leaveOut(place),
  leave: () => leave(),
});
const view = createEditor({
  parent: $("editor"), text: kept(TAB, DRAFT) ?? "", ignored: kept(TAB, IGNORED)?.split("\n"), update: updated, next: () => goFromText(),
  margins: () => ({ top: $("bar").offsetHeight, bottom: BELOW + (narrow.matches ? $("cards").offsetHeight : 0) }),
});

const learner = new Learner(say);

const text = () => view.state.doc.toString();
const places = () => placesOf(view.state);
const edits = () => places().filter((place) => !place.code);
const open = () => places().find((place) => place.isOpen);
/** Which of the corrections is open; nothing where none is. Notes are not counted. */
const position = () => (open() && !open().code ? `${edits().indexOf(open()) + 1} of ${edits().length}` : "");
/** Only when a card opens: a list that scrolled later would slip away from under a pressed pointer, and lose the click. */
const align = () => open() && cards.align(view.coordsAtPos(open().start)?.top ?? 0);
const counted = (number, what = "correction") => `${number} ${what}${number === 1 ? "" : "s"}`;

/* ---- what is known ---- */

function updated(update) {
  const isDecided = update.transactions.some(isDecision);
  if (update.docChanged) {
    if (isDecided) keepUndecided();
    else notice("");
    keep(TAB, DRAFT, text());
  }
  if (update.docChanged || isDecided) {
    keep(TAB, IGNORED, [...decisionsOf(update.state).ignored].join("\n"));
    settle();
    schedule(isDecided ? 0 : PAUSE_MS);
  } else draw();
  if (update.transactions.some(isOpening)) requestAnimationFrame(align); // the text is scrolled by then
}

/** Show the places of the whole text: those of the answers. A paragraph without an answer keeps those that no change touched. */
function settle() {
  const all = text(), known = places(), { ignored } = decisionsOf(view.state), found = [];
  for (const part of paragraphs(all)) {
    const outcome = outcomes.get(part.text);
    found.push(...(outcome ? outcome.places.map((place) => shifted(place, part.start)) : inside(part, known)));
  }
  showPlaces(view, found.filter((place) => !ignored.has(signature(all, place))));
}

const shifted = (place, by) => ({ ...place, start: place.start + by, end: place.end + by });
const inside = (part, all) => all.filter((place) => place.start >= part.start && place.end <= part.end);

/** A paragraph in which a correction was accepted is not sent again while others in it are open. */
function keepUndecided() {
  for (const part of paragraphs(text())) {
    const left = inside(part, places()).map((place) => shifted(place, -part.start));
    if (!outcomes.has(part.text) && left.some((place) => !place.code)) outcomes.set(part.text, { places: left });
  }
}

function draw() {
  const all = places(), isBlank = !text().trim(), opened = open();
  cards.draw(all);
  $("examples").hidden = !isBlank;
  $("draft").hidden = kept(TAB, DRAFT) === null;
  for (const id of ["previous", "next"]) $(id).disabled = all.length === 0;
  $("accept-all").disabled = edits().length === 0;
  $("accept").disabled = !opened || Boolean(opened.code);
  $("copy").disabled = isBlank;
  $("undo").disabled = undoDepth(view.state) === 0;
  if (document.activeElement.disabled) ($("undo").disabled ? view : $("undo")).focus(); // else the focus is lost
  $("list-empty").hidden = all.length > 0;
  $("count").textContent = isSlow ? "Reading…" : position() || (edits().length ? counted(edits().length) : "");
}

/** For screen readers. The same sentence twice is read out twice. */
function say(sentence) {
  $("status").textContent = $("status").textContent === sentence ? `${sentence}\u00a0` : sentence;
}

/* ---- steps ---- */

/** From place to place of all; without an open one from the caret on. */
function go(by) {
  const all = places(), { head } = view.state.selection.main;
  const at = open() ?? (by > 0 ? all.findLast((place) => place.end < head) : all.find((place) => place.start > head));
  const isFocused = cards.hasFocus;
  openPlace(view, at ? neighbour(all, at, by) ?? at : all.at(by > 0 ? 0 : -1));
  if (isFocused) cards.focus();
  if (open()) say([position(), spoken(open())].filter(Boolean).join(". "));
}

function goFromText() {
  if (!places().length) return check();
  go(1);
  cards.focus();
}

function leave() {
  const place = open();
  openPlace(view, null);
  if (matchMedia("(pointer: coarse)").matches) return $("next").focus(); // in the text it would bring up a keyboard
  if (place) view.dispatch({ selection: { anchor: place.end } });
  view.focus();
}

function take(chosen) {
  learner.accepted(text(), chosen, edits());
  const isFocused = cards.hasFocus;
  accept(view, chosen);
  if (isFocused) cards.focus();
  const left = edits().length ? `${counted(edits().length)} left.` : "None left.";
  say(`${chosen.length > 1 ? `${chosen.length} corrections accepted.` : `Accepted: ${chosen[0].replacement}.`} ${left}`);
}

function leaveOut(place) {
  const isFocused = cards.hasFocus;
  ignore(view, place);
  if (isFocused) cards.focus();
  say(`Ignored. ${edits().length ? `${counted(edits().length)} left.` : "None left."}`);
}

function takeBack() {
  undo(view);
  say("Undone.");
}

/* ---- asking the server ---- */

function schedule(ms = PAUSE_MS) {
  clearTimeout(timer);
  timer = setTimeout(check, Math.max(ms, notBefore - performance.now()));
}

async function check() {
  if (view.composing) return schedule();
  clearTimeout(timer);
  clearTimeout(slow);
  run?.abort();
  const mine = run = new AbortController();
  const parts = new Set(paragraphs(text()).map((part) => part.text)), missing = [...parts].filter((one) => !outcomes.has(one));
  if (outcomes.size > MAX_OUTCOMES) [...outcomes.keys()].filter((one) => !parts.has(one)).forEach((one) => outcomes.delete(one));
  if (missing.length) slow = setTimeout(() => reads(true), SLOW_MS);
  pausedAt = performance.now();
  try {
    await correct(missing, { signal: mine.signal, onOutcome: learnOutcome, pause: (slug, s) => pause(mine.signal, slug, s) });
    if (!mine.signal.aborted) finish(missing.length > 0);
  } catch (error) {
    if (mine.signal.aborted) return; // a newer text is asked for
    const isRefused = error instanceof Refused;
    if (error.name === "AbortError") notice("Without a key this server corrects nothing.", "warn", "Enter a key");
    else notice(isRefused ? error.message : "Something went wrong on this page. Your text is still here.", "warn", "Try again");
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

/** Drawn once a frame: one response has many paragraphs. */
function learnOutcome(part, outcome) {
  outcomes.set(part, outcome);
  frame ||= requestAnimationFrame(settleNow);
}

function settleNow() {
  cancelAnimationFrame(frame);
  frame = 0;
  settle();
}

function finish(isNew) {
  settleNow();
  const failed = [...outcomes].filter(([, outcome]) => outcome.failed).map(([part]) => part);
  failed.forEach((part) => outcomes.delete(part)); // asked for again with the next change
  if (isNew) requestAnimationFrame(() => performance.measure("pause to mark", { start: pausedAt }));
  if (!text().trim()) return notice("");
  if (failed.length) return notice("Some sentences could not be read this time.", "warn", "Try again");
  const number = edits().length, { accepted } = decisionsOf(view.state);
  if (!number) return conclude(isNew);
  notice(accepted ? `${accepted} corrected, ${number} left.` : "");
  if (isNew) say(`${counted(number)}.`);
}

/** Nothing is left to decide: what was done, and what was not checked. */
function conclude(isNew) {
  const notes = places(), foreign = notes.filter((note) => note.code === "not-english");
  const isRead = notes.reduceRight((rest, note) => rest.slice(0, note.start) + rest.slice(note.end), text()).trim() !== "";
  const { accepted, ignored } = decisionsOf(view.state);
  const done = [accepted && `${accepted} corrected`, ignored.size && `${ignored.size} ignored`].filter(Boolean).join(", ");
  const kind = foreign.length ? "foreign" : notes.length ? "warn" : "good", numUnread = notes.length - foreign.length;
  const not = [numUnread && ` ${counted(numUnread, "part")} not read.`, foreign.length && ` ${counted(foreign.length, "part")} not in English.`];
  let said = `${done || "No verb mistakes found"}.${not.filter(Boolean).join("")}`;
  if (!isRead) {
    said = numUnread ? "No part of the text could be checked. The marks say why." : "This does not seem to be English. Nothing was checked.";
  }
  notice(said, kind);
  if (isNew) say(said);
}

/** Wait until it is time to ask again, and say so. A click or a network that is back ends the wait. */
function pause(signal, slug, seconds) {
  const said = `${WAITS[slug] ?? "The server is busy."} Trying again in ${counted(seconds, "second")}.`;
  notBefore = performance.now() + seconds * 1000;
  reads(false);
  notice(said, "warn", "Try now");
  say(said);
  return new Promise((resolve, reject) => {
    const end = (settled) => {
      clearTimeout(alarm);
      removeEventListener("online", waiter);
      waiter = null;
      settled();
    };
    waiter = () => end(() => {
      notBefore = 0;
      notice("");
      resolve();
    });
    const alarm = setTimeout(waiter, seconds * 1000);
    addEventListener("online", waiter);
    signal.addEventListener("abort", () => end(() => reject(signal.reason)), { once: true });
  });
}

/** `kind`: good, warn or foreign. */
function notice(sentence, kind = "good", button = "") {
  $("notice").hidden = !sentence;
  $("notice").className = `notice ${kind}`;
  $("notice-text").textContent = sentence;
  $("again").hidden = !button;
  $("again").textContent = button;
}

/* ---- wiring ---- */

async function copy() {
  const all = text(), left = edits().length;
  try {
    await navigator.clipboard.writeText(all);
  } catch { // not allowed, or a page without TLS from another machine
    const carrier = document.createElement("textarea");
    carrier.value = all;
    document.body.append(carrier);
    carrier.select();
    document.execCommand("copy");
    carrier.remove();
    $("copy").focus();
  }
  const said = left ? `Copied as it is, ${counted(left)} not accepted.` : "Copied.";
  notice(said);
  say(said);
}

$("previous").addEventListener("click", () => go(-1));
$("next").addEventListener("click", () => go(1));
$("accept").addEventListener("click", () => take([open()]));
$("accept-all").addEventListener("click", () => take(edits()));
$("undo").addEventListener("click", takeBack);
$("copy").addEventListener("click", copy);
$("again").addEventListener("click", () => (waiter ? waiter() : check()));
$("forget").addEventListener("click", () => {
  replaceText(view, "");
  view.focus();
  say("Forgotten. Undo brings the text back until this page is closed.");
});
$("examples").addEventListener("click", (event) => {
  const example = event.target.closest("button");
  if (example) replaceText(view, example.textContent);
});
document.addEventListener("keydown", (event) => {
  const isUndo = event.key === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
  if (isUndo && !event.target.closest(".cm-content, input")) {
    event.preventDefault();
    takeBack();
  }
});
draw();
if (text()) check(); // a draft

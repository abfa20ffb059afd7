// The text with its corrections: each is a button in place, which opens a card that says why. By mouse the card comes on
// hovering, by touch on a tap, by keyboard with the focus.

import { hueOf } from "./reasons.js";

const OPEN_MS = 90, CLOSE_MS = 240;
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

/** Always below 100 %: the model is never certain. */
const percent = (confidence) => `${Math.min(99.9, Math.floor(confidence * 1000) / 10)} % sure`;

export class Marks {
  #box; #actions; #edits = []; #open = null; #isPinned = false; #isDrawing = false; #timer; #card; #parts = {};

  /** `actions`: what becomes of an edit, `accept` and `ignore`. */
  constructor(box, actions) {
    this.#box = box;
    this.#actions = actions;
    this.#card = this.#makeCard();
    box.addEventListener("pointerover", (event) => this.#hover(event));
    box.addEventListener("pointerout", (event) => event.pointerType === "mouse" && this.#later(() => this.#leave(), CLOSE_MS));
    box.addEventListener("focusin", (event) => this.#focused(event.target));
    box.addEventListener("focusout", (event) => this.#isInside(event.relatedTarget) || this.#close());
    box.addEventListener("click", (event) => this.#clicked(event));
    box.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("pointerdown", (event) => box.contains(event.target) || this.#close());
    document.addEventListener("keydown", (event) => event.key === "Escape" && !this.hasFocus && this.#close());
  }

  /** Show a text with its edits, and places that were not read. What had the focus keeps it. */
  draw(text, edits, unread) {
    const active = document.activeElement, held = this.#edits[this.#indexOf(active)];
    const open = this.#open && this.#edits[this.#indexOf(this.#open)], isPinned = this.#isPinned;
    this.#close();
    this.#edits = edits;
    const nodes = [];
    let at = 0;
    for (const place of [...edits, ...unread].sort((a, b) => a.start - b.start || a.end - b.end)) {
      if (place.start < at) continue;
      nodes.push(text.slice(at, place.start), place.why ? unreadNode(text, place) : markNode(place, edits.indexOf(place)));
      at = place.end;
    }
    this.#box.replaceChildren(...nodes, text.slice(at));
    const again = open && this.#same(open);
    if (again) this.#show(again, isPinned);
    this.#isDrawing = true; // a card that somebody has closed stays closed
    if (held) (this.#card.contains(active) && again ? active : this.#same(held))?.focus();
    this.#isDrawing = false;
  }

  /** Move the focus to the correction at a place or after it; to the text where none is left. */
  focusNear(place) {
    const next = this.#edits.findIndex((edit) => edit.end >= place);
    (this.#markAt(next < 0 ? this.#edits.length - 1 : next) ?? this.#box).focus();
  }

  get hasFocus() {
    return this.#box.contains(document.activeElement);
  }

  #markAt = (index) => this.#box.querySelector(`[data-edit="${index}"]`);
  #markOf = (target) => target?.closest?.(".mark");
  #indexOf = (target) => Number((this.#markOf(target) ?? (this.#card.contains(target) ? this.#open : null))?.dataset.edit ?? -1);
  #isInside = (target) => this.#card.contains(target) || (target && this.#markOf(target) === this.#open);

  /** The mark of an edit that was drawn before, perhaps at another place. */
  #same({ original, replacement, start }) {
    const [nearest] = this.#edits
      .filter((edit) => edit.original === original && edit.replacement === replacement)
      .sort((a, b) => Math.abs(a.start - start) - Math.abs(b.start - start));
    return this.#markAt(this.#edits.indexOf(nearest));
  }

  #makeCard() {
    const name = make("b"), sure = make("span"), why = make("span", "card-why");
    const accept = make("button", "main", "Accept", key("A")), ignore = make("button", "", "Ignore", key("I"));
    accept.type = ignore.type = "button";
    accept.addEventListener("click", () => this.#act("accept"));
    ignore.addEventListener("click", () => this.#act("ignore"));
    const card = make("div", "card", make("div", "card-head", name, sure), why, make("div", "tools", accept, ignore));
    card.id = "card";
    why.id = "card-why";
    sure.id = "card-sure";
    card.setAttribute("role", "group");
    card.setAttribute("aria-label", "Why");
    this.#parts = { name, sure, why, accept };
    return card;
  }

  #show(mark, isPinned) {
    clearTimeout(this.#timer);
    if (this.#open !== mark) this.#close();
    const edit = this.#edits[mark.dataset.edit];
    this.#open = mark;
    this.#isPinned = isPinned;
    this.#parts.name.textContent = edit.title;
    this.#parts.sure.textContent = percent(edit.confidence);
    this.#parts.why.textContent = edit.explanation;
    this.#card.className = `card ${hueOf(edit.reason)}`;
    mark.setAttribute("aria-expanded", "true");
    mark.setAttribute("aria-controls", "card");
    mark.setAttribute("aria-describedby", "card-why card-sure");
    if (mark.nextSibling !== this.#card) mark.after(this.#card); // so that Tab goes from the mark to its buttons
    this.#place(mark);
  }

  #place(mark) {
    const pane = this.#card.offsetParent?.getBoundingClientRect();
    if (!pane) return mark.scrollIntoView({ block: "center" }); // on a phone the style sheet puts it at the foot
    const at = mark.getBoundingClientRect(), { offsetWidth: width, offsetHeight: height } = this.#card;
    const left = Math.max(12, Math.min(at.left - pane.left, pane.width - width - 12));
    const isBelow = at.bottom + height + 12 < innerHeight || at.top < height + 12;
    this.#card.style.left = `${left}px`;
    this.#card.style.top = `${(isBelow ? at.bottom + 6 : at.top - height - 6) - pane.top}px`;
  }

  #close() {
    clearTimeout(this.#timer);
    const mark = this.#open;
    if (!mark) return;
    this.#open = null; // first: what is removed with the focus in it loses the focus, which comes here again
    this.#isPinned = false;
    mark.setAttribute("aria-expanded", "false");
    mark.removeAttribute("aria-controls");
    mark.removeAttribute("aria-describedby");
    this.#card.remove();
  }

  #later(action, ms) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(action, ms);
  }

  #hover(event) {
    const mark = this.#markOf(event.target);
    if (event.pointerType !== "mouse" || this.#isPinned) return;
    if (mark) this.#later(() => this.#show(mark, false), OPEN_MS);
    else if (this.#card.contains(event.target)) clearTimeout(this.#timer);
  }

  #leave() {
    if (!this.#isPinned && !this.#isInside(document.activeElement)) this.#close();
  }

  #focused(target) {
    const mark = this.#markOf(target);
    if (mark && mark !== this.#open && !this.#isDrawing && mark.matches(":focus-visible")) this.#show(mark, false);
  }

  #clicked(event) {
    const mark = this.#markOf(event.target);
    if (!mark) {
      if (!this.#card.contains(event.target)) this.#close();
      return;
    }
    const isByKey = event.detail === 0;
    if (mark === this.#open && this.#isPinned && !isByKey) return this.#close();
    this.#show(mark, true);
    if (isByKey) this.#parts.accept.focus();
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const index = this.#indexOf(event.target);
    if (index < 0) return;
    if (event.key === "Escape" && this.#open) {
      this.#open.focus();
      this.#close();
    } else if (STEPS[event.key]) this.#markAt(index + STEPS[event.key])?.focus();
    else if (event.key === "a") this.#act("accept", index);
    else if (event.key === "i") this.#act("ignore", index);
    else return;
    event.preventDefault();
  }

  #act(what, index = this.#indexOf(this.#open)) {
    const edit = this.#edits[index];
    if (edit) this.#actions[what](edit);
  }
}

const key = (name) => {
  const node = make("kbd", "", name);
  node.setAttribute("aria-hidden", "true");
  return node;
};

const unseen = (text) => make("span", "unseen", text);

function markNode(edit, index) {
  const words = make("span");
  if (edit.original) words.append(make("del", "", edit.original), " ");
  words.append(unseen(!edit.original ? "insert " : edit.replacement ? "becomes " : "goes"));
  if (edit.replacement) words.append(make("ins", "", edit.replacement));
  const mark = make("button", `mark ${hueOf(edit.reason)}`, words, unseen(", "), make("span", "why", edit.title));
  mark.type = "button";
  mark.dataset.edit = index;
  mark.setAttribute("aria-expanded", "false");
  return mark;
}

function unreadNode(text, place) {
  const words = make("mark", "unread", text.slice(place.start, place.end));
  return make("span", "", words, make("span", "unread-why", `Not read: ${place.why}`));
}

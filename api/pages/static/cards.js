// The list of corrections and notes, next to the text. The open one shows its explanation and its buttons. On a phone only the
// open one is shown, at the bottom of the screen.

import { hueOf } from "./reasons.js";

const MOST_SHOWN = 60; // characters of what was not checked; the line has room for fewer
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const NOTES = { "not-english": "Not English", "too-long": "Not read" };

export function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

/** How often such corrections are right, in words. */
const chance = (confidence) => `Right in ${Math.min(9, Math.round(10 * confidence))} of 10 such cases.`;

const becomes = ({ replacement }) => (replacement ? "becomes " : "goes");

const titleOf = (place) => place.title ?? NOTES[place.code];

/** A place in words, for screen readers. */
export const spoken = (place) =>
  place.code ? `${titleOf(place)}. ${place.detail}` : `${place.original} ${becomes(place)}${place.replacement}. ${place.explanation}`;

export class Cards {
  #list; #actions; #drawn = [];

  /** `actions`: `open(place)`, null for none; `step(by)`; `accept(place)`; `ignore(place)`; `leave()`, back to the text. */
  constructor(list, actions) {
    this.#list = list;
    this.#actions = actions;
    list.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Whether the focus is in the list. */
  get hasFocus() {
    return this.#list.contains(document.activeElement);
  }

  /** An item that shows the same as before stays the same element: a new one would lose the click whose press came before it. */
  draw(places) {
    this.#places = places;
    const { children } = this.#list, drawn = places.map(({ start, end, ...shown }) => JSON.stringify(shown)), isFocused = this.hasFocus;
    while (children.length > places.length) children[places.length].remove();
    drawn.forEach((shown, index) => {
      if (index === children.length) this.#list.append(this.#item(places[index], index));
      else if (shown !== this.#drawn[index]) children[index].replaceWith(this.#item(places[index], index));
    });
    this.#drawn = drawn;
    if (isFocused && !this.hasFocus) this.focus();
  }

  /** Move the focus to the open card; to the text where none is open. */
  focus() {
    const card = this.#list.querySelector(".open");
    if (card) card.querySelector(".tools button").focus();
    else this.#actions.leave();
  }

  /** Scroll the list so that the open card is level with its place, which is at `top` of the screen. */
  align(top) {
    const card = this.#list.querySelector(".open");
    if (!card) return;
    const { offsetTop, offsetHeight } = card, { clientHeight } = this.#list;
    this.#list.scrollTop = Math.max(offsetTop - Math.max(0, top - this.#list.getBoundingClientRect().top), offsetTop + offsetHeight - clientHeight);
  }

  #places = [];

  #item(place, index) {
    const words = make("span", "words");
    if (place.code) words.append(make("ins", "", titleOf(place)));
    else {
      words.append(make("del", "", place.original), " ", make("span", "unseen", becomes(place)));
      if (place.replacement) words.append(make("ins", "", place.replacement));
    }
    const line = this.#button("line", () => this.#actions.open(place.isOpen ? null : this.#places[index]), words);
    line.append(make("span", "unseen", ", "), make("span", "why", place.code ? place.original.slice(0, MOST_SHOWN) : titleOf(place)));
    line.setAttribute("aria-expanded", place.isOpen);
    const item = make("li", `${hueOf(place)}${place.isOpen ? " open" : ""}`, line);
    if (place.isOpen) item.append(this.#card(place, index));
    return item;
  }

  #card(place, index) {
    const act = (what) => () => this.#actions[what](this.#places[index]);
    const tools = make("div", "tools");
    if (!place.code) tools.append(this.#button("main", act("accept"), "Accept", key("A")));
    tools.append(this.#button("", act("ignore"), "Ignore", key("I")), this.#button("close", () => this.#actions.leave(), "Close"));
    const why = make("p", "card-why", place.explanation ?? place.detail);
    if (!place.code) why.append(" ", make("span", "sure", chance(place.confidence)));
    const card = make("div", "card", why, tools);
    card.setAttribute("role", "group");
    card.setAttribute("aria-label", "Why");
    return card;
  }

  #button(className, act, ...children) {
    const button = make("button", className, ...children);
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const open = this.#places.find((place) => place.isOpen);
    if (STEPS[event.key]) this.#actions.step(STEPS[event.key]);
    else if (event.key === "Escape") this.#actions.leave();
    else if (event.key === "a" && open && !open.code) this.#actions.accept(open);
    else if (event.key === "i" && open) this.#actions.ignore(open);
    else return;
    event.preventDefault();
  }
}

function key(name) {
  const node = make("kbd", "", name);
  node.setAttribute("aria-hidden", "true");
  return node;
}

// The editor: CodeMirror with the corrections as marks in the writer's own text. It holds places and decisions, and every
// decision is a step of its history, so that Ctrl+Z takes it back. A place is an edit or a note of the server's
// answer; it moves along with the text, and goes when the text at it is changed.

import {
  Decoration, EditorView, StateEffect, StateField, history, historyKeymap, invertedEffects, isolateHistory, keymap, placeholder, standardKeymap,
} from "./codemirror.js";
import { hueOf } from "./reasons.js";
import { signature } from "./text.js";

const setPlaces = StateEffect.define(), setOpen = StateEffect.define();
const decide = StateEffect.define(); // `accepted`, a number; `ignored`, signatures; `by`: 1, and -1 where it is taken back
const IN_VIEW = 60; // px above and below an open place: the lines around it

const isSame = (one, other) =>
  one.start === other?.start && one.end === other.end && one.replacement === other.replacement && one.code === other.code;
const opened = (places, open) => places.map((place) => ({ ...place, isOpen: isSame(place, open) }));

const moved = (places, changes) => places
  .filter(({ start, end }) => !changes.touchesRange(start, end))
  .map((place) => ({ ...place, start: changes.mapPos(place.start), end: changes.mapPos(place.end) }));

const marks = (state) => Decoration.set(placesOf(state).filter(({ start, end }) => start < end).map((place) =>
  Decoration.mark({ tagName: "mark", class: `mark ${hueOf(place)}${place.isOpen ? " open" : ""}` }).range(place.start, place.end)), true);

const places = StateField.define({
  create: () => [],
  update(value, { changes, effects }) {
    let now = changes.empty ? value : moved(value, changes);
    for (const effect of effects) {
      if (effect.is(setPlaces)) now = opened(effect.value, now.find((place) => place.isOpen));
      if (effect.is(setOpen)) now = opened(now, effect.value);
    }
    return now;
  },
  provide: (field) => EditorView.decorations.compute([field], marks),
});

const decisions = StateField.define({
  create: () => ({ accepted: 0, ignored: new Set() }),
  update(value, { effects, changes }) {
    let kept = 0;
    changes.iterGaps((before, after, length) => (kept += length));
    if (!kept) value = { accepted: 0, ignored: new Set() }; // another text
    for (const { value: { accepted, ignored, by } } of effects.filter((effect) => effect.is(decide))) {
      const after = new Set(value.ignored);
      ignored.forEach((one) => (by > 0 ? after.add(one) : after.delete(one)));
      value = { accepted: value.accepted + by * accepted, ignored: after };
    }
    return value;
  },
});

const takenBack = invertedEffects.of(({ effects }) =>
  effects.filter((effect) => effect.is(decide)).map(({ value }) => decide.of({ ...value, by: -value.by })));

export const placesOf = (state) => state.field(places);
export const decisionsOf = (state) => state.field(decisions);
export const isDecision = ({ effects }) => effects.some((effect) => effect.is(decide));
export const isOpening = ({ effects }) => effects.some((effect) => effect.is(setOpen) && effect.value);

/** `about` has: `parent`, `text`, `ignored`, signatures; `update(update)`, called after each; `next()`, for its key; `margins()`, in px, of what covers the text. */
export function createEditor({ parent, text, ignored = [], update, next, margins }) {
  return new EditorView({
    parent,
    doc: text,
    extensions: [
      places, decisions.init(() => ({ accepted: 0, ignored: new Set(ignored) })), takenBack, history(),
      keymap.of([
        { key: "Mod-Enter", run: () => (next(), true) },
        { key: "Escape", run: (view) => openPlace(view, null) },
        ...historyKeymap, ...standardKeymap,
      ]),
      EditorView.lineWrapping,
      placeholder("Type or paste a text, or choose an example below."),
      EditorView.contentAttributes.of({
        id: "text", "aria-labelledby": "text-name", "aria-describedby": "keys", lang: "en",
        spellcheck: "true", autocorrect: "on", autocapitalize: "sentences",
      }),
      EditorView.updateListener.of(update),
      EditorView.scrollMargins.of(margins),
      EditorView.domEventHandlers({
        mousedown: (event, view) => { // a tap opens the card, and not a keyboard above it
          const place = placeAt(view, event.target);
          return Boolean(place && !place.isOpen && matchMedia("(pointer: coarse)").matches);
        },
        click: (event, view) => {
          openPlace(view, placeAt(view, event.target));
        },
      }),
    ],
  });
}

function placeAt(view, node) {
  const mark = node.closest?.(".mark");
  if (!mark) return null;
  const at = view.posAtDOM(mark);
  return placesOf(view.state).find(({ start, end }) => start <= at && at < end);
}

/** What the server found in the text as it is now, in its order. */
export function showPlaces(view, found) {
  view.dispatch({ effects: setPlaces.of(found) });
}

/** Open a place and bring it into view; none with null. Whether that changed anything. */
export function openPlace(view, place) {
  const isChange = !isSame(place ?? {}, placesOf(view.state).find((one) => one.isOpen) ?? {});
  const effects = [setOpen.of(place)];
  if (place) effects.push(EditorView.scrollIntoView(place.start, { y: "nearest", yMargin: IN_VIEW }));
  if (isChange || place) view.dispatch({ effects });
  return isChange;
}

/** The place after one of all, or with -1 before it; the first follows the last. */
export function neighbour(all, place, step = 1) {
  const at = all.findIndex((one) => isSame(one, place));
  return all.length > 1 || !place ? all.at((at + step) % all.length) : null;
}

function decideOn(view, chosen, what, changes) {
  const alike = placesOf(view.state).filter(({ code }) => !code === !chosen[0].code); // a note does not follow a correction
  const next = chosen.length > 1 ? null : neighbour(alike, chosen[0]);
  const [after] = next ? moved([next], changes) : [];
  view.dispatch({
    changes,
    effects: [decide.of({ accepted: 0, ignored: [], by: 1, ...what }), setOpen.of(after)],
    annotations: isolateHistory.of("full"),
    userEvent: "input.decide",
  });
  if (after) openPlace(view, after);
}

/** Put corrections into the text, as one step; after a single one the next correction opens. */
export function accept(view, chosen) {
  const changes = view.state.changes(chosen.map(({ start, end, replacement }) => ({ from: start, to: end, insert: replacement })));
  decideOn(view, chosen, { accepted: chosen.length }, changes);
}

/** Leave a correction or a note out from now on. */
export function ignore(view, place) {
  decideOn(view, [place], { ignored: [signature(view.state.doc.toString(), place)] }, view.state.changes([]));
}

/** Another text in place of the whole, as one step. */
export function replaceText(view, insert) {
  view.dispatch({
    changes: { from: 0, to: view.state.doc.length, insert },
    selection: { anchor: insert.length },
    annotations: isolateHistory.of("full"),
    userEvent: "input.paste",
  });
}

// "You often miss": the server counts a learner's mistakes under a random id, if somebody asks for it: reasons and verbs, never
// text. Accepting a correction is what counts, once; a mistake that is seen at every pause is not. The id and a name, which
// goes nowhere, are kept in this browser until all is forgotten.

import { fetchWithKey } from "./key.js";
import { make } from "./marks.js";
import { hueOf } from "./reasons.js";
import { correct } from "./service.js";
import { paragraphs, sentences } from "./text.js";

const KEPT = "miniserve.learner";
const MOST = 5; // reasons shown
const EXAMPLES = {
  irregular_past: "He *goed* -> *went* to school.",
  irregular_participle: "She has *writed* -> *written* it.",
  past_not_participle: "I *seen* -> *saw* him yesterday.",
  regular_past_spelling: "He *stoped* -> *stopped* the car.",
  ing_spelling: "She is *writeing* -> *writing*.",
  third_person_spelling: "She *watchs* -> *watches* TV.",
  singular_agreement: "She *go* -> *goes* home.",
  plural_agreement: "They *goes* -> *go* home.",
  be_agreement: "We *was* -> *were* late.",
  base_after_do: "He didn't *went* -> *go*.",
  base_after_modal: "She can *swims* -> *swim*.",
  base_after_to: "I want to *went* -> *go*.",
  perfect_participle: "He has *went* -> *gone*.",
  passive_participle: "The letter *was wrote* -> *was written* by Tom.",
  ing_after_be: "They are *play* -> *playing* football.",
  missing_be: "They *singing* -> *are singing*.",
  extra_be: "He *was came* -> *came* late.",
  past_tense: "Yesterday I *go* -> *went* home.",
  future_tense: "Tomorrow I *went* -> *will go*.",
  perfect_tense: "I *know* -> *have known* him since 2010.",
  past_not_perfect: "I *have seen* -> *saw* him yesterday.",
  tense_sequence: "He sat down and *opens* -> *opened* it.",
  to_infinitive: "I want *go* -> *to go*.",
  bare_infinitive: "He made me *to cry* -> *cry*.",
  ing_after_preposition: "He left without *say* -> *saying* a word.",
  ing_after_verb: "I enjoy *to read* -> *reading*.",
  no_will_in_clause: "If it *will rain* -> *rains*, we stay.",
  modal_have: "You should *of* -> *have* asked.",
  state_verb: "I *am knowing* -> *know* him.",
  ing_after_to: "I look forward to *see* -> *seeing* you.",
  unreal_past: "I wish I *have* -> *had* a car.",
  habit: "He usually *is playing* -> *plays* tennis.",
  past_perfect: "The train *has left* -> *had left* when we came.",
  do_support: "What *you want* -> *do you want*?",
  question_order: "Why *you didn't* -> *didn't you* come?",
};

export class Learner {
  #list; #id;

  /** `list`: where to show what is missed. Begins with a new id where there is none. */
  constructor(list) {
    this.#list = list;
    const { id = newId(), name = "" } = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
    this.#id = id;
    this.name = name;
  }

  get name() {
    return JSON.parse(localStorage.getItem(KEPT)).name;
  }

  set name(name) {
    localStorage.setItem(KEPT, JSON.stringify({ id: this.#id, name }));
  }

  /** Count the sentences of these corrections; `edits` are all that the page knows of. Whether there was something to count. */
  async accepted(text, chosen, edits) {
    const found = new Set();
    for (const part of paragraphs(text)) {
      for (const piece of sentences(part.text)) {
        const start = part.start + piece.start, end = start + piece.text.length;
        const isInside = (edit) => edit.start >= start && edit.end <= end;
        if (chosen.some((edit) => isInside(edit) && !edit.isCounted)) found.add(piece.text);
        for (const edit of edits) edit.isCounted ||= found.has(piece.text) && isInside(edit);
      }
    }
    if (found.size === 0) return false;
    const giveUp = () => Promise.reject(new Error("not now")); // counts are not worth a wait
    const way = { signal: new AbortController().signal, onOutcome() {}, pause: giveUp, extra: { learner_id: this.#id } };
    return correct([...found], way).then(() => true, () => false);
  }

  async show() {
    const response = await fetchWithKey(`/learners/${this.#id}`).catch(() => null);
    const reasons = response?.ok ? (await response.json()).reasons : [];
    const most = reasons.toSorted((a, b) => b.count - a.count).slice(0, MOST);
    this.#list.replaceChildren(...most.map(item));
    return most.length;
  }

  /** Returns whether the server has forgotten the learner; this browser does in any case. */
  async forget() {
    localStorage.removeItem(KEPT);
    this.#list.replaceChildren();
    const response = await fetchWithKey(`/learners/${this.#id}`, { method: "DELETE" }).catch(() => null);
    return Boolean(response?.ok || [404, 501].includes(response?.status)); // 501: it counts for nobody
  }
}

const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function item({ reason, title, count, verbs }) {
  const name = make("b", hueOf(reason), title);
  const about = `${count}×${verbs?.length ? `: ${verbs.map((verb) => verb.verb ?? verb).join(", ")}` : ""}`;
  const [before, was, becomes, after] = (EXAMPLES[reason] ?? "").split(/\*([^*]+)\* -> \*([^*]+)\*/);
  const example = was ? make("span", "example", before, make("del", "", was), " ", make("ins", "", becomes), after) : "";
  return make("li", hueOf(reason), make("span", "", name, ` ${about}`), example);
}

// "You often miss": the server counts a learner's mistakes under a random id, if somebody asks for it: reasons and verbs, never
// text. Accepting a correction is what counts, once; a mistake that is seen at every pause is not. The id is kept in this
// browser until all is forgotten.

import { fetchWithKey } from "./key.js";
import { make } from "./cards.js";
import { BROWSER, keep, kept } from "./kept.js";
import { hueOf } from "./reasons.js";
import { correct } from "./service.js";
import { paragraphs, sentences } from "./text.js";

const KEPT = "miniserve.learner";
const MOST = 3; // reasons shown
const OFTEN = 2; // mistakes of one reason
const COUNTED_MS = 600; // a count is written within 250 ms of its answer
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

const $ = (id) => document.getElementById(id);

export class Learner {
  #id = null; #say; #sent = new Set();

  /** `say(sentence)` says something to those who hear the page. */
  constructor(say) {
    this.#say = say;
    $("learner-on").addEventListener("change", () => (this.#id ? this.#forget() : this.#begin(newId())));
    const known = kept(BROWSER, KEPT);
    if (known) this.#begin(JSON.parse(known).id);
  }

  #begin(id) {
    this.#id = id;
    this.#sent.clear();
    keep(BROWSER, KEPT, JSON.stringify({ id })); // 1.0 kept a name, too
    this.#show();
  }

  /**
   * Count the corrections that are accepted, and no other. A sentence is sent with its other open `edits` made. A mistake that
   * was ignored stays in it, so it counts only if the server finds in it what was accepted and nothing else.
   */
  async accepted(text, chosen, edits) {
    const id = this.#id, accepted = new Map(), found = [];
    if (!id) return;
    for (const part of paragraphs(text)) {
      for (const piece of sentences(part.text)) {
        const start = part.start + piece.start, end = start + piece.text.length;
        const isInside = (edit) => edit.start >= start && edit.end <= end, mine = chosen.filter(isInside);
        if (mine.length === 0) continue;
        const sentence = edits.filter((edit) => isInside(edit) && !mine.includes(edit)).reduceRight(
          (all, edit) => all.slice(0, edit.start - start) + edit.replacement + all.slice(edit.end - start), piece.text);
        if (!this.#sent.has(sentence)) accepted.set(sentence, wordsOf(mine));
        this.#sent.add(sentence);
      }
    }
    const giveUp = () => Promise.reject(new Error("not now")); // counts are not worth a wait
    const way = { signal: new AbortController().signal, pause: giveUp };
    const compare = (sentence, { places }) => wordsOf(places) === accepted.get(sentence) && found.push(sentence);
    try {
      await correct(accepted.keys(), { ...way, onOutcome: compare });
      if (id !== this.#id) return; // it was turned off meanwhile
      await correct(found, { ...way, onOutcome() {}, extra: { learner_id: id } });
      setTimeout(() => this.#show(), COUNTED_MS);
    } catch { // it counts less than was accepted, never more
    }
  }

  async #show() {
    $("learner-on").checked = Boolean(this.#id);
    const id = this.#id, response = id && await fetchWithKey(`/learners/${id}`).catch(() => null);
    const reasons = response?.ok ? (await response.json()).reasons : [];
    if (id !== this.#id) return; // it was turned off meanwhile
    const most = reasons.filter(({ count }) => count >= OFTEN).toSorted((a, b) => b.count - a.count).slice(0, MOST);
    $("learner-list").replaceChildren(...most.map(item));
    $("learner").hidden = most.length === 0;
  }

  async #forget() {
    const id = this.#id;
    this.#id = null;
    keep(BROWSER, KEPT, "");
    this.#show();
    const response = await fetchWithKey(`/learners/${id}`, { method: "DELETE" }).catch(() => null);
    const isGone = response?.ok || [404, 501].includes(response?.status); // 501: it counts for nobody
    this.#say(isGone ? "Forgotten." : "Forgotten here; the server could not be reached and forgets within 90 days.");
  }
}

const wordsOf = (places) => JSON.stringify(places.map(({ original, replacement }) => [original, replacement]));

const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function item({ reason, title, count, verbs }) {
  const name = make("b", "", title);
  const about = `${count}×${verbs?.length ? `: ${verbs.map((verb) => verb.verb ?? verb).join(", ")}` : ""}`;
  const [before, was, becomes, after] = (EXAMPLES[reason] ?? "").split(/\*([^*]+)\* -> \*([^*]+)\*/);
  const example = was ? make("span", "example", before, make("del", "", was), " ", make("ins", "", becomes), after) : "";
  return make("li", hueOf({ reason }), make("span", "", name, ` ${about}`), example);
}

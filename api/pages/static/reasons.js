// Reasons by family: a family has a colour. A test compares the table with the reasons of the server.

const FAMILIES = {
  agreement: ["singular_agreement", "plural_agreement", "be_agreement"],
  form: ["irregular_past", "irregular_participle", "past_not_participle", "perfect_participle", "passive_participle"],
  tense: [
    "past_tense", "future_tense", "perfect_tense", "past_not_perfect", "tense_sequence", "past_perfect", "unreal_past",
    "no_will_in_clause", "habit", "state_verb",
  ],
  infinitive: ["base_after_do", "base_after_modal", "base_after_to", "to_infinitive", "bare_infinitive", "modal_have"],
  ing: ["ing_after_be", "ing_after_preposition", "ing_after_verb", "ing_after_to"],
  spelling: ["regular_past_spelling", "ing_spelling", "third_person_spelling"],
  be: ["missing_be", "extra_be"],
  order: ["do_support", "question_order"],
};
const FAMILY_OF = new Map(Object.entries(FAMILIES).flatMap(([family, slugs]) => slugs.map((slug) => [slug, family])));

/** The class of the colour of a place; a reason that is newer than this table has a colour of its own. */
export const hueOf = ({ reason, code }) => `hue-${code ?? FAMILY_OF.get(reason) ?? "other"}`;

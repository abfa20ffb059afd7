"""Rules: each finds in a sentence what can be broken, for certain, and adds it to the sentence's view.

forms and adjectives; agreement; base_forms (with questions, contracted); negated_be; complements; tense (with times,
states, perfect, sequence, conditions, will_clauses). Several of them share the forms in wrong_forms.
"""

"""Rules: each finds in a sentence what can be broken, for certain, and adds it to the sentence's view.

forms; agreement; base_forms; negated_be; complements; tense (with times, perfect, states and sequence). They make the
mistakes that prose offers the chance of. Questions, wishes, conditions and habits are broken in the written sentences
alone.
"""

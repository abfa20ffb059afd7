"""Rules: each finds in a sentence what can be broken, for certain, and adds it to the sentence's view.

forms; agreement; base_forms; complements; tense (with times and perfect). They make the mistakes that prose offers the
chance of. Questions, wishes, conditions, states, habits and stories are broken in the written sentences alone.
"""

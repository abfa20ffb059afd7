"""Right sentences that the text has too few of, for the rules to break or to leave alone.

With subjects that are long or hide their number: subjects (with plain and subject_nouns), heavy.
Right ones that look wrong, never broken: hard_clean, fragments.
"""

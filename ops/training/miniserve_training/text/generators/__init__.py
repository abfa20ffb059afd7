"""Right sentences that the text has too few of, for the rules to break or to leave alone.

Made of plain sentences (plain): rewrites and clause_rewrites, subjects (with subject_nouns), verb_frames.
Right ones that look wrong, never broken: hard_clean, fragments.
"""

"""Breaks right sentences the way learners do, with the edits that mend them: the training data of the corrector.

    corpus -> made sentences -> rules -> draw -> surface -> Example

| step | modules |
|---|---|
| right sentences made of plain ones | plain, rewrites, clause_rewrites, subjects (with subject_nouns and the two files of templates), verb_frames (with frame_table), adjectives |
| rules: what of a sentence can be broken, for certain | forms, adjectives, agreement, base_forms (with questions, contracted), negated_be, complements, tense (with times, states, perfect, sequence, conditions, will_clauses, wrong_forms) |
| what rules ask | view (words and subjects of one sentence), lexicon (forms and closed lists) |
| right sentences that look wrong | hard_clean (with its two tables), group_clean, tense_clean, fragments |
| one example | sampling (which reason, verb, sentence), written (with its folder: generated sentences with their mistakes), edits, maker, longer (joined sentences), surface (marks, capitals, quotes), noise (slips outside the verbs) |
"""  # noqa: E501 - a table

from ops.training.corruption.edits import apply_edits
from ops.training.corruption.lexicon import Lexicon
from ops.training.corruption.maker import Example, ExampleMaker

__all__ = ["Example", "ExampleMaker", "Lexicon", "apply_edits"]

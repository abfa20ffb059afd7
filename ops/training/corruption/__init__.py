"""Breaks right sentences the way learners do, with the edits that mend them: the training data of the corrector."""

from ops.training.corruption.lexicon import Lexicon
from ops.training.corruption.maker import Example, ExampleMaker, apply_edits

__all__ = ["Example", "ExampleMaker", "Lexicon", "apply_edits"]

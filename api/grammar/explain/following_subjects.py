"""Finds a subject that follows its verb: "There are many people", "Do the boys like it?"."""

from __future__ import annotations

from collections.abc import Sequence

from api.grammar import word_sets
from api.grammar.explain.noun_phrases import Number, PhraseReader
from api.grammar.explain.subjects import Kind, Subject, judge, quoted
from api.grammar.verb_words import VerbWords, plain


class FollowingSubjectFinder:
    """Reads the words after a verb, up to the next mark. It keeps no state."""

    def __init__(self, words: VerbWords) -> None:
        self._verbs = words
        self._reader = PhraseReader(words)

    def after_there(self, words: Sequence[str], wanted: Number) -> Subject | None:
        """Find the subject in the words after 'there is'."""
        end = next((at for at, word in enumerate(words) if at and plain(word).endswith("ing")), len(words))
        phrase = self._reader.read(words[:end], 0)
        if phrase is None or phrase.plain[0] in word_sets.SUBJECT_PRONOUNS:
            return None
        following = plain(words[phrase.end]) if phrase.end < len(words) else None
        if following == "of" and " ".join(phrase.plain) in word_sets.QUANTITIES:
            whole = self._reader.read(words[:end], phrase.end + 1)
            if whole is None or whole.number is not wanted:
                return None
            return Subject(quoted(words[: whole.end]), Kind.QUANTITY, wanted)
        has_ended = following is None or following in word_sets.AFTER_A_NOUN or following.endswith("ing")
        return judge(phrase, wanted) if has_ended else None

    def in_question(self, words: Sequence[str], auxiliary: str, wanted: Number) -> Subject | None:
        """Find the subject in the words after the auxiliary that begins a question."""
        if not words:
            return None
        if plain(words[0]) in word_sets.SUBJECT_PRONOUNS or words[0][0].isupper():
            return self._name(words, wanted)
        ends = [end for end in (2, 3) if end <= len(words) and self._ends_here(words, end, auxiliary)]
        if len(ends) != 1:
            return None
        phrase = self._reader.read(words[: ends[0]], 0)
        return judge(phrase, wanted) if phrase and phrase.end == ends[0] else None

    def _name(self, words: Sequence[str], wanted: Number) -> Subject | None:
        """Read a subject such as Tom, Tom and Mary, or a pronoun."""
        name = self._reader.read(words, 0)
        if name is None or not all(word[0].isupper() for word in name.words):
            name = self._reader.read(words[:1], 0)
        if name is None:
            return None
        if words[name.end : name.end + 1] not in (["and"], ["or"]):
            return judge(name, wanted)
        other = self._reader.read(words[: name.end + 2], name.end + 1)
        if other is None or words[name.end] != "and" or not words[name.end + 1][0].isupper():
            return None
        if wanted is not Number.PLURAL:
            return None
        return Subject(quoted(words[: other.end]), Kind.PAIR, wanted)

    def _ends_here(self, words: Sequence[str], end: int, auxiliary: str) -> bool:
        """Return whether the phrase ends here: the next word is the rest of the verb or cannot belong to a phrase."""
        if end == len(words):
            return auxiliary in word_sets.BE_PARTS
        following = plain(words[end])
        lemmas = self._verbs.lemmas_of(following)
        if auxiliary in word_sets.DO_PARTS:
            return following in lemmas and following not in word_sets.AFTER_A_NOUN
        is_verb = bool(lemmas) and following not in lemmas and not following.endswith("s")
        return is_verb or following in word_sets.AFTER_A_NOUN or following in word_sets.CLOSED_CLASS

"""Finds what stands around the words of a sentence and says nothing of its verbs, so that the model need not read it.

The model is unsure of what follows "Step 2: ", "Thanks, " or "**". It gets blanks instead; places stay as they are.
"""

from __future__ import annotations

import re

_SUBJECT = r"(?i:he|she|it|we|they|you|i|there|the|this|these|that|those|an?|my|your|his|her|our|their)\b"
_MARK = (  # of a list, a number, a time, who is addressed, a tag: "- ", "2) ", "[10:32 AM] ", "10:32 ", "@tom, ", "<p>"
    r"(?:(?:[-*+>#\u2022\u2013\u2014]+|\(?(?:\d{1,3}[.):]|\d[\d.]{0,9}\.\d{1,3}(?= [A-Z])|[A-Za-z]\)|[ivx]{1,4}[.)])"
    r"|\[[ xX]\]|\[[\d:. -]{1,20}:\d\d(?: [AP]M)?\]|@\w+[,:]|#[a-z]\w*)\s+"
    r"|\d{1,2}:\d\d(?: [AP]M)?\s+(?=[-A-Z])|<[a-z]\w{0,9}>)*"
)
_NAME = (  # "Q: ", "Step 2: ", "Mary Ann Smith: ", "mary: "; not "Left: a man reading", "Today: We go"
    r"(?:\(?(?!(?i:yesterday|today|tomorrow|last|this|next|since|every|now)\b)"
    r"(?:[A-Z][\w.]{0,20}(?: (?:[A-Z][\w.]{0,20}|\d{1,3})){0,2}|[a-z]\w{1,20}):\s+(?=\W?[A-Z]))?"
)
_GREETING = r"(?:P\.? ?S\.?:? |(?:Hi|Hello|Hey|Dear)(?: \w{1,20}){0,3},\s+(?!(?:who|which|that|and|or)\b))?"
# Before a subject: "And we", "I think that the"; not "But for him", "So tired".
_JOINING = "and|but|so|or|yet|then|also|ok|btw|i (?:think|believe|know|hope|feel|guess|am sure) that|i think"
# "Also, look"; none that says when.
_OPENING = (
    "also|however|anyway|besides|moreover|furthermore|therefore|nevertheless|consequently|actually|unfortunately|luckily"
    "|honestly|personally|obviously|apparently|hopefully|finally|secondly|thanks|sorry|ok|okay|btw|fyi|yes|no|well|oh|sir"
    "|guys|in fact|of course|in addition|in conclusion|in short|in general|in other words|in my opinion|for example"
    "|for instance|for this reason|as a result|as you know|as far as i know|if you ask me|first of all|by the way"
    "|to be honest|on the other hand|after all|that said"
)
_LABEL = re.compile(rf"\s*{_MARK}{_NAME}{_GREETING}(?:(?i:{_JOINING}),? (?={_SUBJECT})|(?i:{_OPENING}), )?(?=\S)")
_EMPHASIS = (  # "<b>is</b>", "**is**", "_is_", "[is](https://a.b)"; not "<file>", "2 * 3 * 4", "snake_case"
    re.compile(r"(?:</?(?:[abiu]|em|strong|mark|span|small|p|li|br)>|\n[ \t]*(?:>+|[*#]|//)(?=\s))()()()"),
    re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]*)(?<=\S)(\1)(?![\w*])"),
    re.compile(r"(?<!\w)(_)(?=[^\s_])([^_]*)(?<=\S)(_)(?!\w)"),
    re.compile(r"(\[)([^\[\]]+)(\]\([^()\s]+\))"),
)
_MARKS = re.compile(r"[*_<\[\n]")
_ITALICS = re.compile(r"(?<![\w*])([*_])(?=[^\s*_])[^*_]*(?<=\S)\1(?![\w*])")


def end_of_label(sentence: str) -> int:
    """Return where the sentence begins behind the mark of a list, a number, the name of a speaker, a greeting.

    >>> end_of_label("1. He go home."), end_of_label("Mary: And he go home."), end_of_label("He go home.")
    (3, 10, 0)
    """
    found = _LABEL.match(sentence)
    return found.end() if found else 0


def without_emphasis(sentence: str) -> str:
    """Return the sentence with blanks for marks of emphasis and links; all other code points keep their places.

    >>> without_emphasis("He **are** late.")
    'He   are   late.'
    """
    if _may_have_marks(sentence):
        for kind in _EMPHASIS:
            sentence = kind.sub(_blanked, sentence)
    return sentence


def is_marked(sentence: str, start: int, end: int) -> bool:
    """Return whether marks of emphasis stand in [start, end), or italics around it, as of a word that is named.

    >>> is_marked("The form *goed* is wrong.", 10, 14), is_marked("He **goed** home.", 5, 9)
    (True, False)
    """
    if not _may_have_marks(sentence):
        return False
    if without_emphasis(sentence)[start:end] != sentence[start:end]:
        return True
    spans = (found.span() for found in _ITALICS.finditer(sentence))
    return any(first < start and end < last and last - first < len(sentence.strip()) for first, last in spans)


def _may_have_marks(sentence: str) -> bool:
    return _MARKS.search(sentence) is not None


def _blanked(found: re.Match[str]) -> str:
    opening, inside, closing = found.groups()
    return " " * len(opening) + inside + " " * len(closing) if opening else " " * len(found[0])

"""Finds what stands around the words of a sentence and says nothing of its verbs, so that the model need not read it.

The model is unsure of what follows "Step 2: ", "Thanks, " or "**". It gets blanks instead; places stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SUBJECT = r"(?i:he|she|it|we|they|you|i|there|the|this|these|that|those|an?|my|your|his|her|our|their)\b"
_MARK = (  # of a list, a number, a time, who is addressed: "- ", "2) ", "[10:32 AM] ", "10:32 ", "@tom, "
    r"(?:(?:[-*+>#\u2022\u2013\u2014]+|\(?(?:\d{1,3}[.):]|\d{1,3}(?:\.\d{1,3}){2,4}|[A-Za-z]\)|[ivx]{2,4}[.)])"
    r"|\[[ xX]\]|\[[\d:. -]{1,20}:\d\d(?: [AP]M)?\]|@\w+[,:])\s+"
    r"|(?:\d{1,2}:\d\d(?: [AP]M)?|#[a-z]\w*)\s+(?=[-A-Z]))*"
)
_NAME = (  # "Q: ", "Step 2: ", "Mary Ann Smith: ", "mary: "; not "Left: a man reading", "Today: We go"
    r"(?:\(?(?!(?i:yesterday|today|tomorrow|last|this|next|since|every|now)\b)"
    r"(?:[A-Z][\w.]{0,20}(?: (?:[A-Z][\w.]{0,20}|\d{1,3})){0,2}|[a-z]\w{1,20}):\s+(?=\W?[A-Z]))?"
)
_GREETING = r"(?:P\.? ?S\.?:? |(?:Hi|Hello|Hey|Dear)(?: \w{1,20}){0,3},\s+(?!(?:who|which|that|and|or)\b))?"
# Before a subject: "And we", "I think that the"; not "But for him", "So tired", "And you happy?".
_JOINING = (
    "and|but|so(?! that)|or|yet|also|ok|btw|i (?:think|believe|know|hope|feel|guess|am sure) that"
    "|i think(?= (?:he|she|we|they|i) )"
)
# "Also, look"; none that says when.
_OPENING = (
    "also|however|anyway|besides|moreover|furthermore|therefore|nevertheless|consequently|actually|unfortunately|luckily"
    "|honestly|personally|obviously|apparently|hopefully|finally|secondly|thanks|sorry|ok|okay|btw|fyi|yes|no|well|oh|sir"
    "|guys|in fact|of course|in addition|in conclusion|in short|in general|in other words|in my opinion|for example"
    "|for instance|for this reason|as a result|as you know|as far as i know|if you ask me|first of all|by the way"
    "|to be honest|on the other hand|after all|that said"
)
_LABEL = re.compile(
    rf"\s*{_MARK}{_NAME}{_GREETING}(?:(?i:{_JOINING}),? (?={_SUBJECT})(?![^.!?]*[!?])|(?i:{_OPENING}), )?(?=\S)"
)
_EMPHASIS = (  # "<b>is</b>", "**is**", "_is_", "[is](https://a.b)"; not "<file>", "2 * 3 * 4", "snake_case"
    re.compile(r"(?P<opens><(?P<tag>[biu]|em|strong|mark)>)(?P<inside>[^<]*)(?P<closes></(?P=tag)>)"),
    re.compile(r"(?<![\w*])(?P<opens>\*{1,3})(?=[^\s*])(?P<inside>[^*]*)(?<=\S)(?P<closes>(?P=opens))(?![\w*])"),
    re.compile(r"(?<!\w)(?P<opens>_)(?=[^\s_])(?P<inside>[^_]*)(?<=\S)(?P<closes>_)(?!\w)"),
    re.compile(r"(?P<opens>\[)(?P<inside>[^\[\]]+)(?P<closes>\]\([^()\s]+\))"),
)
_TAG = re.compile(r"</?(?:[abiu]|em|strong|mark|span|small|p|li|br|h\d|div|td|th)>|\n[ \t]*(?:>+|[*#]|//)(?=\s)")
_MARKS = re.compile(r"[*_<\[\n]")


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
    if _MARKS.search(sentence) is None:
        return sentence
    for kind in _EMPHASIS:
        sentence = kind.sub(_blanked, sentence)
    return _TAG.sub(lambda found: " " * len(found[0]), sentence)


def _blanked(found: re.Match[str]) -> str:
    return f"{' ' * len(found['opens'])}{found['inside']}{' ' * len(found['closes'])}"


def emphasized(sentence: str) -> Iterator[re.Match[str]]:
    """Yield what marks of emphasis stand around, with the groups 'opens', 'inside' and 'closes'."""
    for kind in _EMPHASIS:
        yield from kind.finditer(sentence)

"""Finds code in a sentence: names of functions and files, options, commands.

What looks like a verb there is part of a name, and a name is one thing: "If max_rows [are] set", "[getting]_name()".
"""

from __future__ import annotations

import re

from api.grammar import word_sets
from api.grammar.proposals import Proposal
from api.grammar.surface import is_in_capitals
from api.grammar.surroundings.context import Context

_LONGEST = 60  # characters of a token that are read
_BEFORE = re.compile(r"[_$\\@#=+*<{`~^|/]$|--$|\w[.:]$|::$")
_BEHIND = re.compile(r"[_(=\\+*<{`~^|@$#]|\.[A-Za-z]|-\d|::")
_PROMPT = "$ "
_ONCE = (word_sets.BE_PARTS | word_sets.HAVE_PARTS | word_sets.DO_PARTS) - {"had"}
# "the tests in helpers.js": of another subject.
_OF_ANOTHER = re.compile(r"\b(?:in|of|from|by|with|for|on|at|to|and|or) (?:the |an? |our |my |your |its )?$", re.I)
# The token in front of a verb: `name`, max_rows, run(), --all, Node.js, name=value.
_NAME = re.compile(r"(?:^|[\s(])(?:\S*[_`=\\]\S*|\S*\(\)|--?\w\S*|[\w-]+[.@]\w[\w.]*[a-z]|[A-Z]{2,})$")
_NAME_IN_CAPITALS = re.compile(r"(?:^|[\s(])(?!US$)(?:[A-Z]{1,2}S|[B-DF-HJ-NP-TV-XZ]+)$")  # OS, DNS, but TVS, too


def is_in_code(sentence: str, edit: Proposal) -> bool:
    """Return whether the edited word is part of a token of code, or of a command behind a prompt."""
    before = sentence[max(0, edit.start - 2) : edit.start]
    is_part = _BEFORE.search(before) is not None or _BEHIND.match(sentence, edit.end) is not None
    return is_part or sentence.startswith(_PROMPT)


def doubles_a_word(context: Context) -> bool:
    """Return whether an auxiliary would stand there twice: "He [has] has gone". Not "had had"."""
    first, last = (context.edit.replacement[at].lower() for at in (0, -1))
    return (first in _ONCE and context.before[-1:] == [first]) or (last in _ONCE and context.after[:1] == [last])


def is_of_code(context: Context) -> bool:
    """Return whether the subject is a name of code, which is one: "If max_rows [are] set", "The DNS [have]"."""
    text = context.text_before.rstrip()[-_LONGEST:]
    name = (_NAME_IN_CAPITALS if is_in_capitals(context.sentence) else _NAME).search(text)
    is_singular = context.edit.replacement[0].lower() in ("is", "was", "isn't", "wasn't")
    return name is not None and not is_singular and _OF_ANOTHER.search(text, 0, name.start() + 1) is None

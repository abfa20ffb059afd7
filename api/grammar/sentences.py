"""Cuts a text into sentences.

The model reads one sentence at a time, so a text is cut before it is tokenized. Nothing is thrown away: a sentence is a
pair of offsets into the text, and the white space between two sentences belongs to neither. In doubt there is no cut:
the model corrects two sentences read as one almost as well, but not half a sentence. docs/adr/0005 says why no library
does this (0005-sentences-by-rules-of-our-own.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# A line break, or a run of marks (also ". . ." and "? !"), what closes quotations and brackets, and emoji that comment
# on the sentence. It begins with a plain set of characters, so that the search is fast, and always matches from
# there on, so that it is linear.
_SYMBOL = "(?:[\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]|[:;]-?[()DP](?!\\w))"
_CANDIDATE = re.compile(
    rf"[\n.!?\u2026](?:(?<=\n)(?P<break>\s*)"
    rf"|(?:[ ]?[.!?\u2026])*(?P<closers>[\"'\u201d\u2019\u00bb)\]}}]*)(?:[ ]?{_SYMBOL})*(?P<gap>\s*))"
)
_NEXT_WORD = re.compile(r"[\"'\u201c\u2018\u00ab(\[{\u00bf\u00a1]*([^\W\d_]+|\d+|)")
_ENUMERATOR = re.compile(r"[\"'\u201c(\[#]*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})\Z")
_LIST_ITEM = re.compile(r"(?:[-*\u2022\u2013\u2014]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
_INITIALISM = re.compile(r"(?:[A-Z]|[A-Za-z](?:\.[A-Za-z]{1,2})+)\Z")
# "At 5 p.m. I left.", "In the U.S. I saw it.": the sentence has only begun.
_BEGINNING = re.compile(
    r"(?:at|in|on|from|by|until|till|since|before|after|around|about|every|yesterday|today|tomorrow)\b"
    r"(?: [\w:]+){0,3} (?:[a-z]\.)+[a-z]\Z",
    re.IGNORECASE,
)
_ATTRIBUTION = re.compile(
    r"(?:I|(?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z]\w+(?: [A-Z]\w+)?|The \w+) "
    r"(?:said|says|sayed|asked|asks|cried|shouted|replied|answered|whispered|thought|yelled|called|added|explained)\b"
)
_ALPHANUMERIC = re.compile(r"[^\W_]")
_LONGEST_TOKEN = 40  # characters looked at in front of a mark
_LONGEST_BRACKET = 150
_LONGEST_ENUMERATOR = 8
_LONGEST_BEGINNING = 40
_PAUSE_AFTER = 256  # marks and line breaks, some 0.5 ms; a text may hold 40,000
_OPENERS = "\"'\u201c\u2018\u00ab([{#"
_HALF_LINE = (
    *(",", ";", "-", "\u2013", "\u2014", "&"),
    *(" a", " an", " the", " my", " your", " our", " their", " and", " or", " but", " if", " because", " of", " than"),
)
_WRAPPED_LINE = 50  # characters; a line as long as this may have been broken by a program, in mid-sentence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never at the end of a sentence.
_NEVER_LAST = _words(
    "Mr Mrs Ms Dr Prof Messrs mr mrs ms dr prof MR MRS MS DR PROF Mme Mlle Fr Gen Col Capt Cpt Sgt Lt Cpl Maj Cmdr Adm "
    "Rev Hon Pres Gov Sen Rep Mt Ft vs e.g E.g i.e I.e cf Cf viz resp esp P.S approx Approx ca"
)
# Not at the end where a number follows; months and days neither where a small letter does.
_NUMBERED = _words("No no Nos nos p P pp Fig fig Figs figs ch Ch chap Chap vol Vol sec Sec eq Eq Ex Art art pg Tel tel")
_DATES = _words("Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun")
# At the end only where the next word opens a sentence, as far as spelling shows.
_RARELY_LAST = _words(
    "St Ave Rd Blvd Inc Ltd Co Corp Bros Jr Sr Esq Univ Dept dept gen gov govt Govt al est Est min max incl excl misc "
    "abbr orig avg adj adv Nr Ph.D Ph ft lb lbs oz hrs mins sq tsp tbsp "
    "apt Apt temp"
)
_AFTER_A_TIME = _words(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August "
    "September October November December Eastern Pacific Central EST EDT CET CEST GMT UTC PST PDT CST MST BST ET PT"
)
_OPENS_A_SENTENCE = _words(
    "The A An This That These Those There Here He She It We You They I My Your His Her Its Our Their Mine "
    "And But Or So Yet Then Now Also However Therefore Although Though Because Since If When While After Before Until "
    "As At By For From In On To With Without Who What Where Why How Which Whose Whom Yes No Not Please Do Does Did "
    "Is Are Was Were Has Have Had Can Could Would Should Might Must Let Every Each Some Many Most All Both "
    "One Two Once Today Yesterday Tomorrow Everyone Everybody Someone Somebody Nobody Nothing Everything Maybe Perhaps "
    "Don Doesn Didn Isn Aren Wasn Weren Never Often Sometimes Finally First Later Next Soon Thanks Thank"
)
_GOES_ON = _words("and or but nor is was are were has had will would can could of in on at to for with by as than said")


def go_on() -> None:
    """Pause for nobody: for those who have nothing else to do."""


def find_sentences(text: str, pause: Callable[[], None] = go_on) -> Iterator[tuple[int, int]]:
    """Yield the offsets (start, end) of the sentences in order, without white space at their ends.

    A text without any word is one sentence, and blank text is none. A piece without a letter or digit ("...", a lone
    emoji) goes with the sentence before it, at the beginning of the text with the one after it. `pause` is called now
    and then, so that a caller with other work can do it.
    """
    end = len(text.rstrip())
    start = len(text) - len(text.lstrip())
    first_word = _ALPHANUMERIC.search(text, start)
    sentence: tuple[int, int] | None = None  # it may go on
    for number, match in enumerate(_CANDIDATE.finditer(text, start, end) if first_word else (), start=1):
        if match.end() == end:
            break
        if number % _PAUSE_AFTER == 0:
            pause()
        cut = match.start() if match["gap"] is None else match.start("gap")
        # In front of the first word nothing is cut: to look for a word at each mark there would take quadratic time.
        if first_word and cut > first_word.start() and _is_boundary(text, start, match):
            piece_end = start + len(text[start:cut].rstrip())
            if sentence is not None and not _ALPHANUMERIC.search(text, start, piece_end):
                start = sentence[0]
            elif sentence is not None:
                yield sentence
            sentence, start = (start, piece_end), match.end()
    if sentence is None or _ALPHANUMERIC.search(text, start, end):
        if sentence is not None:
            yield sentence
        if start < end:
            yield start, end
    else:
        yield sentence[0], end


def _is_boundary(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether the sentence that begins at `start` ends at this mark or line break."""
    gap, at = match["gap"], match.start()
    if gap is None:
        return _line_ends(text, start, match)
    if not gap and not ((text[at - 1].islower() or text[at - 1] == " ") and text[match.end()].isupper()):
        return False  # within a number, an address, an abbreviation
    word = _next_word(text, match.end())
    mark = text[at : match.start("closers")]
    token = _token_before(text, start, at)
    if not gap:
        return _ends_without_space(mark, token, word)
    if "\n" in gap and (gap.count("\n") > 1 or _LIST_ITEM.match(text, match.end())):
        return True
    closers = match["closers"]
    if closers and (word[:1].islower() or _ATTRIBUTION.match(text, match.end())):
        return False  # "Stop!" he said
    if ")" not in closers and _is_in_brackets(text, start, at):
        return False
    if mark == "." and at - start < _LONGEST_ENUMERATOR and _ENUMERATOR.match(text[start:at]):
        return False  # "1. Buy milk."
    if mark == "." and at - start < _LONGEST_BEGINNING and _BEGINNING.match(text[start:at]):
        return False
    return _mark_ends(mark, token, word)


def _mark_ends(mark: str, token: str, word: str) -> bool:
    """Tell by the words on its two sides whether a mark with white space behind it ends the sentence."""
    is_lower = word[:1].islower()
    if "?" in mark:
        return True
    if "!" in mark:
        return not (is_lower and word in _GOES_ON)
    if mark != ".":  # an ellipsis
        return bool(word) and not is_lower and word != "I"
    return _period_ends(token, word, is_lower)


def _period_ends(token: str, word: str, is_lower: bool) -> bool:
    """Return whether a period ends the sentence; it may belong to an abbreviation."""
    if token in _NEVER_LAST or word == "of":  # "the no. of", "a tbsp. of"
        return False
    if token in _NUMBERED and word[:1].isdigit():
        return False
    if token in _DATES:
        return not (is_lower or word[:1].isdigit())
    if token.lower() in ("a.m", "p.m"):
        return not (is_lower or word in _AFTER_A_TIME)
    if token == "etc":
        return not is_lower
    if token in _RARELY_LAST or _INITIALISM.match(token):
        return word in _OPENS_A_SENTENCE
    return True


def _ends_without_space(mark: str, token: str, word: str) -> bool:
    """Return whether the writer forgot the blank: "home.She", "home .She". An address or a number is no such case."""
    is_word = len(token) > 1 and token.isalpha() and token[1:].islower()
    if not is_word or token in _NEVER_LAST or token in _RARELY_LAST:
        return False
    return "." not in mark or word in _OPENS_A_SENTENCE


def _line_ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Return whether a line without a mark ends a sentence: before a blank line, in a list, short before a capital."""
    if "\n" in match["break"] or _LIST_ITEM.match(text, match.end()):
        return True
    line = text[max(start, text.rfind("\n", start, match.start()) + 1) : match.start()].rstrip()
    if len(line) >= _WRAPPED_LINE or line.endswith(_HALF_LINE):
        return False
    return _next_word(text, match.end())[:1].isupper()


def _next_word(text: str, at: int) -> str:
    """Return the word or number behind opening quotes and brackets, or nothing."""
    match = _NEXT_WORD.match(text, at)
    assert match is not None  # it matches nothing, too
    return match[1]


def _token_before(text: str, start: int, at: int) -> str:
    words = text[max(start, at - _LONGEST_TOKEN) : at].rsplit(maxsplit=1)
    return words[-1].lstrip(_OPENERS) if words else ""


def _is_in_brackets(text: str, start: int, at: int) -> bool:
    first = max(start, at - _LONGEST_BRACKET)
    opened = text.rfind("(", first, at)
    return opened > text.rfind(")", first, at) and text[opened - 1 : opened] not in (":", ";", "-")  # no :-(

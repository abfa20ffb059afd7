"""Where a text is cut into sentences: what ends one, what only looks like it, and that nothing is ever lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.grammar.sentences import find_sentences

ALL = 1_000_000
GRIN = "\U0001f600"


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text, ALL)]


# One text a row, its sentences apart by "|"; where no blank stands beside the bar, none stands in the text.
ENDS = [
    "He goed home. | She came.",
    "He goed home! | She came? | Yes.",
    "i goed home. | then i sleeped. | and you? | no",
    "HE GOED HOME. | SHE STAYED. | MR. SMITH CAME.",
    "Really?! | Yes!! | No??? | Who? | Me? ! | Yes",
    "He goed home . | She stayed .",
    "It was 5. | He left. | I am 5. | 6 is more.",
    "It costs 3.50 euros. | That is 2.5 times more.",
    "It was I. | He goed. | You and I. | We goed.",
    "The sun. | The moon. | We sat. | He stood in the sun. | He is from Jan. | No. | I said no. | He left.",
    "I live in the U.S. | It is big. | Is it in the U.S.? | Yes.",
    "We met at 5 p.m. | She was late. | We met at 6 a.m. | Tom was late.",
    "On Monday he left home at 5 p.m. | I stayed. | In 2010 we moved to the U.S. | It is big.",
    "We have apples, pears, etc. | They are good.",
    "He works at Apple Inc. | He has a Ph.D. | She has none.",
    "He lives in Main St. | It is long.",
    "I know a Mr. Smith. | He met Martin Luther King Jr. | He died.",
    "Well... | He goed home. | Well\u2026 | She stayed. | Wait . . . | He came. | Yes.. | No",
    "He said \u201cStop.\u201d | She left. | He said \"yes\". | He said 'no.' | They left.",
    "\u201cCome here!\u201d | \u201cNo!\u201d | He left.",
    "He said: \u201cI goed home. | I sleeped.\u201d | Then he left.",
    "\"I know,\" he said. | \"You do.\"",
    "(He goed home.) | She stayed (at home). | He left.",
    f"Hello {GRIN}! | How are you? {GRIN} | Fine. {GRIN}{GRIN} | He is sad. :) | She is not.{GRIN} | And I?",
    "He goed home.|She came.|Then they left!|How are you?|I am fine",
    "He came .|She left !|They stayed . | I use .NET.",
    "He left :( She stayed. | They came :-( I cried. | We left.",
    "Visit www.example.com. | It is fine. | See http://a.b/c?d=e.f#g. | Good.",
    "\u00bfQue? | \u00a1No! | \u00c9l\u00e9a goed. | \u00c0 nous.",
    "He goed home.  |  She stayed.\t|\tAnd I?\u00a0|\u00a0Yes.",
]  # fmt: skip

GOES_ON = [
    "He goed home", "He goed home.", "He goed to school ", "...", "?!", GRIN, "  He goed  home.  ",
    "Mr. Smith goed to Dr. Brown and Mrs. Jones of St. Mary Street.", "Gen. Lee and Capt. Hook met Prof. Dr. Miller.",
    "J. R. R. Tolkien, J.R.R. Tolkien, George W. Bush and John F. Kennedy.",
    "The U.S. Army and the U.K. government, e.g. in Washington, D.C. and L.A. Airport.",
    "At 5 p.m. I goed home.", "Every day at 7 a.m. Tom gets up.", "In the U.S. I saw it.",
    "Yesterday at 5 p.m. She left.", "The no. of students is high.",
    "Add a tbsp. of sugar, esp. brown sugar.", "Ex. 1 is in apt. 5.", "P.S. I left.",
    "We meet at 5 p.m. on Monday.", "We meet at 5 p.m. Monday.", "It is 3 p.m. EST now.",
    "He came at 10 a.m. and left.",
    "He said \"Stop!\" and left.", "He said 'Stop!' and left.", "\u201cStop!\u201d he said.", "\"Who?\" she asked.",
    "\u201cWhere are you?\u201d Tom asked.", "'Are you sure?' the man said.", "\"Stop!\" I cried.",
    "\"No!\" Mr. Smith said.", "Dr. J. May and Dr. W. Will left at 3 p.m. Eastern time.",
    "Pi is 3.14159 and 1,000.5 is more.", "Version 2.0.1 of Node.js and Asp.Net is in file.txt now.",
    "Write to a.b@example.co.uk or to www.example.com/A.B?C=d.E, please.",
    "He came on Jan. 5, on Mon. in Sept. 1990, cf. p. 5, ch. 3, vol. 2, fig. 7 and No. 1.",
    "Smith et al. have shown it, i.e. Tom vs. Jerry, approx. 5 min. long.",
    "Bring apples, etc. to the party.", "He works at Apple Inc. in Paris with Mr. Smith Jr. today.",
    "Wait... I forgot it.", "I don't know\u2026 maybe he goed ... home . . . again.",
    "He goed (really!) home.", "He goed home (she stayed. He knew it.) and sleeped.",
    "I like (e.g. this one.) and that.", "He goed (she stayed with all of her friends. He knew it) home.",
    "I like Dr.Who.", "He stopped... - and left.",
    "Yahoo! is a company.", "1. Buy milk.", "(1) He goed.", "II. He goed.", "a) He goed.", "A. He goed.",
    "#1. He goed.",
]  # fmt: skip

LINES = [
    ("He goed home.\nShe came.", ["He goed home.", "She came."]),
    ("He goed home\nShe have a dog\r\nThey was here", ["He goed home", "She have a dog", "They was here"]),
    ("He goed home.\r\n\r\nshe stayed", ["He goed home.", "she stayed"]),
    ("My day\n\nI goed home.", ["My day", "I goed home."]),
    ("My day\n \t\n i goed home.", ["My day", "i goed home."]),
    ("We met the\nSmiths and\nTom", ["We met the\nSmiths and\nTom"]),
    ("This is a long line that\nwas wrapped by hand.", ["This is a long line that\nwas wrapped by hand."]),
    ("Two lines that some program has wrapped in the middle, with\nTom in front. He left.",
     ["Two lines that some program has wrapped in the middle, with\nTom in front.", "He left."]),
    ("Dear Tom,\n\nI goed home.\n\nYours,\nAnn", ["Dear Tom,", "I goed home.", "Yours,\nAnn"]),
    ("- apples\n- pears\n* plums\n\u2022 nuts", ["- apples", "- pears", "* plums", "\u2022 nuts"]),
    ("1. Buy milk.\n2. Buy eggs\n3) sleep\na) eat", ["1. Buy milk.", "2. Buy eggs", "3) sleep", "a) eat"]),
    ("1. He goed. 2. She goed.", ["1. He goed.", "2. She goed."]),
    ("We met Mr.\nSmith at 5 p.m.\nin town", ["We met Mr.\nSmith at 5 p.m.\nin town"]),
    ("\n\n He goed.\n\n\nShe came \n\n", ["He goed.", "She came"]),
    (f"{GRIN}\n\nHe goed home.", [f"{GRIN}\n\nHe goed home."]),
    (f"He goed home\n\n...\n\nShe came {GRIN}", ["He goed home\n\n...", f"She came {GRIN}"]),
]  # fmt: skip


@pytest.mark.parametrize("row", ENDS)
def test_a_sentence_ends_at_its_mark(row: str) -> None:
    parts = row.split("|")

    assert cut("".join(parts).replace("  ", " ")) == [part.strip() for part in parts]


@pytest.mark.parametrize("text", GOES_ON)
def test_not_every_mark_ends_a_sentence(text: str) -> None:
    assert cut(text) == [text.strip()]


@pytest.mark.parametrize(("text", "sentences"), LINES)
def test_blank_lines_lists_and_short_lines_end_sentences_and_wrapped_lines_do_not(
    text: str, sentences: list[str]
) -> None:
    assert cut(text) == sentences


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\t \u00a0"])
def test_blank_text_has_no_sentence(text: str) -> None:
    assert find_sentences(text, ALL) == []


_PIECES = st.sampled_from(
    ["He goed", "she", "I", "Mr", "etc", "p.m", "U.S", "5", "3.5", ".", "!", "?", "...", "\u2026", " ", "  ", "\n",
     "\r\n", "\n\n", '"', "'", "\u201c", "\u201d", "(", ")", "[", "]", ",", ":)", GRIN, "- ", "1. ", "a) ",
     "\u00a0", "@", "/"]
)  # fmt: skip


@given(st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join)))
def test_the_pieces_and_the_white_space_between_them_are_the_text(text: str) -> None:
    places = find_sentences(text, ALL)

    rebuilt, done = "", 0
    for start, end in places:
        assert text[done:start].isspace() or done == start
        assert text[start:end] and text[start:end] == text[start:end].strip()
        rebuilt += text[done:start] + text[start:end]
        done = end
    assert rebuilt + text[done:] == text
    assert text[done:].isspace() or done == len(text)


@pytest.mark.parametrize(("most", "found"), [(1, 2), (2, 3), (3, 4), (4, 4), (9, 4)])
def test_no_more_is_looked_for_than_tells_that_there_are_too_many(most: int, found: int) -> None:
    assert len(find_sentences("... He came. She left. :) They stayed. Good.", most)) == found


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_every_piece_of_several_has_a_letter_or_digit(text: str) -> None:
    pieces = cut(text)

    assert len(pieces) < 2 or all(any(map(str.isalnum, piece)) for piece in pieces)

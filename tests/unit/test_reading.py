"""A text is read without what nobody sees, with one kind of apostrophe, and with one word for a link."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.grammar.correction import Correction, NoteCode
from api.grammar.edit_script import EOS_ID, ScriptEdit
from api.grammar.reasons import Reason
from tests.corrections import PIPELINE, TOKENIZER, conclude_text

MENDED = {
    "goed": ("went", Reason.PAST_IRREG), "waited": ("waiting", Reason.BE_ING), "don't": ("doesn't", Reason.SVA_SG),
    "was": ("were", Reason.SVA_BE),
}  # fmt: skip
SHY, ZWSP = "\u00ad", "\u200b"
UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff\u200e\u202a\u202c\u2066\ufe0f\u034f\u061c\u180e\U000e0020"
OF_A_WORD = UNSEEN[:6]
SENTENCES = st.lists(
    st.sampled_from(
        ["He goed home. ", "They\u00a0was \t waited, too! ", "He don't know it.\r\n\n", "He\u2003goed 3.5 km (or so). ",
         "\U0001f44d\U0001f3fd Is \u00abhe\u00bb well-known?", "\u201cTom\u2019s caf\u00e9,\u201d he said. ", "\n\t"]
    ),
    min_size=1, max_size=5,
)  # fmt: skip


def mend(text: str) -> Correction:
    """A text in which each of these words is mended, as by a perfect model."""
    draft, outputs = PIPELINE.prepare_text(text), []
    sentences = draft.take()
    for sentence in sentences:
        wrong = [(number, MENDED[word]) for number, word in enumerate(sentence.prompt.words) if word in MENDED]
        outputs.append(TOKENIZER.encode_output([ScriptEdit(number, 1, *mended) for number, mended in wrong]))
    PIPELINE.add_answers(draft, zip(sentences, outputs, strict=True))
    return PIPELINE.conclude_text(draft)


def seen(text: str) -> str:
    return re.sub(f"[{UNSEEN}]", "", text)


@given(SENTENCES, st.data())
def test_a_text_with_unseen_characters_in_it_is_corrected_as_without_them(
    pieces: list[str], data: st.DataObject
) -> None:
    clean = "".join(pieces)
    sprinkled = data.draw(st.lists(st.sampled_from(["", "", "", *UNSEEN]), min_size=len(clean), max_size=len(clean)))
    text = "".join(mark + character for mark, character in zip(sprinkled, clean, strict=True))
    expected = mend(clean)

    correction = mend(text)

    applied = text
    for edit in reversed(correction.edits):
        applied = applied[: edit.start] + edit.replacement + applied[edit.end :]
    assert applied == correction.corrected
    assert seen(correction.corrected) == expected.corrected
    assert [edit.original for edit in expected.edits] == re.findall("|".join(MENDED), clean)
    assert (correction.explanation, correction.language) == (expected.explanation, expected.language)
    assert len(correction.edits) == len(expected.edits)
    for edit, other in zip(correction.edits, expected.edits, strict=True):
        assert (edit.replacement, edit.reason) == (other.replacement, other.reason)
        assert (text[edit.start : edit.end], clean[other.start : other.end]) == (edit.original, other.original)
        assert (len(seen(text[: edit.start])), len(seen(text[: edit.end]))) == (other.start, other.end)
        assert text[edit.end] not in OF_A_WORD, "no rest of a word stays beside the new one"
        assert edit.start <= 1 or text[edit.start - 1] not in OF_A_WORD


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        (f"They were wait{SHY}ed for us.", "They were waiting for us."),
        (f"\ufeffHe go{SHY}ed.{ZWSP} They{ZWSP} was{SHY} here.", f"\ufeffHe went.{ZWSP} They{ZWSP} were here."),
        ("He don\u00b4t.", "He doesn\u00b4t."),
        ("He don\u02bct.", "He doesn\u02bct."),
        ("He don\u2032t.", "He doesn\u2032t."),
        ("He don`t.", "He doesn`t."),
        ("He don\uff07t.", "He doesn\uff07t."),
        ("He don\u2018t.", "He doesn\u2018t."),
        ("He don\u2019t.", "He don\u2019t."),  # the test's model knows no curly ones
        ("He goed.\u2028They was late.", "He went.\u2028They were late."),
        ("A well\u2011known man goed.", "A well\u2011known man went."),
    ],
)  # fmt: skip
def test_only_what_is_replaced_changes_and_the_writer_keeps_the_apostrophe(text: str, corrected: str) -> None:
    assert mend(text).corrected == corrected


@pytest.mark.parametrize("text", ["\u201che`s `quoted`", "\u00b4", "90\u2032", "\u02bc", "", SHY, "`a` `b`", "\u2060"])
def test_what_is_no_apostrophe_and_what_is_no_text_stays_as_it_is(text: str) -> None:
    correction = conclude_text(text, [[EOS_ID]])

    assert (correction.corrected, correction.edits, correction.notes) == (text, (), ())


LINKS = [
    "https://example.com/a?b=c#d", "HTTP://EXAMPLE.COM/", "www.example.com", "me.too@mail.example.com", "@tom",
    "a+b@c.de", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "3f9a8c1b" * 5,
    "https://en.wikipedia.org/wiki/Foo_(bar)_baz", "https://example.com/" + "q7Zx" * 30, "H" + "m" * 150,
]  # fmt: skip


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(
    "form", ["See {} for more.", "Do you know ({}), too?", "\u201c{}\u201d is it", "{}", "I saw {}."]
)
def test_a_link_or_an_address_or_a_token_is_one_word_to_the_model(form: str, link: str) -> None:
    (sentence,) = PIPELINE.prepare_text(form.format(link)).take()
    (named,) = PIPELINE.prepare_text(form.format("London")).take()

    assert sentence.prompt.token_ids == named.prompt.token_ids
    assert link in sentence.prompt.words
    assert [note.code for note in sentence.notes] == [NoteCode.LINK_SKIPPED] * (len(link) > 80)


@pytest.mark.parametrize(
    "text",
    ["and/or e.g. this", "home.she left", "3.5 @ 4", "-" * 60, "." * 60 + " no", "=" * 50, "mother-in-law", "a@b"],
)  # fmt: skip
def test_what_is_no_link_is_read_as_it_stands(text: str) -> None:
    (sentence,) = PIPELINE.prepare_text(text).take()

    assert not sentence.prompt.links


def test_a_link_too_long_for_a_sentence_is_named_where_it_stands() -> None:
    link = "https://example.com/" + "q7Zx" * 30
    text = f"{SHY}See {link}, please. He goed home."

    correction = mend(text)

    assert correction.corrected == text.replace("goed", "went")
    (note,) = correction.notes
    assert (note.code, text[note.start : note.end]) == (NoteCode.LINK_SKIPPED, link)

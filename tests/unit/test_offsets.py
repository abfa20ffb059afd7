"""Offsets of edits count code points of the text as it was sent, whatever stands around the words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from api.grammar.edit_script import ScriptEdit
from api.grammar.language import seems_english
from api.grammar.reasons import Reason
from tests.corrections import PIPELINE, TOKENIZER, mend

MENDED = {
    "goed": ("went", Reason.PAST_IRREG), "writed": ("wrote", Reason.PAST_IRREG),
    "don\u2019t": ("doesn't", Reason.SVA_SG),
}  # fmt: skip
GAPS = st.sampled_from([" ", "  ", "\t", " \t ", "\n", "\r\n", "\u00a0", "\u2003", " \u2014 ", ", "])
JUNK = st.sampled_from(
    ["\U0001f600", "\U0001f469\u200d\U0001f4bb", "\U0001f44d\U0001f3fd", "\U0001f1eb\U0001f1f7", "\u2764\ufe0f",
     "\u201c", "\u2019", "\u00ab", "...", "\n", "\t", ""]
)  # fmt: skip
WORDS = st.sampled_from(
    ["he", "Tom", "caf\u00e9", "e\u0301te\u0301", "well-known", "goed", "writed", "don\u2019t", "3.5"]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    words = draw(st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=8))
    return draw(JUNK) + "".join(word + gap for word, gap in words).rstrip() + draw(JUNK)


@given(texts())
def test_edits_stand_in_order_where_their_words_stand_and_applied_by_a_client_give_the_corrected_text(
    text: str,
) -> None:
    correction = mend(PIPELINE, text, MENDED)

    corrected = text
    for edit in reversed(correction.edits):
        corrected = corrected[: edit.start] + edit.replacement + corrected[edit.end :]
        assert text[edit.start : edit.end] == edit.original
        assert MENDED[edit.original][0].replace("'", "\u2019") == edit.replacement
    assert corrected == correction.corrected
    english = [draft for draft in PIPELINE.prepare_text(text).sentences if seems_english(draft.sentence)]
    words = [word for draft in english for word in draft.prompt.words]
    assert [edit.original for edit in correction.edits] == [word for word in words if word in MENDED]
    assert all(one.end <= other.start for one, other in zip(correction.edits, correction.edits[1:], strict=False))


def test_an_edit_of_two_words_keeps_the_white_space_between_them() -> None:
    for gap in (" ", "  ", "\t", "\n", "\u00a0", " \t "):
        text = f"\U0001f469\u200d\U0001f4bb They was{gap}write \U0001f1eb\U0001f1f7"
        draft = PIPELINE.prepare_text(text)
        output = TOKENIZER.encode_output([ScriptEdit(1, 2, "were written", Reason.PASSIVE_PART)])

        (edit,) = PIPELINE.conclude_text(draft, [output]).edits

        assert (text[edit.start : edit.end], edit.replacement) == (f"was{gap}write", f"were{gap}written")

"""Offsets of edits count code points of the text as it was sent, whatever stands around the words."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from api.grammar.correction import Correction
from api.grammar.drafts import TextDraft
from api.grammar.edit_script import EOS_ID, ScriptEdit
from api.grammar.language import seems_english
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from tests.fake_tokenizer import FakeTokenizer

TOKENIZER = FakeTokenizer()
PIPELINE = TextPipeline(TOKENIZER, VerbTable.load())
MENDED = {"goed": "went", "writed": "wrote", "don\u2019t": "doesn\u2019t", "caf\u00e9": None, "e\u0301te\u0301": None}

GAPS = st.sampled_from([" ", "  ", "\t", " \t ", "\n", "\r\n", "\u00a0", "\u2003", " \u2014 ", ", "])
JUNK = st.sampled_from(
    [
        "\U0001f600",
        "\U0001f469\u200d\U0001f4bb",  # a woman and a computer joined to one
        "\U0001f44d\U0001f3fd",  # with a skin tone
        "\U0001f1eb\U0001f1f7",  # a flag of two letters
        "\u2764\ufe0f",
        "\u201c",
        "\u2019",
        "\u00ab",
        "...",
        "\n",
        "\t",
        "",
    ]
)
WORDS = st.sampled_from(
    ["he", "Tom", "caf\u00e9", "e\u0301te\u0301", "well-known", "goed", "writed", "don\u2019t", "3.5"]
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    words = draw(st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=8))
    return draw(JUNK) + "".join(word + gap for word, gap in words).rstrip() + draw(JUNK)


def mend(text: str) -> tuple[TextDraft, Correction]:
    """Every mistake mended, as a perfect model would."""
    draft = PIPELINE.prepare_text(text)
    outputs = []
    for sentence in draft.sentences:
        words = enumerate(sentence.prompt.words)
        found = [(number, MENDED.get(word)) for number, word in words]
        reasons = {new: Reason.SVA_SG if new and new.startswith("does") else Reason.PAST_IRREG for _, new in found}
        edits = [ScriptEdit(number, 1, new.replace("\u2019", "'"), reasons[new]) for number, new in found if new]
        outputs.append(TOKENIZER.encode_output(edits) if edits else [EOS_ID])
    return draft, PIPELINE.conclude_text(draft, outputs)


@given(texts())
def test_each_edit_says_where_its_words_stand_in_the_text_as_sent(text: str) -> None:
    _, correction = mend(text)

    for edit in correction.edits:
        assert text[edit.start : edit.end] == edit.original
        assert MENDED[edit.original] == edit.replacement


@given(texts())
def test_the_edits_applied_by_a_client_give_the_corrected_text(text: str) -> None:
    _, correction = mend(text)

    corrected = text
    for edit in reversed(correction.edits):
        corrected = corrected[: edit.start] + edit.replacement + corrected[edit.end :]
    assert corrected == correction.corrected


@given(texts())
def test_edits_come_in_order_and_none_is_lost(text: str) -> None:
    draft, correction = mend(text)
    assume(all(seems_english(sentence.sentence) for sentence in draft.sentences))  # in others no edit is made

    words = [word for sentence in draft.sentences for word in sentence.prompt.words]
    assert [edit.original for edit in correction.edits] == [word for word in words if MENDED.get(word)]
    assert all(one.end <= other.start for one, other in zip(correction.edits, correction.edits[1:], strict=False))


def test_an_edit_of_two_words_keeps_the_white_space_between_them() -> None:
    for gap in (" ", "  ", "\t", "\n", "\u00a0", " \t "):
        text = f"\U0001f469\u200d\U0001f4bb They was{gap}write \U0001f1eb\U0001f1f7"
        draft = PIPELINE.prepare_text(text)
        output = TOKENIZER.encode_output([ScriptEdit(1, 2, "were written", Reason.PASSIVE_PART)])

        (edit,) = PIPELINE.conclude_text(draft, [output]).edits

        assert (text[edit.start : edit.end], edit.replacement) == (f"was{gap}write", f"were{gap}written")

"""The filter: no line lost, split only at newlines; one answer for each line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from api.grammar.correction import Correction
from api.grammar.edit_script import EOS_ID, ScriptEdit
from api.grammar.reasons import Reason
from ops.run.offline import OfflineCorrector, _line, as_document, lines_of
from scheduler.errors import InvalidRequest, RequestFailed, SentenceTooLong
from scheduler.messages import Completion, Delivery, FinishReason
from tests.corrections import PIPELINE, TOKENIZER


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n\n", [b"a", b""]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\x0bb\x0cc\x85d\xe2\x80\xa8e\n", [b"a\x0bb\x0cc\x85d\xe2\x80\xa8e"]),
        (b"x" * 100_000 + b"\n" + b"y\n" * 50_000, [b"x" * 100_000, *[b"y"] * 50_000]),
    ],
)
def test_lines_end_at_newlines_only_and_no_more_are_held_than_memory_is_meant_for(
    written: bytes, expected: list[bytes], tmp_path: Path
) -> None:
    (tmp_path / "lines").write_bytes(written)

    with (tmp_path / "lines").open("rb") as file:
        taken = list(lines_of(file.fileno()))

    assert [line for lines in taken for line in lines] == expected
    assert max(map(len, taken), default=0) <= 32_768


class FakeEngine:
    """Finishes the newest sequence first, one a step; fails the sequences whose turn of acceptance is in `failing`."""

    def __init__(self, failing: tuple[int, ...] = (), outputs: Mapping[int, Sequence[int]] | None = None) -> None:
        self._waiting: list[Completion] = []
        self._failing = failing
        self._outputs = outputs or {}  # by turn of acceptance, where it is more than <eos>
        self._num_accepted = 0
        self.policy = self  # all that a corrector asks of it is whether there is work

    @property
    def has_work(self) -> bool:
        return bool(self._waiting)

    def accept(self, delivery: Delivery) -> None:
        self._num_accepted += 1
        reason = FinishReason.ERROR if self._num_accepted in self._failing else FinishReason.STOP
        output = tuple(self._outputs.get(self._num_accepted, (EOS_ID,)))
        self._waiting.append(Completion(delivery.request.request_id, reason, output))

    def step(self) -> list[Completion]:
        return [self._waiting.pop()]


def _correct(engine: FakeEngine, *lines: str) -> list[object]:
    return list(OfflineCorrector(PIPELINE, engine).correct(map(str.encode, lines)))


def test_each_sentence_gets_its_own_answer_whichever_is_finished_first() -> None:
    went = TOKENIZER.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])

    (outcome,) = _correct(FakeEngine(outputs={1: went}), "He goed. She goed. They goed.")

    assert outcome.corrected == "He went. She goed. They goed."


def test_a_line_of_which_one_sentence_fails_or_is_refused_is_an_error_and_the_others_are_not() -> None:
    lines = ["Go home.", "He came. She left.", "word " * 65 + ".", "Yes. " * 65, "No. No.  No. No "]

    outcomes = _correct(FakeEngine(failing=(3,)), *lines)

    assert outcomes[-1].corrected == lines[-1]
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [Correction, RequestFailed, SentenceTooLong, InvalidRequest, Correction]


def test_a_blank_line_is_answered_as_it_is_in_words_and_in_json() -> None:
    blanks = ["", "  ", "\u00a0"]

    outcomes = _correct(FakeEngine(), "He came.", *blanks, "She left.")

    assert [_line(outcome, as_json=False) for outcome in outcomes[1:-1]] == blanks
    documents = [as_document(outcome) for outcome in outcomes]
    assert documents == [json.loads(_line(outcome, as_json=True)) for outcome in outcomes]
    assert [document["corrected"] for document in documents] == ["He came.", *blanks, "She left."]


@pytest.mark.parametrize("end_of_line", ["\u2028", "\u2029", "\u0085"])
def test_an_answer_in_json_is_one_line_to_every_reader_of_lines(end_of_line: str) -> None:
    correction = Correction(f"He came.{end_of_line}She left.", (), "", 0)

    (line,) = _line(correction, as_json=True).splitlines()

    assert json.loads(line)["corrected"] == correction.corrected

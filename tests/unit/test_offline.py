"""The filter: no line lost, split only at newlines, nothing waited for without need; one answer for each line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

import pytest

from api.grammar.correction import Correction
from api.grammar.edit_script import EOS_ID, ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from ops.run.offline import MAX_PENDING, OfflineCorrector, StreamLines, _line, as_document
from scheduler.errors import InvalidRequest, RequestFailed, SentenceTooLong
from scheduler.messages import Completion, Delivery, FinishReason
from tests.fake_tokenizer import FakeTokenizer


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)


def _read_all(lines: StreamLines) -> list[bytes]:
    found = []
    while not lines.is_over:
        found += lines.take(wait=True)
    return found


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\n", [b"a", b""]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\x0bb\x0cc\x85d\n", [b"a\x0bb\x0cc\x85d"]),
        ("a\u2028b\n".encode(), ["a\u2028b".encode()]),
        (b"\n", [b""]),
    ],
)
def test_lines_end_at_newlines_only(pipe: tuple[int, int], written: bytes, expected: list[bytes]) -> None:
    reader, writer = pipe
    os.write(writer, written)
    os.close(writer)

    assert _read_all(StreamLines(reader)) == expected


def test_without_waiting_only_what_is_there_is_taken(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    lines = StreamLines(reader)

    nothing_yet = lines.take(wait=False)
    os.write(writer, b"one\ntwo\nhal")
    two = lines.take(wait=False)
    os.write(writer, b"f\n")
    half = lines.take(wait=True)
    os.close(writer)

    assert (nothing_yet, two, half) == ([], [b"one", b"two"], [b"half"])


def test_a_line_longer_than_one_read_stays_one_line(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    code = f"import os; os.write({writer}, b'x' * 300_000 + b'\\n')"  # from outside: a pipe holds less than this line
    child = subprocess.Popen([sys.executable, "-c", code], pass_fds=[writer])
    os.close(writer)

    assert [len(line) for line in _read_all(StreamLines(reader))] == [300_000]
    assert child.wait() == 0


class FakeEngine:
    """Finishes the newest sequence first, one a step; fails the sequences whose turn of acceptance is in `failing`."""

    def __init__(self, failing: tuple[int, ...] = (), outputs: Mapping[int, Sequence[int]] | None = None) -> None:
        self._waiting: list[Completion] = []
        self._failing = failing
        self._outputs = outputs or {}  # by turn of acceptance, where it is more than <eos>
        self._num_accepted = 0
        self.most_waiting = 0
        self.policy = self  # all that a corrector asks of it is whether there is work

    @property
    def has_work(self) -> bool:
        return bool(self._waiting)

    def accept(self, delivery: Delivery) -> None:
        self._num_accepted += 1
        reason = FinishReason.ERROR if self._num_accepted in self._failing else FinishReason.STOP
        output = tuple(self._outputs.get(self._num_accepted, (EOS_ID,)))
        self._waiting.append(Completion(delivery.request.request_id, reason, output))
        self.most_waiting = max(self.most_waiting, len(self._waiting))

    def step(self) -> list[Completion]:
        return [self._waiting.pop()]


class ListedLines:
    """A few lines at a time."""

    def __init__(self, *lines: str) -> None:
        self._left = list(lines)

    @property
    def is_over(self) -> bool:
        return not self._left

    def take(self, wait: bool) -> list[bytes]:
        return [self._left.pop(0).encode() for _ in range(min(8, len(self._left)))]


def _correct(engine: FakeEngine, *lines: str, tokenizer: FakeTokenizer | None = None) -> list[object]:
    corrector = OfflineCorrector(TextPipeline(tokenizer or FakeTokenizer(), VerbTable.load()), engine)
    return list(corrector.correct(ListedLines(*lines)))


def test_each_line_has_one_answer_in_order_however_many_sentences_it_has() -> None:
    lines = ["He came.", "He came. She left.  They stayed ", "Yes", "No. No. No. No."]

    outcomes = _correct(FakeEngine(), *lines)

    assert [outcome.corrected for outcome in outcomes] == lines


def test_each_sentence_gets_its_own_answer_whichever_is_finished_first() -> None:
    tokenizer = FakeTokenizer()
    went = tokenizer.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])

    (outcome,) = _correct(FakeEngine(outputs={1: went}), "He goed. She goed. They goed.", tokenizer=tokenizer)

    assert outcome.corrected == "He went. She goed. They goed."


def test_a_line_of_which_one_sentence_fails_or_is_refused_is_an_error_and_the_others_are_not() -> None:
    lines = ["Go home.", "He came. She left.", "word " * 65 + ".", "Yes. " * 65, "Yes"]

    outcomes = _correct(FakeEngine(failing=(3,)), *lines)

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


def test_no_more_sentences_are_read_ahead_than_memory_is_meant_for() -> None:
    engine = FakeEngine()

    outcomes = _correct(engine, *["He came. She left. They stayed. " * 20] * 100)

    assert len(outcomes) == 100
    assert engine.most_waiting < MAX_PENDING + 8 * 60, "the bound, and what one reading brings"


def test_a_batch_of_texts_gets_an_outcome_each_in_order():
    outcomes = OfflineCorrector(TextPipeline(FakeTokenizer(), VerbTable.load()), FakeEngine()).correct_batch(
        ["He goed.", "", "One. Two."]
    )

    assert isinstance(outcomes[1], InvalidRequest)
    assert [outcomes[at].corrected for at in (0, 2)] == ["He goed.", "One. Two."]

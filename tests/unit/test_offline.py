"""The filter: no line lost, split only at newlines; one answer for each line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from api.grammar.correction import Correction
from ops.run.offline import OfflineCorrector, _line, lines_of
from scheduler.errors import BodyTooLarge, RequestFailed
from scheduler.messages import Completion, FinishReason
from scheduler.settings import Settings


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


@pytest.fixture
def corrector() -> OfflineCorrector:
    return OfflineCorrector.load(Settings())


def test_a_line_of_which_one_sentence_fails_is_an_error_and_the_others_get_their_own_answers(
    corrector: OfflineCorrector, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = corrector._engine.step

    def failing() -> list[Completion]:
        """On the second sentence of the first."""
        ended = step()
        return [replace(one, finish_reason=FinishReason.ERROR) if one.request_id == "0-2" else one for one in ended]

    monkeypatch.setattr(corrector._engine, "step", failing)

    outcomes = list(
        corrector.correct_lines([b"She goed. They left.", b"They left because he goed home. It rained.", b"Hi."])
    )

    assert [type(outcome) for outcome in outcomes] == [RequestFailed, Correction, Correction]
    assert outcomes[1].corrected == "They left because he went home. It rained."


def test_a_blank_line_is_answered_as_it_is_in_words_and_in_json(corrector: OfflineCorrector) -> None:
    blanks = ["", "  ", "\u00a0"]

    outcomes = list(corrector.correct_lines([*map(str.encode, blanks)]))

    assert [_line(outcome, as_json=False) for outcome in outcomes] == blanks
    documents = [json.loads(_line(outcome, as_json=True)) for outcome in outcomes]
    assert [document["corrected"] for document in documents] == blanks


@pytest.mark.parametrize("end_of_line", ["\u2028", "\u2029", "\u0085"])
def test_an_answer_in_json_is_one_line_to_every_reader_of_lines(end_of_line: str) -> None:
    correction = Correction(f"He came.{end_of_line}She left.", (), "", 0)

    (line,) = _line(correction, as_json=True).splitlines()

    assert json.loads(line)["corrected"] == correction.corrected


def test_a_text_may_be_as_long_as_a_body_and_no_longer() -> None:
    corrector = OfflineCorrector.load(Settings(max_body_bytes=2_000))
    longest = b"He goed. " * 222

    (corrected,) = corrector.correct([longest])
    (refusal,) = corrector.correct([longest + b"No."])

    assert isinstance(corrected, Correction) and len(corrected.edits) == 222
    assert isinstance(refusal, BodyTooLarge) and "2,001 bytes; at most 2,000" in str(refusal)

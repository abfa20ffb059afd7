"""Messages survive the wire: every field, both directions, and nothing else is accepted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from scheduler.messages import (
    EOS_ID,
    ID_BITS,
    WITHDRAWN_ID,
    Completion,
    CorrectionRequest,
    FinishReason,
    Progress,
    Timings,
    WireError,
)

REQUEST = CorrectionRequest("id1", (70, 2), (1, 0), 32, "abcd", "00-1-2-01")
PROGRESS = Progress("id1", (5, 1))
COMPLETION = Completion("id1", FinishReason.LENGTH, (5, 1), Timings(0.1, 0.2, 0.3), "broken")


@pytest.mark.parametrize("message", [REQUEST, COMPLETION, Completion("id1", FinishReason.STOP), PROGRESS])
def test_a_message_comes_back_equal_after_json(message: CorrectionRequest | Completion | Progress) -> None:
    assert type(message).from_wire(json.loads(json.dumps(message.to_wire()))) == message


VERSION_1 = {
    "version": 1, "request_id": "id1", "prompt_ids": [70, 2], "word_numbers": [1, 0], "max_output_tokens": 32,
    "tokenizer_fingerprint": "abcd", "learner_id": "anna", "traceparent": "00-1-2-01",
}  # fmt: skip


def test_a_request_of_version_1_is_read_and_remembers_its_version() -> None:
    assert CorrectionRequest.from_wire(VERSION_1) == replace(REQUEST, version=1)


@pytest.mark.parametrize("message", [COMPLETION, PROGRESS])
def test_an_answer_can_be_written_and_read_in_version_1(message: Completion | Progress) -> None:
    wire = json.loads(json.dumps(message.to_wire(version=1)))

    assert (wire["version"], wire["output_ids"]) == (1, [5, 1])
    assert type(message).from_wire(wire) == message


@pytest.mark.parametrize("message", [COMPLETION, PROGRESS])
def test_an_answer_in_version_1_has_tokens_without_their_certainty(message: Completion | Progress) -> None:
    certain = replace(message, output_ids=(70 | 9 << ID_BITS, WITHDRAWN_ID))

    assert type(message).from_wire(certain.to_wire()).output_ids == certain.output_ids
    assert certain.to_wire(version=1)["output_ids"] == [70, EOS_ID]


@pytest.mark.parametrize(
    "change",
    [
        {"version": 3}, {"version": 0}, {"version": None}, {"version": "2"},
        {"prompt": "x"}, {"prompt": [70]}, {"words": None}, {"prompt": "QUI!"}, {"prompt": "QUJD"},
    ],
)  # fmt: skip
def test_a_wire_form_that_is_not_ours_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        CorrectionRequest.from_wire(REQUEST.to_wire() | change)


@pytest.mark.parametrize("wire", [[], None, "text", {}])
def test_what_is_no_message_at_all_is_refused(wire: Any) -> None:
    with pytest.raises(WireError):
        Completion.from_wire(wire)
    with pytest.raises(WireError):
        Progress.from_wire(wire)

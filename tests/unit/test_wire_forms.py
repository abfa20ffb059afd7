"""Messages survive the wire: every field, both directions, and nothing else is accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scheduler.messages import (
    Completion,
    CorrectionRequest,
    FinishReason,
    Progress,
    Timings,
    WireError,
)

REQUEST = CorrectionRequest("id1", (70, 2), (1, 0), 32, "abcd")
PROGRESS = Progress("id1", (5, 1))
COMPLETION = Completion("id1", FinishReason.LENGTH, (5, 1), Timings(0.1, 0.2, 0.3), "broken")


@pytest.mark.parametrize("message", [REQUEST, COMPLETION, Completion("id1", FinishReason.STOP), PROGRESS])
def test_a_message_comes_back_equal_after_json(message: CorrectionRequest | Completion | Progress) -> None:
    assert type(message).from_wire(json.loads(json.dumps(message.to_wire()))) == message


@pytest.mark.parametrize(
    "change",
    [
        {"version": 4}, {"version": 2}, {"version": None}, {"version": "3"},
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

"""Long JSON documents are kept and sent in pieces of a bounded size, however many items they have."""

from __future__ import annotations

from api.grammar.sentences import go_on
from api.http.large_documents import EncodedList, fragments_of, large_reply
from api.http.replies import json_reply

STEP_BYTES = 65_536


def test_a_long_list_is_kept_as_its_json_and_not_as_an_object_for_each_item() -> None:
    items, encoded = [{"offset": number} for number in range(20_000)], EncodedList()
    for item in items:
        encoded.append(item)

    fragments = fragments_of({"items": encoded, "none": EncodedList()}, go_on)

    assert b"".join(fragments) == json_reply({"items": items, "none": []}).body
    assert len(fragments) <= encoded.num_bytes / STEP_BYTES + 10


def test_a_large_reply_is_written_in_parts_of_a_bounded_size_with_pauses_between_them() -> None:
    pauses: list[int] = []

    reply = large_reply([b"x" * 25_000] * 100, lambda: pauses.append(1))
    parts = [*reply.body]

    assert b"".join(parts) == b"x" * 2_500_000
    assert max(map(len, parts)) < STEP_BYTES + 25_000
    assert len(pauses) >= len(parts) - 1

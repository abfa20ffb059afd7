"""Places in the text count code points, or UTF-16 code units where a request asks for them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import Level, TextPipeline
from api.grammar.reasons import Reason
from api.kept.routes import body_of
from api.service.body import parse_batch, parse_body
from api.service.corrector import content_of
from api.service.exchange import Exchange
from api.streams.routes import EditStream
from scheduler.errors import InvalidRequest
from scheduler.messages import ID_BITS, Completion, FinishReason
from tests.fake_mailbox import TOKENIZER, VERBS, FakeMailbox

ASTRAL = "We came \U0001f600. He goed home. They are \U0001f600 " + "word " * 70 + "."
UTF16 = {"offsets": "utf16"}


def cut(text: str, place: dict[str, Any]) -> str:
    """What JavaScript's slice(start, end) gives."""
    return text.encode("utf-16-le")[2 * place["start"] : 2 * place["end"]].decode("utf-16-le")


@pytest.mark.parametrize("path", ["/correct", "/correct?offsets=utf16"])
def test_places_count_utf_16_code_units_where_the_body_or_the_query_asks_for_them(
    client: FlaskClient, path: str
) -> None:
    body = {"sentence": ASTRAL} | ({} if "?" in path else UTF16)

    answer = client.post(path, json=body).get_json()

    plain = client.post("/correct", json={"sentence": ASTRAL}).get_json()
    assert [cut(ASTRAL, edit) for edit in answer["edits"]] == ["goed"]
    assert (
        cut(ASTRAL, answer["notes"][0]).startswith("They are \U0001f600 word")
        and answer["notes"][0]["code"] == "too-long"
    )
    assert (answer["edits"][0]["start"], plain["edits"][0]["start"]) == (15, 14)
    assert answer["corrected"] == plain["corrected"]


def test_the_places_of_a_batch_and_of_a_stream_count_them_too(client: FlaskClient, mailbox: FakeMailbox) -> None:
    results = client.post("/correct/batch", json={"sentences": [ASTRAL, "He goed"]} | UTF16).get_json()["results"]
    pipeline = TextPipeline.load()
    draft = pipeline.prepare_text(ASTRAL, offsets="utf16")
    stream = EditStream(pipeline, draft.reading, draft.take())

    streamed = stream.new_edits([Completion("id", FinishReason.STOP, mailbox.output)] * 2)

    assert [result["edits"][0]["start"] for result in results] == [15, 3]
    assert [(edit.start, edit.end) for edit in streamed] == [(15, 19)]


def test_an_answer_that_is_fetched_later_counts_as_its_request_asked() -> None:
    one = parse_body(b'{"sentence": "He goed", "offsets": "utf16"}')
    many = parse_batch(b'{"sentences": ["He goed"]}', b"offsets=utf16")

    for body in (one, many):
        assert (
            body_of(Exchange("id"), content_of(body, [InvalidRequest("sentences", "x")])).offsets
            == "utf16"
            == body.offsets
        )
    assert parse_body(b'{"sentence": "He goed"}', b"offsets=codepoints").offsets == "codepoints"


def test_the_body_counts_more_than_the_query() -> None:
    body = parse_body(b'{"sentence": "He goed", "level": "quiet"}', b"level=picky&offsets=utf16")

    assert (body.level, body.offsets) == ("quiet", "utf16")


# The words around say nothing of this edit: usage does not speak against it.
USED, DRIVING = "I am used to drive", ScriptEdit(4, 1, "driving", Reason.ING_TO)


@pytest.mark.parametrize(("step", "num_quiet", "num_picky"), [(1, 0, 0), (2, 0, 1), (3, 0, 1), (4, 1, 1)])
def test_a_doubtful_edit_is_made_at_the_level_that_asks_for_less(
    client: FlaskClient, mailbox: FakeMailbox, step: int, num_quiet: int, num_picky: int
) -> None:
    *start, tag, end = TOKENIZER.encode_output([DRIVING])
    mailbox.output = (*start, tag | step << ID_BITS, end)

    def num_edits(path: str, **body: Any) -> int:
        answer = client.post(path, json=body).get_json()
        assert answer.get("notes", []) == []
        return len(answer.get("results", [answer])[0]["edits"])

    for level, number in (({}, num_quiet), ({"level": "quiet"}, num_quiet), ({"level": "picky"}, num_picky)):
        assert num_edits("/correct", sentence=USED, **level) == number
        assert num_edits("/correct/batch", sentences=[USED], **level) == number
        assert num_edits(f"/correct?{urlencode(level)}", sentence=USED) == number
    for form, number in (({}, num_quiet), ({"level": "default"}, num_quiet), ({"level": "PICKY"}, num_picky)):
        sent = {"text": USED, "language": "en-US"} | form
        assert len(client.post("/v2/check", data=sent).get_json()["matches"]) == number
    assert client.post("/v2/check", data={"text": "He", "language": "en", "level": "x"}).status_code == 400


@pytest.mark.parametrize(("step", "strictness"), [(15, 20.0), (1, -20.0)])
@pytest.mark.parametrize("level", ["quiet", "picky"])
def test_at_one_end_of_the_strictness_nothing_is_made_and_at_the_other_everything(
    step: int, strictness: float, level: Level
) -> None:
    pipeline = TextPipeline(TOKENIZER, VERBS, strictness=strictness)
    *start, tag, end = TOKENIZER.encode_output([ScriptEdit(1, 1, "went", Reason.PAST_IRREG)])
    (draft,) = pipeline.prepare_text("He goed", level=level).take()

    assert len(pipeline.part(draft, [*start, tag | step << ID_BITS, end]).edits) == (strictness < 0)

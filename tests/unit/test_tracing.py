"""The waterfall of a request that asks for it: in its own answer, from times that the answer carries in any case."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from api.tracing.waterfall import Waterfall
from ops.cli import main
from scheduler.messages import Completion, FinishReason, Timings

TIMES = Timings(queue_s=0.010, prefill_s=0.005, decode_s=0.020)


def completion(name: str, num_tokens: int = 3) -> Completion:
    return Completion(name, FinishReason.STOP, (1,) * num_tokens, TIMES)


def stages(document: dict[str, object], *more: str) -> list[tuple[object, ...]]:
    return [
        tuple(stage.get(name) for name in ("name", "start_ms", "duration_ms", *more)) for stage in document["stages"]
    ]


def test_rounding_lets_no_stage_end_after_the_whole() -> None:
    waterfall = Waterfall(received_s=0.0)
    waterfall.note_answers([], sent_s=1.6e-6, now_s=1.6e-6)

    document = waterfall.document(3.2e-6)

    assert document["total_ms"] == 0.003
    assert stages(document) == [("received", 0.0, 0.002), ("conclude", 0.002, 0.001)]


def test_a_batch_whose_texts_are_waited_for_one_by_one_was_received_once() -> None:
    waterfall = Waterfall(received_s=0.0)
    for number, now_s in ((1, 0.05), (2, 0.06)):
        waterfall.note_answers([completion(f"r-{number}")], sent_s=0.001, now_s=now_s)

    found = [stage for stage in stages(waterfall.document(0.061), "sentence") if stage[0] in ("received", "publish")]

    assert found == [("received", 0.0, 1.0, None), ("publish", 36.0, 14.0, 1), ("publish", 36.0, 24.0, 2)]


def test_of_a_long_text_the_first_256_sentences_have_stages() -> None:
    waterfall = Waterfall(received_s=0.0)
    for portion in range(5):
        waterfall.note_answers([completion(f"r-{portion}-{number}") for number in range(64)], 0.001, 0.05)

    found = {stage["sentence"] for stage in waterfall.document(0.06)["stages"] if "sentence" in stage}

    assert found == {*range(1, 257)}


@pytest.mark.parametrize(("header", "has_trace"), [("1", True), ("0", False), ("yes", False), (None, False)])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/correct", {"sentence": "He goed home"}),
        ("/correct/batch", {"sentences": ["He goed home", "", "She goed"]}),
        ("/correct", {"sentence": ""}),
    ],
)
def test_who_asks_has_a_trace_behind_the_rest_of_the_answer_and_none_in_a_problem(
    client: FlaskClient, path: str, body: dict[str, object], header: str | None, has_trace: bool
) -> None:
    response = client.post(path, json=body, headers={} if header is None else {"X-Trace": header})

    document = response.get_json(force=True)
    assert ("trace" in document) == (has_trace and response.status_code == 200)
    assert "trace" not in document or list(document)[-1] == "trace"
    assert int(response.headers["Content-Length"]) == len(response.data) and response.data.endswith(b"}\n")
    assert "Server-Timing" in response.headers


def test_the_command_draws_one_sentence_and_no_lines_of_standard_input() -> None:
    done = CliRunner().invoke(main, ["correct", "--trace", "-"])

    assert done.exit_code == 2 and "--trace is for one sentence" in done.output


@pytest.mark.parametrize("command", [["api", "--redis-url", "redis://127.0.0.1:1"], ["up"]])
def test_without_the_packages_it_is_said_which_to_install(command: list[str]) -> None:
    with patch("ops.options.import_module", side_effect=ModuleNotFoundError):
        done = CliRunner().invoke(main, [*command, "--otel-endpoint", "http://127.0.0.1:1"])

    assert done.exit_code == 2
    assert "MINISERVE_OTEL_ENDPOINT" in done.output and "pip install '.[otel]'" in done.output

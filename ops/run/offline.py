"""`miniserve correct`: the same text pipeline and continuous-batching engine, without HTTP and without Redis.

As a filter it prints one line for one line, in order. It takes the lines that are there, a person's single one at once,
and runs all of their sentences in the same batches, each a sequence of its own.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from time import monotonic, perf_counter
from typing import Any

import click

from api.grammar.correction import Correction
from api.grammar.drafts import Draft, TextDraft
from api.grammar.pipeline import Level, TextPipeline
from api.grammar.reading import Reading
from api.http.lines import as_line
from api.http.replies import answer_text
from api.service.body import check_sentence
from api.service.problems import problem, to_json
from api.tracing.waterfall import Waterfall
from ops.tables import table
from scheduler.errors import BodyTooLarge, InvalidRequest, RequestFailed, ServingError
from scheduler.messages import MAX_OUTPUT_TOKENS, Completion, CorrectionRequest, Delivery, FinishReason
from scheduler.settings import Settings
from worker.engine import Engine, new_engine
from worker.model.weights import Weights, load_weights

_CHUNK_BYTES = 32_768  # bounds the lines that are held at once
_BAR_WIDTH = 60


def lines_of(fd: int) -> Iterator[list[bytes]]:
    """The lines of a file descriptor without their ends, as many as are there. The last one needs no end."""
    rest = b""
    while chunk := _read(fd):
        *lines, rest = (rest + chunk).split(b"\n")
        yield [line.removesuffix(b"\r") for line in lines]
    if rest:
        yield [rest.removesuffix(b"\r")]


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK_BYTES)
    except OSError as error:
        raise click.ClickException(f"cannot read standard input: {error.strerror}") from None


def requests_of(pipeline: TextPipeline, sentences: Iterable[Draft], name: str) -> list[CorrectionRequest]:
    """One for each sentence of a text; number 2 of `name` is `<name>-2`."""
    return [
        CorrectionRequest(
            f"{name}-{place}", one.prompt.token_ids, one.prompt.word_numbers, MAX_OUTPUT_TOKENS,
            pipeline.tokenizer_fingerprint,
        )
        for place, one in enumerate(sentences, start=1)
    ]  # fmt: skip


def run_all(engine: Engine, requests: Iterable[CorrectionRequest]) -> dict[str, Completion]:
    """Run them in the same batches; the completion of each by its id."""
    ended = {}
    for request in requests:
        if refusal := engine.accept(Delivery(request, attempt=1, waited_s=0.0)):
            ended[request.request_id] = refusal
    while engine.policy.has_work:
        ended |= {completion.request_id: completion for completion in engine.step()}
    return ended


class OfflineCorrector:
    """The text pipeline and the engine, joined without a queue between them. Not thread-safe."""

    def __init__(self, pipeline: TextPipeline, engine: Engine, max_bytes: int, level: Level = "quiet") -> None:
        """`max_bytes`: of a text."""
        self._pipeline = pipeline
        self._max_bytes = max_bytes
        self._engine = engine
        self._level = level

    @classmethod
    def load(cls, settings: Settings, weights: Weights | None = None, level: Level = "quiet") -> OfflineCorrector:
        """With what ships in the package, batching continuously in every mode. Raises WeightsError.

        `weights`: others than are served under these settings.
        """
        pipeline, settings = TextPipeline.load(strictness=settings.strictness), replace(settings, mode="continuous")
        weights = weights or load_weights(tokenizer_fingerprint=pipeline.tokenizer_fingerprint)
        return cls(pipeline, new_engine(weights, settings, monotonic), settings.max_body_bytes, level)

    def correct(self, texts: Sequence[str | bytes]) -> list[Correction | ServingError]:
        """One outcome for each text, in order; all run in the same batches."""
        drafts = [*map(self._draft_of, texts)]
        self._run(drafts)
        return [*map(self._outcome, drafts)]

    def correct_lines(self, lines: Sequence[bytes]) -> Iterator[Correction | ServingError]:
        """One outcome for each line. A blank one is answered as it is: filters are given paragraphs."""
        texts = [line.decode(errors="replace") for line in lines]
        outcomes = iter(self.correct([line for line, text in zip(lines, texts, strict=True) if text.strip()]))
        return (next(outcomes) if text.strip() else Correction(text, (), "", 0) for text in texts)

    def correct_traced(self, text: bytes) -> tuple[Correction | ServingError, dict[str, Any]]:
        """The outcome for a text as the command line gives it, and its waterfall."""
        waterfall = Waterfall(perf_counter())
        draft, sent_s = self._draft_of(text), perf_counter()
        (ends,) = self._run([draft])
        waterfall.note_answers(ends, sent_s, perf_counter())
        return self._outcome(draft), waterfall.document(perf_counter())

    def _draft_of(self, text: str | bytes) -> TextDraft | ServingError:
        """Or why the text is refused."""
        try:
            return self._pipeline.prepare_text(self._checked(text), level=self._level)
        except ServingError as error:
            return error

    def _run(self, drafts: Sequence[TextDraft | ServingError]) -> list[list[Completion]]:
        """Add the answers to all texts. Return those of each, in order. A text of which a sentence fails has failed."""
        texts = [draft if isinstance(draft, TextDraft) else TextDraft(Reading("", "")) for draft in drafts]
        sentences = [text.take() for text in texts]
        requests = [requests_of(self._pipeline, own, str(number)) for number, own in enumerate(sentences)]
        ended = run_all(self._engine, chain.from_iterable(requests))
        ends = [[ended[one.request_id] for one in some] for some in requests]
        for text, own, completions in zip(texts, sentences, ends, strict=True):
            if failed := next((end for end in completions if end.finish_reason is FinishReason.ERROR), None):
                text.failure = RequestFailed(failed.error or "The model failed.")
            outputs = [completion.output_ids for completion in completions]
            self._pipeline.add_answers(text, zip(own, outputs, strict=True))
        return ends

    def _outcome(self, draft: TextDraft | ServingError) -> Correction | ServingError:
        if isinstance(draft, ServingError):
            return draft
        return draft.failure or self._pipeline.conclude_text(draft)

    def _checked(self, text: str | bytes) -> str:
        """Raises InvalidRequest, BodyTooLarge."""
        if len(text) > self._max_bytes:
            remedy = "send it in parts, or set MINISERVE_MAX_BODY_BYTES."
            raise BodyTooLarge(f"The text has {len(text):,} bytes; at most {self._max_bytes:,} are taken: {remedy}")
        try:
            text = text.decode("utf-8") if isinstance(text, bytes) else text
        except UnicodeDecodeError as error:
            raise InvalidRequest("sentence", f"`sentence` is not UTF-8: byte {error.start} is invalid.") from None
        check_sentence(text)
        return text


def run(settings: Settings, level: Level, sentence: str, as_json: bool, has_trace: bool = False) -> int:
    """The command: one text, or `-` for the lines of standard input; returns the exit status."""
    if sys.stdout is None or (sentence == "-" and sys.stdin is None):
        raise click.ClickException("standard input and output must be open")
    corrector = OfflineCorrector.load(settings, level=level)
    if sentence == "-":
        for lines in lines_of(sys.stdin.fileno()):
            for outcome in corrector.correct_lines(lines):
                _print(_line(outcome, as_json))
        return 0
    outcome, trace = corrector.correct_traced(os.fsencode(sentence))
    if isinstance(outcome, ServingError):
        if as_json:
            _print(_line(outcome, as_json))
        else:
            click.echo(f"miniserve: {outcome}", err=True)
    elif as_json:
        _print(as_line(answer_text(outcome, f', "trace": {to_json(trace)}' if has_trace else "")))
    else:
        picture = f"\n\n{trace_picture(trace)}" if has_trace else ""
        _print(f"{outcome.corrected}\n{outcome.explanation}{picture}")
    return int(isinstance(outcome, ServingError))


def trace_picture(trace: dict[str, Any]) -> str:
    """One line for each stage; `trace` as an answer has it."""
    total_ms, rows = trace["total_ms"] or 1.0, []
    for stage in trace["stages"]:
        start, took = stage["start_ms"], stage["duration_ms"]
        name = f"  {stage['name']} {stage['sentence']}" if "sentence" in stage else stage["name"]
        first, last = (round(_BAR_WIDTH * at_ms / total_ms) for at_ms in (start, start + took))
        bar = " " * first + "\N{FULL BLOCK}" * max(1, last - first)
        rows.append((name, f"{start:.2f}", f"{took:.2f}", str(stage.get("output_tokens", "")), bar))
    return table(("stage", ">start ms", ">took ms", ">tokens", f"0 to {total_ms:.1f} ms"), rows)


def _line(outcome: Correction | ServingError, as_json: bool) -> str:
    if isinstance(outcome, ServingError):
        return as_line(to_json(problem(outcome)))
    if as_json:
        return as_line(answer_text(outcome))
    return f"{outcome.corrected}\t{outcome.explanation}" if outcome.explanation else outcome.corrected


def _print(text: str) -> None:
    """UTF-8 in every locale, and at once: the reader may be waiting for this line."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
        sys.stdout.buffer.flush()
    except OSError as error:
        # What could not be written would be tried again, and complained of, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            raise  # click ends quietly: the reader has what it wanted
        raise click.ClickException(f"cannot write to standard output: {error.strerror}") from None

"""`miniserve correct`: the same text pipeline and continuous-batching engine, without HTTP and without Redis.

As a filter it prints one line for one line, in order. It takes the lines that are there, a person's single one at once,
and runs all of their sentences in the same batches, each a sequence of its own.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic, perf_counter
from typing import Any

import click

from api.grammar.correction import Correction
from api.grammar.drafts import Draft, TextDraft
from api.grammar.pipeline import TextPipeline
from api.http.lines import as_line
from api.http.replies import answer_text
from api.service.body import check_sentence
from api.service.problems import problem, to_json
from api.tracing.waterfall import Waterfall
from ops.tables import table
from scheduler.errors import InvalidRequest, RequestFailed, ServingError
from scheduler.messages import MAX_OUTPUT_TOKENS, Completion, CorrectionRequest, Delivery, FinishReason
from scheduler.settings import Settings
from worker.engine import Engine, load_weights_as_served, new_engine
from worker.model.weights import Weights

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


@dataclass(slots=True)
class _Pending:
    """A line on its way; `outcome` is set once it is answered or refused."""

    draft: TextDraft | None = None
    completions: dict[int, Completion] = field(default_factory=dict)  # by the sentence's number
    answered_s: float = 0.0  # the last of them is there
    outcome: Correction | ServingError | None = None


class OfflineCorrector:
    """The text pipeline and the engine, joined without a queue between them. Not thread-safe."""

    def __init__(self, pipeline: TextPipeline, engine: Engine) -> None:
        self._pipeline = pipeline
        self._engine = engine
        self._running: dict[str, tuple[_Pending, int]] = {}  # by job: its line, its number in the line
        self._num_submitted = 0

    @classmethod
    def load(cls, settings: Settings, weights: Weights | None = None) -> OfflineCorrector:
        """With what ships in the package, batching continuously in every mode. Raises WeightsError.

        `weights`: others than are served under these settings.
        """
        pipeline, settings = TextPipeline.load(), replace(settings, mode="continuous")
        weights = weights or load_weights_as_served(settings, pipeline.tokenizer_fingerprint)
        return cls(pipeline, new_engine(weights, settings, monotonic))

    @property
    def strictness(self) -> float:
        """The bias of <eos> in force: as shipped, or as set."""
        return self._engine.model.config.eos_bias

    def correct(self, lines: Iterable[bytes]) -> Iterator[Correction | ServingError]:
        """One outcome for each line, in order, as soon as it is there. All lines are read before."""
        return self._outcomes([*map(self._begin, lines)])

    def correct_batch(self, sentences: Sequence[str]) -> list[Correction | ServingError]:
        """One outcome for each sentence or text, in order; all run in the same batches."""
        return list(self._outcomes([*map(self._submit, sentences)]))

    def correct_line(self, line: bytes) -> tuple[Correction | ServingError, dict[str, Any]]:
        """The outcome for a text as the command line gives it, and its waterfall."""
        waterfall = Waterfall(perf_counter())
        pending, sent_s = self._submit(line), perf_counter()
        (outcome,) = self._outcomes([pending])
        if completions := [completion for _, completion in sorted(pending.completions.items())]:
            waterfall.note_answers(completions, sent_s, pending.answered_s)
        return outcome, waterfall.document(perf_counter())

    def _outcomes(self, pending: Sequence[_Pending]) -> Iterator[Correction | ServingError]:
        for one in pending:
            while one.outcome is None:
                for completion in self._engine.step():
                    self._settle(completion)
            yield one.outcome

    def _begin(self, line: bytes) -> _Pending:
        """Submit a line, but for a blank one, which is answered as it is: filters are given paragraphs."""
        text = line.decode(errors="replace")
        if text and not text.isspace():
            return self._submit(line)
        return _Pending(outcome=Correction(text, (), "", 0))

    def _submit(self, text: str | bytes) -> _Pending:
        pending = _Pending()
        try:
            pending.draft = self._pipeline.prepare_text(_checked(text))
        except ServingError as error:
            pending.outcome = error
            return pending
        if not pending.draft.sentences:
            pending.outcome = self._pipeline.conclude_text(pending.draft, ())
        for number, sentence in enumerate(pending.draft.sentences):
            request = self._request(sentence)
            self._running[request.request_id] = pending, number
            refusal = self._engine.accept(Delivery(request, attempt=1, waited_s=0.0))
            if refusal is not None:
                self._settle(refusal)
        return pending

    def _request(self, draft: Draft) -> CorrectionRequest:
        self._num_submitted += 1
        return CorrectionRequest(
            request_id=f"sentence-{self._num_submitted}",
            prompt_ids=draft.prompt.token_ids,
            word_numbers=draft.prompt.word_numbers,
            max_output_tokens=MAX_OUTPUT_TOKENS,
            tokenizer_fingerprint=self._pipeline.tokenizer_fingerprint,
        )

    def _settle(self, completion: Completion) -> None:
        pending, number = self._running.pop(completion.request_id)
        if completion.finish_reason is FinishReason.ERROR:
            # The line's, also where its other sentences succeed.
            pending.outcome = RequestFailed(completion.error or "The model failed.")
        pending.completions[number], pending.answered_s = completion, perf_counter()
        if pending.outcome is None and pending.draft and len(pending.completions) == len(pending.draft.sentences):
            outputs = [pending.completions[number].output_ids for number in range(len(pending.completions))]
            pending.outcome = self._pipeline.conclude_text(pending.draft, outputs)


def _checked(text: str | bytes) -> str:
    """Raises InvalidRequest."""
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise InvalidRequest("sentence", f"`sentence` is not UTF-8: byte {error.start} is invalid.") from None
    check_sentence(text)
    return text


def run(settings: Settings, sentence: str, as_json: bool, has_trace: bool = False) -> int:
    """The command: one text, or `-` for the lines of standard input; returns the exit status."""
    if sys.stdout is None or (sentence == "-" and sys.stdin is None):
        raise click.ClickException("standard input and output must be open")
    corrector = OfflineCorrector.load(settings)
    if sentence == "-":
        for lines in lines_of(sys.stdin.fileno()):
            for outcome in corrector.correct(lines):
                _print(_line(outcome, as_json))
        return 0
    outcome, trace = corrector.correct_line(os.fsencode(sentence))
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


def as_document(outcome: Correction | ServingError) -> dict[str, Any]:
    """What `--json` prints of it: for programs that hold a corrector of their own."""
    document: dict[str, Any] = json.loads(_line(outcome, as_json=True))
    return document


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

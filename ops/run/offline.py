"""`miniserve correct`: the same text pipeline and continuous-batching engine, without HTTP and without Redis.

As a filter it keeps one line out for one line in, in order, while the engine works on many lines at once, and on all
sentences of a line, each a sequence of its own: it reads what is there, steps the engine, prints what is finished at
the head of the line. It waits for input only when it has nothing to compute, so that a person typing gets each answer
at once.
"""

from __future__ import annotations

import errno
import json
import os
import select
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, perf_counter
from typing import Any, Protocol

import click

from api.grammar.correction import Correction
from api.grammar.drafts import Draft, TextDraft
from api.grammar.pipeline import TextPipeline
from api.http.lines import as_line
from api.http.replies import answer_text
from api.service.body import check_sentence
from api.service.problems import problem, to_json
from api.tracing.waterfall import Waterfall
from ops.run.trace_picture import trace_picture
from scheduler.errors import InvalidRequest, RequestFailed, ServingError
from scheduler.messages import MAX_OUTPUT_TOKENS, Completion, CorrectionRequest, Delivery, FinishReason
from scheduler.settings import Settings
from worker.engine import Engine, load_weights_as_served, new_engine
from worker.model.weights import Weights

MAX_PENDING = 512  # sentences read ahead of the first unanswered line: twice the slots, and a bound for the memory
_CHUNK_BYTES = 65_536


class Lines(Protocol):
    """Where texts come from."""

    is_over: bool

    def take(self, wait: bool) -> list[bytes]:
        """The lines that are there; with `wait` at least one, unless the input is over."""


class StreamLines:
    """The lines of a file descriptor, without their ends. The last one needs no end."""

    def __init__(self, fd: int) -> None:
        self.is_over = False
        self._fd = fd
        self._rest = b""

    def take(self, wait: bool) -> list[bytes]:
        while not self.is_over and (wait or select.select([self._fd], [], [], 0)[0]):
            chunk = self._read()
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if not chunk:
                self.is_over = True
                lines = [self._rest] if self._rest else []
            if lines or not wait:
                return [line.removesuffix(b"\r") for line in lines]
        return []

    def _read(self) -> bytes:
        try:
            return os.read(self._fd, _CHUNK_BYTES)
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

    def correct(self, lines: Lines) -> Iterator[Correction | ServingError]:
        """One outcome for each line, in order."""
        pending: deque[_Pending] = deque()
        while pending or not lines.is_over:
            if max(len(pending), len(self._running)) < MAX_PENDING and not lines.is_over:
                pending.extend(map(self._begin, lines.take(wait=not pending)))
            if self._engine.policy.has_work:
                for completion in self._engine.step():
                    self._settle(completion)
            while pending and pending[0].outcome is not None:
                yield pending[0].outcome
                pending.popleft()

    def correct_batch(self, sentences: Sequence[str]) -> list[Correction | ServingError]:
        """One outcome for each sentence or text, in order; all run in the same batches."""
        return self._finished([self._submit(partial(_checked, sentence)) for sentence in sentences])

    def correct_line(self, line: bytes) -> tuple[Correction | ServingError, dict[str, Any]]:
        """The outcome for a text as the command line gives it, and its waterfall."""
        waterfall = Waterfall(perf_counter())
        pending, sent_s = self._submit(partial(_text, line)), perf_counter()
        (outcome,) = self._finished([pending])
        if completions := [completion for _, completion in sorted(pending.completions.items())]:
            waterfall.note_answers(completions, sent_s, pending.answered_s)
        return outcome, waterfall.document(perf_counter())

    def _finished(self, pending: Sequence[_Pending]) -> list[Correction | ServingError]:
        while self._engine.policy.has_work:
            for completion in self._engine.step():
                self._settle(completion)
        return [one.outcome for one in pending if one.outcome is not None]  # all of them

    def _begin(self, line: bytes) -> _Pending:
        """Submit a line, but for a blank one, which is answered as it is: filters are given paragraphs."""
        text = line.decode(errors="replace")
        if text and not text.isspace():
            return self._submit(partial(_text, line))
        return _Pending(outcome=Correction(text, (), "", 0))

    def _submit(self, read: Callable[[], str]) -> _Pending:
        pending = _Pending()
        try:
            pending.draft = self._pipeline.prepare_text(read())
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


def _text(line: bytes) -> str:
    """Raises InvalidRequest."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest("sentence", f"`sentence` is not UTF-8: byte {error.start} is invalid.") from None
    return _checked(text)


def _checked(text: str) -> str:
    """Raises InvalidRequest."""
    check_sentence(text)
    return text


def run(settings: Settings, sentence: str, as_json: bool, has_trace: bool = False) -> int:
    """The command: one text, or `-` for the lines of standard input; returns the exit status."""
    if sys.stdout is None or (sentence == "-" and sys.stdin is None):
        raise click.ClickException("standard input and output must be open")
    corrector = OfflineCorrector.load(settings)
    if sentence == "-":
        for outcome in corrector.correct(StreamLines(sys.stdin.fileno())):
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

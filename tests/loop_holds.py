"""The longest requests that the routes of an API process take, and a site that says where each lets others go first.

The queue answers at once, each sentence with an edit; a wait for it is a pause, too.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any
from unittest.mock import patch

from werkzeug.test import EnvironBuilder

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from api.http.app import Api
from api.service import threads
from api.service.corrector import Corrector
from api.site import create_site
from scheduler.capacity.observed import Moment, Observed
from scheduler.messages import Completion, FinishReason, Progress, Timings
from scheduler.settings import Settings
from tests.by_handler import ByHandler
from worker.queue.api_end import RedisApiMailbox
from worker.queue.connection import Address
from worker.queue.protocol import MailboxStatus, Submission

Pause = Callable[[], None]
BODY_BYTES = Settings().max_body_bytes
MOST_LINES = 40_000  # of Python in a row: some three milliseconds
_NUM_EDITS = 20  # more than an output of 64 tokens may hold


class Work:
    """Counts the lines of Python that run in a folder since the last pause, and keeps the most."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.lines = self.most_lines = self.num_pauses = 0

    def pause(self) -> None:
        self.most_lines = max(self.most_lines, self.lines)
        self.lines = 0
        self.num_pauses += 1

    def trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if self.folder not in frame.f_code.co_filename:
            return None
        self.lines += event == "line"
        return self.trace

    @contextmanager
    def counted(self) -> Iterator[None]:
        self.lines = self.most_lines = self.num_pauses = 0
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            yield
        finally:
            sys.settrace(before)
            self.pause()


class MailboxAtOnce(RedisApiMailbox):
    """Puts 'went' for every third word of each sentence.

    All but the last token is there at once. To wait for more is a pause, after which all answers are there.
    """

    def __init__(self, pause: Pause) -> None:
        super().__init__(Address("redis://nowhere"))
        edits = [ScriptEdit(word, 1, "went", Reason.PAST_IRREG) for word in range(1, 3 * _NUM_EDITS, 3)]
        self._output = tuple(Tokenizer.load().encode_output(edits))
        self._pause = pause

    def known_refusal(self, client: str = "") -> None: ...

    async def enqueue(self, wanted: Submission) -> None:
        self._add(wanted)
        wanted.accepted_s = 1.0
        for each in wanted.outcomes:
            self._note_progress(Progress(each, self._output[:-1]))

    async def _until(self, news: asyncio.Future[None], wanted: Submission) -> None:
        self._pause()
        for each in wanted.outcomes:
            self._resolve(each, Completion(each, FinishReason.STOP, self._output, Timings(0.001, 0.002, 0.003)))

    def status(self, asked: MailboxStatus) -> MailboxStatus:
        return MailboxStatus(True, 1)

    def observe(self) -> Observed:
        return Observed(now=Moment(at_s=1.0))


def site(pause: Pause) -> Api:
    settings = Settings(log_level="warning")
    return create_site(Corrector(TextPipeline.load(pause), MailboxAtOnce(pause), settings), settings)


def _long(path: str, head: str, unit: str, tail: str, **headers: str) -> Callable[[int], EnvironBuilder]:
    """Of so many bytes."""

    def build(num_bytes: int) -> EnvironBuilder:
        start, part, end = head.encode(), unit.encode(), tail.encode()
        body = start + part * ((num_bytes - len(start) - len(end)) // len(part)) + end
        media_type = "application/x-www-form-urlencoded" if path == "/v2/check" else "application/json"
        return EnvironBuilder(path, method="POST", data=body, content_type=media_type, headers=headers)

    return build


def _batch(num_bytes: int) -> EnvironBuilder:
    """Up to 64 sentences of words that nobody has seen before."""
    words = [f"q{number:x}zx{7 * number:x}" for number in range(64 * 25)]
    sentences = [" ".join(words[at : at + 25]) for at in range(0, len(words), 25)]
    body = json.dumps({"sentences": sentences[: max(1, num_bytes * 64 // BODY_BYTES)]}).encode()
    return EnvironBuilder("/correct/batch", method="POST", data=body, content_type="application/json")


_SENTENCE = "I goed and " * _NUM_EDITS + "left. "
_TEXT = "/correct", '{"sentence": "', _SENTENCE, '"}'
_EDITOR = "/v2/check", "language=en&text="
_PARTS = "/v2/check", 'language=en&data={"annotation":['
REQUESTS: dict[str, Callable[[int], EnvironBuilder]] = {
    "sentences": _long(*_TEXT),
    "sentences, as a stream": _long(*_TEXT, Accept="text/event-stream"),
    "sentences, traced": _long(*_TEXT, **{"X-Trace": "1"}),
    "marks": _long("/correct", '{"sentence": "', "!\\n", '"}'),
    "a text of short sentences": _long("/correct", '{"sentence": "', "I goed. ", '"}'),
    "blanks": _long("/correct", '{"sentence": "', " ", '"}'),
    "escapes": _long("/correct", '{"sentence": "', "\\u00c4", '"}'),
    "objects": _long("/correct", '{"sentence": [', "{},", "{}]}"),
    "lists of a batch": _long("/correct/batch", '{"sentences": [', "[],", "[]]}"),
    "a batch of rare words": _batch,
    "an editor's sentences": _long(*_EDITOR, "I+goed.+", ""),
    "an editor's lines": _long(*_EDITOR, "A+line\n", ""),
    "an editor's emoji": _long(*_EDITOR, "\U0001f600", ""),
    "an editor's form feeds": _long(*_EDITOR, "\f", ""),
    "an editor's parts": _long(*_PARTS, '{"text":"a+"},', '{"text":"b"}]}'),
    "an editor's empty parts": _long(*_PARTS, "{},", "{}]}"),
}


def run(app: Api, builder: EnvironBuilder) -> str:
    """Returns the status. What runs in a thread runs here, where the loop has its turn before and after."""
    statuses: list[str] = []
    pause = app.services.corrector.pipeline.pause

    async def in_thread(call: Callable[..., object], *arguments: object) -> object:
        pause()
        try:
            return call(*arguments)
        finally:
            pause()

    with patch.object(threads, "in_thread", in_thread):
        ByHandler(app)(builder.get_environ(), lambda status, headers: statuses.append(status))
    return statuses[0]

"""The waterfall of one request, put together from the parts that its replica and its workers have kept of it.

Each part counts by the clock of its own process. They meet where the replica sent the request to the queue: from there
the worker's times run on, its share of the queueing measured by the queue's clock. Acceptance is a little later than
that, so nothing of the worker's is shown too late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from api.grammar.sentences import go_on
from scheduler.messages import FinishReason
from scheduler.trace_parts import HANDOFF_BATCH, FoundTrace, RequestPart, SequencePart, TracedJob

Document = dict[str, Any]
_BAR_WIDTH = 60
_PAUSE_AFTER = 4  # sentences, of up to 64 iterations: some 2 ms
_LAST = ("delivered", "acknowledged", "refused")  # of a request
_ANSWERED = (FinishReason.STOP, FinishReason.LENGTH)


def waterfall_document(request_id: str, found: FoundTrace, pause: Callable[[], None] = go_on) -> Document:
    """What there is of a trace, as JSON: events in the order of their beginnings, times in ms since it was received.

    `pause` is called now and then: a request may have 64 sentences of 64 iterations.
    """
    own = found.request
    document: Document = {"request_id": request_id, "is_complete": found.is_complete}
    if own is not None:
        document |= {"received_at": _iso(own.received_at_s), "status": own.status}
        document |= {"problem": own.slug} if own.slug else {}
    events = [*_events(found, pause)]
    events.sort(key=lambda event: event["start_ms"])
    return document | {
        "duration_ms": max((_end_ms(event) for event in events), default=0.0),
        "sentences": [_sentence(number, job) for number, job in enumerate(found.jobs, start=1)],
        "events": events,
    }


def waterfall_text(document: Document, pause: Callable[[], None] = go_on) -> str:
    """The same for a terminal."""
    events, end = document["events"], f"{document['duration_ms']:.1f} ms"
    header = f"{'':16}{'start':>9}{'took ms':>9}  {'batch':>5}  0{end:>{_BAR_WIDTH - 1}}"
    by_sentence: defaultdict[int | None, list[Document]] = defaultdict(list)
    for event in events:
        by_sentence[event.get("sentence")].append(event)
    of_request = by_sentence[None]
    shown = [event for event in of_request if event["name"] not in _LAST]
    lines = [_headline(document), header, *_bars(document, shown)]
    for sentence in document["sentences"]:
        lines += [_sentence_line(sentence), *_bars(document, by_sentence[sentence["sentence"]])]
        if sentence["sentence"] % _PAUSE_AFTER == 0:
            pause()
    lines += _bars(document, [event for event in of_request if event["name"] in _LAST])
    return "\n".join(lines) + "\n"


def _events(found: FoundTrace, pause: Callable[[], None]) -> Iterator[Document]:
    own = found.request
    if own is not None:
        yield from _request_events(own)
    for number, job in enumerate(found.jobs, start=1):
        if job.part is not None:
            sent_s, answered_s = (0.0, 0.0) if own is None else (own.sent_s, own.answered_s)
            for event in _sentence_events(job.part, sent_s, answered_s):
                yield event | {"sentence": number}
        if number % _PAUSE_AFTER == 0:
            pause()


def _request_events(own: RequestPart) -> Iterator[Document]:
    yield _event("received", 0.0, own.parsed_s)
    yield _event("tokenized", own.parsed_s, own.tokenized_s)
    yield _event("reserved", own.sent_s, own.accepted_s)
    if own.answered_s:
        yield _event("delivered", own.answered_s, own.delivered_s)
    else:  # nobody waited for it (202), or in vain
        yield _event("acknowledged" if own.status == 202 else "refused", own.delivered_s, own.delivered_s)


def _sentence_events(part: SequencePart, accepted_s: float, answered_s: float) -> Iterator[Document]:
    at_s = accepted_s + part.queue_s
    yield _event("queued", accepted_s, at_s)
    first, *decodes = part.steps or (None,)
    batch = {} if first is None else {"batch_size": first.batch_size}
    yield _event("prefill", at_s, at_s + part.prefill_s) | batch
    at_s += part.prefill_s
    step = 0
    for seconds, batch_size in decodes:
        if batch_size == HANDOFF_BATCH:
            yield _event("handoff", at_s, at_s + seconds)
        else:
            step += 1
            yield _event("decode", at_s, at_s + seconds) | {"step": step, "batch_size": batch_size}
        at_s += seconds
    if part.finish_reason in _ANSWERED and answered_s:
        yield _event("published", at_s, max(at_s, answered_s))


def _event(name: str, start_s: float, end_s: float) -> Document:
    return {"name": name, "start_ms": round(start_s * 1e3, 3), "duration_ms": round((end_s - start_s) * 1e3, 3)}


def _end_ms(event: Document) -> float:
    return round(event["start_ms"] + event["duration_ms"], 3)


def _sentence(number: int, job: TracedJob) -> Document:
    sentence: Document = {"sentence": number, "job_id": job.job_id}
    if job.part is not None:
        sentence |= {name: getattr(job.part, name) for name in ("attempt", "slot", "prompt_tokens", "output_tokens")}
    return sentence | ({"finish_reason": job.finish_reason.value} if job.finish_reason is not None else {})


def _sentence_line(sentence: Document) -> str:
    if "attempt" not in sentence:
        return f"sentence {sentence['sentence']}: {sentence.get('finish_reason', 'nothing is known of its worker')}"
    return (
        "sentence {sentence}: {prompt_tokens} prompt tokens, {output_tokens} output tokens, slot {slot}, "
        "attempt {attempt}, {finish_reason}"
    ).format(**sentence)


def _headline(document: Document) -> str:
    line = f"request {document['request_id']}"
    if "status" in document:
        line += f", received {document['received_at']}, status {document['status']} {document.get('problem', '')}"
    return line.rstrip() + ("" if document["is_complete"] else "  (parts of the trace are missing)")


def _bars(document: Document, events: list[Document]) -> Iterator[str]:
    per_ms = _BAR_WIDTH / (document["duration_ms"] or 1.0)
    for event in events:
        first = min(int(event["start_ms"] * per_ms), _BAR_WIDTH - 1)
        width = max(1, round(_end_ms(event) * per_ms) - first)
        name = ("  " if "sentence" in event else "") + event["name"] + (f" {event['step']}" if "step" in event else "")
        numbers = f"{event['start_ms']:9.2f}{event['duration_ms']:9.2f}  {event.get('batch_size', ''):>5}"
        yield f"{name:<16}{numbers}  {' ' * first}{'█' * width}"


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

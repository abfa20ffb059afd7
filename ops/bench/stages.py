"""Which stage of a request a sampled stack belongs to: the innermost frame that a pattern of the table matches.

A frame is `file:function`; the first pattern that matches it counts. Add the new name when a file or function is
renamed and leave the old one, so that versions can be compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

ACCEPT, MODEL = "accept and parse", "model"
_TABLE = (
    # The API process.
    ("log", r"api/request_log|logging/|ops/run/logs|api/books\.py:_line|:Books\._log|:_log$|:RequestLog\."),
    ("metrics", r"api/(tallies|metrics)|scheduler/observ|:Reporter\."
                r"|worker/observer|:\w+\._observe|telemetry/"),
    ("validate", r"schema\.py|service/body|pydantic/"
                 r"|request_input\.py:_?(read_json|check|deadline|idemp|correl|prefers)"),
    ("split", r"(api|grammar)/sentences|:\w+\.prepare_text"),
    ("tokenize", r":Tokenizer\.encode|:\w+\.(prepare|_encode)$"),
    ("conclude", r"api/grammar/(?!words|memo)|api/(edit_|guard|explanations|surface|verb|subjects|noun_|following_)"
                 r"|:Agent\.|:Drafting\.answer|Corrector\._?conclude"),
    ("serialise", r"api/documents|api/http/replies|:_(json|outcome)_response"),
    ("send", r"worker/queue/(sender|errands|api_commands|fullness|bounds|admission)|:encode_request|jobs\.py"
             r"|:Sender\.|:enqueue_|:Drafting\.|:(submission_of|note_content|options_of)$"
             r"|(Mailbox|Desk|Client|Corrector)\.(_?submit|_?requests|enqueue)"),
    ("wake", r"worker/queue/(listener|waiters|replies)|:decode_news|:_(Desk|ProcessClient|Wait)\.|Mailbox\.wait$"
             r"|:Listener\.|:Patience\.|Corrector\.(_answer|wait)$"),
    ("respond", r"uvicorn/protocols/.*:RequestResponseCycle\.send|:AsgiApi\._send|:BoundedConnection\.answer"
                r"|:Connection\.(respond|start|write|_begin|_end)$|:head_of$"),
    ("route", r"flask/(app|ctx|sansio)|api/(app|corrector|drafting|books)|api/http/(app|correct)|api/service/"),
    (ACCEPT, r"api/(gate|readiness|server/)|api/http/(asgi|handler|incoming|threads)|request_input|uvicorn/"),
    # The worker.
    ("heartbeat", r"worker/queue/(heartbeat|watch)|worker/(status_line|vitals|status)"),
    (MODEL, r"worker/(model\b|attention|rows|kv_cache|sampling|weights)"),
    ("schedule", r"scheduler/(batching|continuous|static)|:Engine\.(?!accept|_fault)"),
    ("publish", r":encode_completion|:finish_arguments|\._(finish_commands|accept_answers|note_finished)|ledger"),
    ("drain", r":decode_request|worker/queue/worker_end|:Engine\.(accept|_fault)|:Actor\._(exchange|take_in)"),
    ("schedule", r"worker/actor"),
)  # fmt: skip
_COMPILED = [(stage, re.compile(pattern)) for stage, pattern in _TABLE]
_BATCH = re.compile(r"\[(\d+)\+(\d+)\]$")
STAGES = (
    ACCEPT, "route", "validate", "split", "tokenize", "send", "Redis", "drain", "schedule", "prefill", "decode",
    "publish", "wake", "conclude", "serialise", "respond", "log", "metrics", "heartbeat", "other",
)  # fmt: skip


def microseconds(lines: Iterable[str], prompt_tokens: float) -> Counter[str]:
    """Of each stage, in lines of the sampler. Iterations that do both count by rows: a prompt has `prompt_tokens`."""
    total: Counter[str] = Counter()
    for line in lines:
        us, *frames = line.rstrip("\n").split(";")
        stage = stage_of(frames)
        if stage == MODEL:
            share = _prefill_share(frames, prompt_tokens)
            total["prefill"] += share * float(us)
            total["decode"] += (1 - share) * float(us)
        else:
            total[stage] += float(us)
    return total


def stage_of(frames: Sequence[str]) -> str:
    """`frames` from the innermost outwards. An event loop without a handler in it is busy with connections."""
    found = next(filter(None, map(_stage_of_frame, frames)), None)
    return found or (ACCEPT if any("asyncio/runners" in frame for frame in frames) else "other")


@cache
def _stage_of_frame(frame: str) -> str | None:
    name = frame.rpartition("/site-packages/")[2] if "/site-packages/" in frame else frame
    return next((stage for stage, pattern in _COMPILED if pattern.search(name)), None)


def _prefill_share(frames: Sequence[str], prompt_tokens: float) -> float:
    for frame in frames:
        if found := _BATCH.search(frame):
            prompt_rows, decode_rows = int(found[1]) * prompt_tokens, int(found[2])
            return prompt_rows / (prompt_rows + decode_rows)
    return 0.0

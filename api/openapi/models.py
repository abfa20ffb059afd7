"""What the API answers, as models for its description. The answers themselves are made without them.

A test compares real answers with these models.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from api.grammar.correction import NoteCode
from api.grammar.reasons import Reason

RequestId = Annotated[str, Field(description="The id of the request.", examples=["1345054c67ba1a4be2bc74a0ab958794"])]


class Edit(BaseModel):
    """A replacement in the text, and why."""

    start: int = Field(
        ge=0, description="First character that is replaced, in Unicode code points of the text as sent."
    )
    end: int = Field(ge=0, description="One after the last of them.")
    original: str = Field(description="What stands there.")
    replacement: str = Field(description="What should stand there.")
    reason: Reason = Field(description="The kind of mistake.")
    explanation: str = Field(description="The same in a sentence for people.")
    confidence: float = Field(ge=0, le=1, description="How certain the model was when it began the edit.")


class TextLanguage(BaseModel):
    """What the text seems to be."""

    code: Literal["en", "und"] = Field(description="`und`: not English; which language it is, is not known.")
    confidence: float = Field(ge=0.5, le=1, description="0.5 without a clue: a short text passes for English.")


class Note(BaseModel):
    """Something that was not done in a part of the text."""

    code: NoteCode
    start: int = Field(ge=0, description="As in an edit.")
    end: int = Field(ge=0)
    detail: str = Field(description="The same in words.")


class Correction(BaseModel):
    """The corrected text. Without mistakes it is the text as sent, and `edits` is empty."""

    corrected: str
    explanation: str = Field(description="Those of all edits; or that nothing was found, or that not all is English.")
    edits: list[Edit] = Field(description="In the order of the text; they do not overlap.")
    language: TextLanguage
    notes: list[Note] = Field(description="What was left unread or left out, in the order of the text.")
    request_id: RequestId


class Problem(BaseModel):
    """An error (RFC 9457). `type` ends with a slug that never changes; `detail` says what to do."""

    type: str = Field(pattern="^urn:miniserve:problem:[a-z-]+$")
    title: str
    status: int
    detail: str
    request_id: RequestId | None = None
    field: str | None = Field(None, description="Of `invalid-request`: the member of the body that is wrong.")
    num_words: int | None = Field(None, description="Of `sentence-too-long`: how many words it has.")
    max_words: int | None = None
    num_tokens: int | None = Field(None, description="Of `sentence-too-long`, where they were counted.")
    max_tokens: int | None = None
    retry_after_s: int | None = Field(None, description="Of 429 and 503: the value of `Retry-After`.")


class BatchAnswer(BaseModel):
    """One result for each text, in order: its correction or its problem."""

    results: list[Correction | Problem]
    request_id: RequestId


class Pending(BaseModel):
    """There is no answer yet."""

    request_id: RequestId
    status: Literal["queued", "running"]


class Cancellation(BaseModel):
    """What became of a request that was to be cancelled."""

    request_id: RequestId
    status: Literal["cancelled", "cancelling", "done"] = Field(
        description="`cancelled`: it never runs; `cancelling`: it leaves its worker; `done`: it had ended already."
    )


class TraceEvent(BaseModel):
    """Something that took time."""

    name: str
    start_ms: float = Field(description="Since the request was received.")
    duration_ms: float
    sentence: int | None = Field(None, description="Which sentence of the text, from 1.")
    step: int | None = Field(None, description="Of `decode`: which token, from 1.")
    batch_size: int | None = Field(None, description="Sequences that ran in the same iteration.")


class TracedSentence(BaseModel):
    """What a worker did for a sentence; only its number and its job where nothing is known."""

    sentence: int
    job_id: str
    attempt: int | None = None
    slot: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None


class Trace(BaseModel):
    """Where the time of a request went."""

    request_id: RequestId
    is_complete: bool
    received_at: str | None = None
    status: int | None = None
    problem: str | None = None
    duration_ms: float
    sentences: list[TracedSentence]
    events: list[TraceEvent]


class LearnerReason(BaseModel):
    """What a learner gets wrong for one reason."""

    reason: Reason
    count: int = Field(ge=1)
    last_seen: str = Field(description="UTC.", examples=["2026-11-23T17:02:11Z"])
    verbs: list[str] = Field(description="Base forms, the most frequent first.", examples=[["go", "see"]])


class Learner(BaseModel):
    """What a learner gets wrong, the most frequent reason first."""

    learner_id: str
    since: str = Field(description="Of the first answer, UTC.", examples=["2026-11-20T09:00:00Z"])
    corrections: int = Field(ge=0, description="Texts that were answered, right ones included.")
    reasons: list[LearnerReason]


class Forgotten(BaseModel):
    """Nothing is known of the learner any more."""

    learner_id: str
    status: Literal["forgotten"]


class Alive(BaseModel):
    """The process lives."""

    status: Literal["ok"]


class Ready(BaseModel):
    """Requests are answered; `degraded`: more than 5 % of the answers fail."""

    status: Literal["ready", "degraded"]
    detail: str | None = None
    live_workers: int
    queue_depth: int
    batch_invariance: str | None = Field(None, description="Whether a sentence gets the same bits in every batch.")


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class Software(_Camel):
    """The server."""

    name: str
    version: str
    build_date: str
    api_version: int
    premium: bool
    status: str


class Warnings(_Camel):
    """Whether all of the document was checked."""

    incomplete_results: bool
    incomplete_results_reason: str | None = None


class DetectedLanguage(_Camel):
    """What the text seems to be; `confidence` is 0 where it seems not to be English."""

    name: str
    code: str
    confidence: float
    source: str


class CheckedLanguage(_Camel):
    """The language that was checked."""

    name: str
    code: str
    detected_language: DetectedLanguage


class Replacement(_Camel):
    """A suggestion."""

    value: str
    confidence: float


class Context(_Camel):
    """The neighbourhood of a match, in one line."""

    text: str
    offset: int
    length: int


class RuleCategory(_Camel):
    """A group of rules."""

    id: Literal["GRAMMAR", "TYPOS", "STYLE"]
    name: str


class MatchedRule(_Camel):
    """The rule of a match: a reason, or `sentence_too_long`."""

    id: str
    description: str
    issue_type: Literal["grammar", "misspelling", "style"]
    category: RuleCategory


class MatchType(_Camel):
    """Always `Other`."""

    type_name: str


class Match(_Camel):
    """A mistake. Places count UTF-16 code units of text and markup."""

    message: str
    short_message: str
    replacements: list[Replacement]
    offset: int = Field(ge=0)
    length: int = Field(ge=0)
    context: Context
    sentence: str
    type: MatchType
    rule: MatchedRule
    ignore_for_incomplete_sentence: bool
    context_for_sure_match: int


class CheckAnswer(_Camel):
    """What was found in a document."""

    software: Software
    warnings: Warnings
    language: CheckedLanguage
    matches: list[Match]
    sentence_ranges: list[tuple[int, int]]


class Language(_Camel):
    """A language that can be checked."""

    name: str
    code: str
    long_code: str

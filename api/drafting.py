"""Between what a client asked for and what the model reads and writes: texts become sequences, outputs corrections.

One of the two halves of a request's way; the other, `corrector.py`, is the queue and the waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from api.agent import MAX_TEXT_CHARACTERS, Agent, Edit, TextDraft
from api.jobs import Answer, BatchJob, Job, longest
from scheduler.errors import InvalidRequest, ServingError
from scheduler.messages import MAX_OUTPUT_TOKENS, MAX_SENTENCES, Completion, CorrectionRequest

Drafts = Sequence[TextDraft | ServingError]  # one for each text of a job; or why it was refused


class Drafting:
    """The agent's work, for jobs of one text and of several."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def tokenizer_fingerprint(self) -> str:
        return self._agent.tokenizer_fingerprint

    def drafts(self, job: Job | BatchJob) -> list[TextDraft | ServingError]:
        """One for each item. Raises what is wrong with all of it."""
        if isinstance(job, Job):
            return [self._agent.prepare_text(job.sentence)]
        _check_length(job)
        drafts = [self._draft(item) for item in job.items]
        _check_number(drafts)
        return drafts

    def _draft(self, item: str | ServingError) -> TextDraft | ServingError:
        if isinstance(item, ServingError):
            return item
        try:
            return self._agent.prepare_text(item)
        except ServingError as error:
            return error

    def requests(self, job: Job | BatchJob, drafts: Drafts) -> list[CorrectionRequest]:
        """One for each sentence, in order."""
        if isinstance(job, Job):
            return [request for draft in drafts for request in self._requests(job, draft)]
        numbered = enumerate(drafts, start=1)
        return [request for number, draft in numbered for request in self._requests(job.job(number), draft)]

    def _requests(self, job: Job, draft: TextDraft | ServingError) -> Iterator[CorrectionRequest]:
        if isinstance(draft, ServingError):
            return
        for job_id, sentence in zip(_job_ids(job, len(draft.sentences)), draft.sentences, strict=True):
            yield CorrectionRequest(
                request_id=job_id,
                prompt_ids=sentence.prompt.token_ids,
                word_numbers=sentence.prompt.word_numbers,
                max_output_tokens=MAX_OUTPUT_TOKENS,
                tokenizer_fingerprint=self._agent.tokenizer_fingerprint,
                learner_id=job.learner_id,
                traceparent=job.marks.traceparent,
            )

    def story(self, draft: TextDraft) -> Story:
        return Story(self._agent, draft)

    def answer(self, request_id: str, draft: TextDraft, completions: Sequence[Completion]) -> Answer:
        correction = self._agent.conclude_text(draft, [completion.output_ids for completion in completions])
        return Answer(request_id, correction, longest([completion.timings for completion in completions]))


class Story:
    """The edits of a text in the order in which they become certain, each once."""

    def __init__(self, agent: Agent, draft: TextDraft) -> None:
        self._agent = agent
        self._sentences = draft.sentences
        self._outputs: list[Completion | tuple[int, ...]] = [()] * len(draft.sentences)
        self._num_told = [0] * len(draft.sentences)

    def news(self, outputs: Sequence[Completion | tuple[int, ...]]) -> list[Edit]:
        """What is certain now and was not before. `outputs`: of each sentence what is written so far, or all of it."""
        changed = [at for at, output in enumerate(outputs) if output is not self._outputs[at]]
        self._outputs = list(outputs)
        return [edit for at in changed for edit in self._news_of(at)]

    def _news_of(self, at: int) -> list[Edit]:
        sentence, output = self._sentences[at], self._outputs[at]
        if isinstance(output, Completion):
            edits = self._agent.conclude(sentence, output.output_ids).edits
        else:
            edits = self._agent.certain_edits(sentence, output)
        news = edits[self._num_told[at] :]
        self._num_told[at] = max(len(edits), self._num_told[at])
        return [replace(edit, start=edit.start + sentence.start, end=edit.end + sentence.start) for edit in news]


def _job_ids(job: Job, num_sentences: int) -> list[str]:
    """A single sentence runs under the id of the answer; of several, number 2 runs under `<id of the answer>-2`."""
    if num_sentences == 1:
        return [job.request_id]
    return [f"{job.request_id}-{number}" for number in range(1, num_sentences + 1)]


def _check_length(batch: BatchJob) -> None:
    """Before anything is cut into sentences, which takes time."""
    num_characters = sum(len(item) for item in batch.items if isinstance(item, str))
    if num_characters > MAX_TEXT_CHARACTERS:
        told = f"The items of `sentences` have {num_characters:,} characters; at most {MAX_TEXT_CHARACTERS:,} are read."
        raise InvalidRequest("sentences", f"{told} Send them in parts.")


def _check_number(drafts: Sequence[TextDraft | ServingError]) -> None:
    num_sentences = sum(len(draft.sentences) for draft in drafts if isinstance(draft, TextDraft))
    if num_sentences > MAX_SENTENCES:
        told = f"The items of `sentences` hold {num_sentences:,} sentences; at most {MAX_SENTENCES} are taken at once."
        raise InvalidRequest("sentences", f"{told} Send them in parts.")

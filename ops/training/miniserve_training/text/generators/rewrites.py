"""New right sentences from plain ones, for reasons the text offers too few chances for.

A plain sentence ("He works in a bank.") gets a time word, a clause or another verb in front, tags included; the
rules then find its corruptions like those of any other. Only short sentences with one finite verb are touched.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from miniserve_training.text import lexicon as lex
from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.generators.clause_rewrites import joined
from miniserve_training.text.generators.plain import Group, Plain, assemble, plain_of, said, tagged
from miniserve_training.text.lexicon import Lexicon, words
from miniserve_training.text.tables import word_list

_FUTURE = word_list("future_times")
_PAST = word_list("past_times")
_CHILDHOOD = word_list("childhood_times")
_HABIT = word_list("habit_times")
_SINCE = word_list("since_times")
_FOR = word_list("for_times")
_LASTING = words("live work know be teach study own love like hate belong have need want believe play")
_PASSING_STATES = words(
    "ill sick busy sad happy away tired angry absent married unhappy dead single quiet lonely free closed asleep"
)
_NOT_TOMORROW = lex.STATE_VERBS | words("be have do die bear say live feel love think use keep let get hear see")
_GERUND_FRAMES = word_list("before_gerunds")
_MOST_PER_KIND = 3000
_MOST_PER_JOIN = 2000
_RARE_COUNT = 60
_RARE_SUBJECTS = word_list("subjects_of_rare_verbs")
_RARE_ENDINGS = word_list("endings_of_rare_verbs")

Rewrite = Callable[[Plain, random.Random], list[Group] | None]


def rewritten(sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random) -> list[TaggedSentence]:
    """At most a few thousand new sentences of each kind, from a random part of the text."""
    made: dict[Rewrite, list[TaggedSentence]] = {rewrite: [] for rewrite in (*_REWRITES, *_QUESTIONS)}
    most = min(_MOST_PER_KIND, len(sentences) // 50 + 20)
    plains: list[Plain] = []
    for sentence in rng.sample(sentences, len(sentences)):
        wanting = [rewrite for rewrite, done in made.items() if len(done) < most]
        if not wanting:
            break
        plain = plain_of(sentence, lexicon)
        if plain is None:
            continue
        plains.append(plain)
        for rewrite in wanting:
            groups = rewrite(plain, rng)
            if groups:
                made[rewrite].append(assemble(sentence.source, groups, "?" if rewrite in _QUESTIONS else "."))
    single = [sentence for done in made.values() for sentence in done]
    return [*single, *joined(plains, min(most, _MOST_PER_JOIN), rng)]


def rare_verb_sentences(lexicon: Lexicon, rng: random.Random) -> list[TaggedSentence]:
    """Bare sentences for irregular verbs the text hardly has: "She waylaid him."."""
    made = []
    for verb in lexicon.base.values():
        if not verb.is_irregular or verb.count >= _RARE_COUNT or not verb.lemma.isalpha():
            continue
        for subject in rng.sample(_RARE_SUBJECTS, 6):
            past, participle = verb.pasts[0], verb.participles[0]
            ending = tagged(rng.choice(_RARE_ENDINGS))
            made.append(assemble("made", [*tagged(subject), *tagged(f"{past}/VBD"), *ending]))
            had = tagged(f"{rng.choice(('had/VBD', 'could/MD have/VB', 'had/VBD never/RB'))} {participle}/VBN")
            made.append(assemble("made", [*tagged(subject), *had, *ending]))
    return made


def _is_past_event(plain: Plain) -> bool:
    return plain.verb.tag == "VBD" and plain.forms is not None and plain.lemma not in _NOT_TOMORROW


def _with_time(body: list[Group], times: Sequence[str], rng: random.Random) -> list[Group]:
    time = said(rng.choice(times))
    return [*time, *body] if rng.random() < 0.35 else [*body, *time]


def _to_future(plain: Plain, rng: random.Random) -> list[Group] | None:
    if not (_is_past_event(plain) or (plain.is_be and plain.next.tag in ("JJ", "IN") and rng.random() < 0.3)):
        return None
    will = "won't" if rng.random() < 0.12 else "will"
    verb = f"{will}/MD" if will == "will" else "wo/MD+n't/RB"
    return _with_time([*plain.subject, *tagged(verb), *plain.base()], _FUTURE, rng)


def _to_past_time(plain: Plain, rng: random.Random) -> list[Group] | None:
    is_state = (plain.is_be and plain.next.tag in ("JJ", "IN", "VBG")) or plain.lemma == "have"
    if not (_is_past_event(plain) or (is_state and rng.random() < 0.3)):
        return None
    verb = plain.past()
    if plain.forms and rng.random() < 0.12:
        verb = [*tagged("did/VBD+n't/RB"), *plain.base()]
    return _with_time([*plain.subject, *verb], _PAST, rng)


def _to_childhood(plain: Plain, rng: random.Random) -> list[Group] | None:
    if not plain.forms or len(plain.rest) < 2 or plain.next.lower == "to":
        return None
    body = [*plain.subject, *plain.past()]
    return _with_time(body, _CHILDHOOD, rng)


def _to_past_question(plain: Plain, rng: random.Random) -> list[Group] | None:
    """ "He saw her" -> "Did he see her yesterday?", "When did he see her?"."""
    if not _is_past_event(plain):
        return None
    opening = tagged(rng.choice(("did/VBD", "did/VBD", "did/VBD", "why/WRB did/VBD", "how/WRB did/VBD")))
    return [*opening, *plain.subject, *plain.base(), *said(rng.choice(_PAST))]


def _to_habit(plain: Plain, rng: random.Random) -> list[Group] | None:
    if plain.forms is None or plain.lemma not in lex.ACTIVITY_VERBS or plain.verb.tag == "VBD":
        return None
    if rng.random() < 0.75:
        adverb = rng.choice(("usually", "rarely", "seldom", "normally", "generally"))
        return [*plain.subject, *tagged(f"{adverb}/RB"), *plain.present()]
    return [*plain.subject, *plain.present(), *said(rng.choice(_HABIT))]


def _to_perfect(plain: Plain, rng: random.Random) -> list[Group] | None:
    if plain.verb.tag == "VBD" and rng.random() < 0.5:
        return None
    if plain.is_be:
        if plain.next.tag != "JJ" or len(plain.rest) != 1 or plain.next.lower not in _PASSING_STATES:
            return None
    elif plain.lemma not in _LASTING or plain.next.lower == "to":
        return None
    times = _FOR if rng.random() < 0.4 else _SINCE
    return [*plain.subject, *tagged(plain.have), *plain.participle(), *said(rng.choice(times))]


def _to_progressive_perfect(plain: Plain, rng: random.Random) -> list[Group] | None:
    if plain.forms is None or plain.lemma not in lex.ACTIVITY_VERBS | _WAITING:
        return None
    times = _FOR + _HOURS if rng.random() < 0.6 else _SINCE
    return [*plain.subject, *tagged(f"{plain.have} been/VBN"), *plain.ing(), *said(rng.choice(times))]


_WAITING = words("wait live stand sit learn search sleep talk")
_HOURS = word_list("hours")


def _to_first_time(plain: Plain, rng: random.Random) -> list[Group] | None:
    """ "He saw a whale" -> "This is the first time he has seen a whale"."""
    if not _is_past_event(plain):
        return None
    opening = rng.choice(("this/DT is/VBZ", "it/PRP is/VBZ", "that/DT is/VBZ"))
    nth = rng.choice(("first", "first", "second", "third"))
    that = rng.choice(("", "", " that/IN"))
    frame = tagged(f"{opening} the/DT {nth}/JJ time/NN{that}")
    return [*frame, *plain.subject, *tagged(plain.have), *plain.participle()]


def _to_gerund(plain: Plain, rng: random.Random) -> list[Group] | None:
    """ "He wants to drive the car" -> "He avoided driving the car"."""
    if plain.next.lower != "to" or len(plain.rest) < 2 or plain.verb.tag == "MD":
        return None
    base = plain.rest[1][0]
    verb = plain.lexicon.base.get(base.text) if base.tag == "VB" and len(plain.rest[1]) == 1 else None
    if verb is None or verb.lemma in ("be", "have", "do", "go") or verb.lemma in lex.STATE_VERBS:
        return None
    frame = rng.choice(_GERUND_FRAMES)
    opening = tagged("can't/MD help/VB" if frame == "can't_help" else frame)
    return [*plain.subject, *opening, *tagged(f"{verb.ing}/VBG"), *plain.rest[2:]]


_REWRITES: tuple[Rewrite, ...] = (
    _to_future, _to_past_time, _to_childhood, _to_habit, _to_perfect, _to_progressive_perfect, _to_first_time,
    _to_gerund,
)  # fmt: skip
_QUESTIONS: tuple[Rewrite, ...] = (_to_past_question,)

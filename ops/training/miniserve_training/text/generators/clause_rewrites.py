"""Two plain sentences joined to one: time clauses, conditions, reports, wishes and stories."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from miniserve_training.text.corpus import TaggedSentence
from miniserve_training.text.generators.plain import COMMA, Group, Plain, assemble, said, tagged
from miniserve_training.text.tables import word_list

Pair = tuple[Plain, Plain]
Join = Callable[[Pair, random.Random], list[Group] | None]

_MOST_WORDS = 17
_PRONOUNS = ("he", "she", "we", "they", "I")


def joined(plains: Sequence[Plain], most: int, rng: random.Random) -> list[TaggedSentence]:
    """`most` sentences of each kind, the two halves drawn from all `plains`."""
    usable = [plain for plain in plains if plain.can_inflect]
    events = [plain for plain in usable if plain.is_event]
    if not events:
        return []
    made = []
    for join, of_events in _JOINS:
        pool = events if of_events else usable
        num_made = 0
        for _ in range(3 * most):
            pair = (rng.choice(pool), rng.choice(pool))
            groups = join(pair, rng)
            if groups and len(groups) <= _MOST_WORDS:
                made.append(assemble("made", groups))
                num_made += 1
            if num_made == most:
                break
    return made


def _either_order(clause: list[Group], main: list[Group], rng: random.Random, *, first: float = 0.6) -> list[Group]:
    return [*clause, COMMA, *main] if rng.random() < first else [*main, *clause]


def _to_story(pair: Pair, rng: random.Random) -> list[Group]:
    """ "He opened the door and saw a dog"."""
    one, other = pair
    if len(one.rest) + len(other.rest) < 6 and one.number == other.number and rng.random() < 0.25:
        end = rng.choice(("went/VBD home/NN", "sat/VBD down/RP", "began/VBD to/TO talk/VB", "left/VBD the/DT house/NN"))
        return [*one.subject, *one.past(), COMMA, *other.past(), *tagged("and/CC"), *tagged(end)]
    if one.subject[0][0].text in _PRONOUNS and rng.random() < 0.2:
        return [*one.subject, *one.past(), *tagged("and/CC"), *one.subject, *other.past()]
    link = rng.choice(("and/CC", "and/CC", "and/CC", "and/CC then/RB", "but/CC"))
    return [*one.subject, *one.past(), *tagged(link), *other.past()]


def _to_when_past(pair: Pair, rng: random.Random) -> list[Group]:
    one, other = pair
    conjunction = rng.choice(("when/WRB", "when/WRB", "before/IN", "after/IN", "as/RB soon/RB as/IN", "until/IN"))
    clause = [*tagged(conjunction), *one.subject, *one.past()]
    return _either_order(clause, [*other.subject, *other.past()], rng, first=0.0 if "until" in conjunction else 0.6)


def _to_while(pair: Pair, rng: random.Random) -> list[Group]:
    one, other = pair
    clause = [*tagged("while/IN"), *one.subject, *tagged(one.was), *one.ing()]
    return _either_order(clause, [*other.subject, *other.past()], rng)


def _to_past_perfect(pair: Pair, rng: random.Random) -> list[Group]:
    one, other = pair
    already = rng.choice(("", " already/RB", " already/RB", " just/RB"))
    main = [*other.subject, *tagged(f"had/VBD{already}"), *other.participle()]
    conjunction = rng.choice(("when/WRB", "before/IN", "by/IN the/DT time/NN", "by/IN the/DT time/NN"))
    return _either_order([*tagged(conjunction), *one.subject, *one.past()], main, rng, first=0.5)


def _to_after(pair: Pair, rng: random.Random) -> list[Group]:
    one, other = pair
    clause = [*tagged("after/IN"), *one.subject, *tagged("had/VBD"), *one.participle()]
    return _either_order(clause, [*other.subject, *other.past()], rng)


def _to_noticed(pair: Pair, rng: random.Random) -> list[Group]:
    subject = tagged(rng.choice(_KNOWERS))
    verb = rng.choice(("realized", "noticed", "discovered", "thought"))
    that = rng.choice(("", " that/IN", " that/IN"))
    had = [*tagged("had/VBD"), *pair[0].participle()]
    return [*subject, *tagged(f"{verb}/VBD{that}"), *pair[0].subject, *had]


_KNOWERS = word_list("knowers")


def _to_thought(pair: Pair, rng: random.Random) -> list[Group]:
    """ "I hoped that she would come", "I thought he was ill"."""
    one = pair[0]
    if rng.random() < 0.6:
        verb = rng.choice(("thought", "hoped", "knew", "believed", "expected", "wondered_if"))
        report = [*tagged("would/MD"), *one.base()]
    else:
        verb, report = rng.choice(("thought", "thought", "wondered_if")), one.past()
    that = rng.choice((" that/IN", ""))
    opening = tagged("wondered/VBD if/IN" if verb == "wondered_if" else f"{verb}/VBD{that}")
    return [*tagged(rng.choice(_KNOWERS)), *opening, *one.subject, *report]


def _to_next_day(pair: Pair, rng: random.Random) -> list[Group]:
    one = pair[0]
    opening = tagged(rng.choice(("said/VBD", "said/VBD that/IN", "told/VBD me/PRP that/IN", "promised/VBD that/IN")))
    time = said(rng.choice(("the next day", "the following week", "the next morning", "the following day")))
    return [*tagged(rng.choice(_KNOWERS)), *opening, *one.subject, *tagged("would/MD"), *one.base(), *time]


def _to_no_will(pair: Pair, rng: random.Random) -> list[Group]:
    one, other = pair
    conjunction = rng.choice(_WILL_CONJUNCTIONS)
    will = "wo/MD+n't/RB" if rng.random() < 0.15 else "will/MD"
    clause = [*tagged(conjunction), *one.subject, *one.present()]
    first = 0.0 if conjunction == "until/IN" else 0.6
    return _either_order(clause, [*other.subject, *tagged(will), *other.base()], rng, first=first)


_WILL_CONJUNCTIONS = (
    "if/IN", "if/IN", "if/IN", "when/WRB", "when/WRB", "before/IN", "after/IN", "until/IN", "unless/IN",
    "as/RB soon/RB as/IN", "once/IN", "by/IN the/DT time/NN",
)  # fmt: skip


def _to_embedded(pair: Pair, rng: random.Random) -> list[Group]:
    """ "I don't know when he will come", "She said that he will come": will is right here."""
    one = pair[0]
    body = [*one.subject, *tagged("will/MD"), *one.base()]
    if rng.random() < 0.35:
        return [*tagged(rng.choice(_KNOWERS)), *tagged(rng.choice(("said/VBD", "said/VBD that/IN"))), *body]
    return [
        *tagged(rng.choice(_QUESTIONS)),
        *tagged(rng.choice(("when/WRB", "if/IN", "whether/IN", "when/WRB"))),
        *body,
    ]


_QUESTIONS = word_list("embedding_clauses")


def _to_whenever(pair: Pair, rng: random.Random) -> list[Group]:
    """ "When he comes home, she cooks": two presents are right."""
    one, other = pair
    conjunction = rng.choice(("when/WRB", "when/WRB", "if/IN", "before/IN", "after/IN", "while/IN"))
    clause = [*tagged(conjunction), *one.subject, *one.present()]
    return _either_order(clause, [*other.subject, *other.present()], rng)


def _to_second_condition(pair: Pair, rng: random.Random) -> list[Group]:
    one, other = pair
    clause = [*tagged("if/IN"), *one.subject, *one.past()]
    would = rng.choice(("would/MD", "would/MD", "would/MD", "could/MD", "would/MD+n't/RB"))
    return _either_order(clause, [*other.subject, *tagged(would), *other.base()], rng)


def _to_third_condition(pair: Pair, rng: random.Random) -> list[Group]:
    one, other = pair
    had = rng.choice(("had/VBD", "had/VBD", "had/VBD", "had/VBD+n't/RB"))
    would = rng.choice(("would/MD", "would/MD", "would/MD", "could/MD", "might/MD", "would/MD+n't/RB"))
    clause = [*tagged("if/IN"), *one.subject, *tagged(had), *one.participle()]
    return _either_order(clause, [*other.subject, *tagged(f"{would} have/VB"), *other.participle()], rng)


def _to_wish(pair: Pair, rng: random.Random) -> list[Group]:
    one = pair[0]
    frame = rng.choice(_WISHES)
    if "only" in frame and rng.random() < 0.5:
        return [*tagged(frame), *one.subject, *tagged("could/MD"), *one.base()]
    roll = rng.random()
    if roll < 0.3 and "time" not in frame:
        return [*tagged(frame), *one.subject, *tagged("had/VBD"), *one.participle()]
    if roll < 0.42 and not one.is_be:
        return [*tagged(frame), *one.subject, *tagged("did/VBD+n't/RB"), *one.base()]
    return [*tagged(frame), *one.subject, *one.past()]


_WISHES = word_list("wishing_clauses")

# The kind, and whether both halves must be events.
_JOINS: tuple[tuple[Join, bool], ...] = (
    (_to_story, True), (_to_when_past, True), (_to_while, True), (_to_past_perfect, True), (_to_after, True),
    (_to_noticed, True), (_to_thought, False), (_to_next_day, True), (_to_no_will, False), (_to_embedded, False),
    (_to_whenever, True),
    (_to_second_condition, False), (_to_third_condition, False), (_to_wish, False),
)  # fmt: skip

"""New right sentences from plain ones, for reasons the text offers too few chances for.

A plain sentence ("He works in a bank.") gets a time word, a clause or another verb in front, tags included; the
rules then find its corruptions like those of any other. Only short sentences with one finite verb are touched.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from api.verbs import VerbForms
from ops.training.corpus import TaggedSentence, TaggedToken
from ops.training.corruption import lexicon as lex
from ops.training.corruption.lexicon import Lexicon, words
from ops.training.corruption.view import View, Word, is_adverb


def _choices(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


_TIME_WORDS = words(
    "yesterday today tonight tomorrow ago last next now then once ever yet already before after since when while "
    "until if because that who which what as than every always usually often sometimes never soon just later "
    "still again too this and or but for in 'd had not if"
) - words("for in this that and too again")
_FUTURE = _choices("tomorrow|next week|next month|next year|next Sunday|next summer|tomorrow morning|tomorrow evening")
_PAST = _choices(
    "yesterday|last night|last week|last month|last year|two days ago|an hour ago|three years ago|"
    "a week ago|last summer"
)
_HABIT = _choices("every day|every morning|every evening|every week|every Sunday|on Sundays|twice a week|once a week")
_SINCE = _choices(
    "since May|since last year|since 2010|since Monday|since he came here|since then|since last summer|since 1998"
)
_FOR = _choices("for two years|for ten years|for a long time|for many years|for three months|for six weeks")
_LASTING = words("live work know be teach study own play love like hate belong")
_NOT_TOMORROW = lex.STATE_VERBS | words("be have do die bear say live feel love think use keep let get hear see")
_CLAUSES = _choices(
    "he/PRP comes/VBZ home/NN|she/PRP calls/VBZ|Tom/NNP arrives/VBZ|it/PRP rains/VBZ|"
    "the/DT train/NN leaves/VBZ|she/PRP gets/VBZ here/RB|he/PRP finishes/VBZ his/PRP$ work/NN|"
    "my/PRP$ mother/NN comes/VBZ back/RB|the/DT film/NN ends/VBZ|Mary/NNP tells/VBZ him/PRP|"
    "the/DT rain/NN stops/VBZ|he/PRP asks/VBZ me/PRP|I/PRP see/VBP him/PRP|I/PRP find/VBP it/PRP|"
    "we/PRP meet/VBP again/RB|they/PRP arrive/VBP|I/PRP have/VBP time/NN|my/PRP$ friend/NN writes/VBZ|"
    "the/DT teacher/NN sees/VBZ this/DT|she/PRP reads/VBZ the/DT letter/NN|"
    "he/PRP sells/VBZ his/PRP$ car/NN|Ann/NNP wins/VBZ|the/DT bus/NN stops/VBZ|I/PRP get/VBP home/NN|"
    "they/PRP buy/VBP the/DT house/NN|the/DT baby/NN wakes/VBZ up/RP|your/PRP$ brother/NN pays/VBZ"
)
_OPENERS = _choices("When/WRB|If/IN|As/RB soon/RB as/IN|Before/IN|After/IN|Unless/IN|When/WRB|If/IN")
_BY_THEN = _choices(
    "when/WRB he/PRP arrived/VBD|when/WRB we/PRP got/VBD there/RB|before/IN she/PRP came/VBD|"
    "when/WRB I/PRP called/VBD|by/IN the/DT time/NN they/PRP came/VBD|when/WRB Tom/NNP arrived/VBD|"
    "before/IN the/DT guests/NNS came/VBD|when/WRB it/PRP started/VBD to/TO rain/VB|"
    "by/IN the/DT time/NN we/PRP left/VBD"
)
_GERUND_FRAMES = _choices(
    "enjoyed/VBD|avoided/VBD|finished/VBD|gave/VBD up/RP|kept/VBD|practiced/VBD|"
    "looked/VBD forward/RB to/TO|got/VBD used/VBN to/TO|objected/VBD to/TO|can't_help|admitted/VBD|"
    "considered/VBD|thought/VBD about/IN|denied/VBD|missed/VBD|insisted/VBD on/IN|quit/VBD|"
    "left/VBD without/IN|felt/VBD like/IN"
)
_MOST_PER_KIND = 3000
_RARE_COUNT = 60
_RARE_SUBJECTS = _choices(
    "he/PRP|she/PRP|they/PRP|we/PRP|I/PRP|Tom/NNP|the/DT man/NN|my/PRP$ brother/NN|the/DT girls/NNS|you/PRP"
)
_RARE_ENDINGS = _choices("it/PRP|them/PRP|there/RB|again/RB|at/IN last/JJ|in/IN the/DT end/NN|with/IN us/PRP")

Group = list[TaggedToken]
Rewrite = Callable[["_Plain", random.Random], list[Group] | None]


class _Plain:
    """A short declarative sentence: subject words, one finite verb, the rest; token groups alongside."""

    def __init__(self, view: View, groups: list[Group], verb: int, first_rest: int, number: str) -> None:
        self.lexicon = view.lexicon
        self.verb: Word = view.words[verb]
        self.subject = _uncapital(groups[:verb])
        self.rest = groups[first_rest:]
        self.number = number
        self.next: Word = view.at(verb + 1)
        self.view = view
        self.verb_index = verb


def rewritten(sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random) -> list[TaggedSentence]:
    """At most a few thousand new sentences of each kind, from a random part of the text."""
    made: dict[Rewrite, list[TaggedSentence]] = {rewrite: [] for rewrite in _REWRITES}
    most = min(_MOST_PER_KIND, len(sentences) // 50 + 20)
    for sentence in rng.sample(sentences, len(sentences)):
        wanting = [rewrite for rewrite, done in made.items() if len(done) < most]
        if not wanting:
            break
        plain = _plain(sentence, lexicon)
        for rewrite in wanting if plain else ():
            groups = rewrite(plain, rng)
            if groups:
                made[rewrite].append(_assemble(sentence.source, groups))
    return [sentence for done in made.values() for sentence in done]


def rare_verb_sentences(lexicon: Lexicon, rng: random.Random) -> list[TaggedSentence]:
    """Bare sentences for irregular verbs the text hardly has: "She waylaid him."."""
    made = []
    for verb in lexicon.base.values():
        if not verb.is_irregular or verb.count >= _RARE_COUNT or not verb.lemma.isalpha():
            continue
        for subject in rng.sample(_RARE_SUBJECTS, 6):
            past, participle = verb.pasts[0], verb.participles[0]
            ending = _tagged(rng.choice(_RARE_ENDINGS))
            made.append(_assemble("made", [*_tagged(subject), *_tagged(f"{past}/VBD"), *ending]))
            had = _tagged(f"{rng.choice(('had/VBD', 'could/MD have/VB', 'had/VBD never/RB'))} {participle}/VBN")
            made.append(_assemble("made", [*_tagged(subject), *had, *ending]))
    return made


def _plain(sentence: TaggedSentence, lexicon: Lexicon) -> _Plain | None:
    tokens = sentence.tokens
    marks = [token.text for token in tokens if token.word_number is None]
    if marks != ["."] or tokens[-1].text != "." or len(tokens) > 11:
        return None
    view = View(sentence, lexicon)
    finite = [i for i, word in enumerate(view.words) if word.tag in ("VBD", "VBZ", "VBP", "MD")]
    if len(finite) != 1 or not view.lower_set.isdisjoint(_TIME_WORDS):
        return None
    verb = finite[0]
    subject = view.subject(verb)
    is_simple = not any(word.is_contraction or is_adverb(word) for word in view.words[: verb + 1])
    if subject is None or subject.first != 0 or not subject.number or not is_simple:
        return None
    groups: list[Group] = [[] for _ in view.words]
    for token in tokens[:-1]:
        groups[token.word_number].append(token)  # type: ignore[index]
    return _Plain(view, groups, verb, verb + 1, subject.number)


def _past_event(plain: _Plain) -> VerbForms | None:
    verb = plain.lexicon.past.get(plain.verb.lower) if plain.verb.tag == "VBD" else None
    is_clear = verb is not None and (plain.verb.lower != verb.lemma or plain.number == "sg")
    return verb if is_clear and verb.lemma not in _NOT_TOMORROW and plain.next.tag not in ("VBN", "VBG") else None


def _to_future(plain: _Plain, rng: random.Random) -> list[Group] | None:
    verb = _past_event(plain)
    if verb is None:
        return None
    time = _said(rng.choice(_FUTURE))
    body = [*plain.subject, *_tagged(f"will/MD {verb.lemma}/VB"), *plain.rest]
    return [*time, *body] if rng.random() < 0.4 else [*body, *time]


def _to_past_time(plain: _Plain, rng: random.Random) -> list[Group] | None:
    verb = _past_event(plain)
    if verb is None:
        return None
    time = _said(rng.choice(_PAST))
    body = [*plain.subject, *_tagged(f"{plain.verb.lower}/VBD"), *plain.rest]
    return [*time, *body] if rng.random() < 0.4 else [*body, *time]


def _present(plain: _Plain) -> VerbForms | None:
    if plain.verb.tag == "VBZ":
        return plain.lexicon.third.get(plain.verb.lower)
    return plain.lexicon.base.get(plain.verb.lower) if plain.verb.tag == "VBP" else None


def _to_habit(plain: _Plain, rng: random.Random) -> list[Group] | None:
    verb = _present(plain)
    if verb is None or verb.lemma not in lex.ACTIVITY_VERBS:
        return None
    middle = _tagged(f"{plain.verb.lower}/{plain.verb.tag}")
    if rng.random() < 0.75:
        adverb = rng.choice(("usually", "rarely", "seldom", "normally", "generally"))
        return [*plain.subject, *_tagged(f"{adverb}/RB"), *middle, *plain.rest]
    return [*plain.subject, *middle, *plain.rest, *_said(rng.choice(_HABIT))]


def _to_perfect(plain: _Plain, rng: random.Random) -> list[Group] | None:
    have = "has/VBZ" if plain.number == "sg" else "have/VBP"
    if plain.verb.lower in ("is", "are", "am"):
        if plain.next.tag != "JJ" or len(plain.rest) != 1 or plain.next.lower not in _PASSING_STATES:
            return None
        participle = "been"
    else:
        verb = _present(plain)
        if verb is None or verb.lemma not in _LASTING:
            return None
        participle = verb.participles[0]
    times = _FOR if rng.random() < 0.4 else _SINCE
    return [*plain.subject, *_tagged(f"{have} {participle}/VBN"), *plain.rest, *_said(rng.choice(times))]


_PASSING_STATES = words("ill sick busy sad happy away tired angry absent married unhappy dead single quiet lonely free")


def _to_past_perfect(plain: _Plain, rng: random.Random) -> list[Group] | None:
    verb = _past_event(plain)
    if verb is None or verb.lemma == "begin":
        return None
    already = "already/RB " if rng.random() < 0.6 else ""
    had = _tagged(f"had/VBD {already}{verb.participles[0]}/VBN")
    return [*plain.subject, *had, *plain.rest, *_tagged(rng.choice(_BY_THEN))]


def _to_will_clause(plain: _Plain, rng: random.Random) -> list[Group] | None:
    if plain.verb.lower != "will" or plain.next.tag != "VB":
        return None
    body = [*plain.subject, *_tagged("will/MD"), *plain.rest]
    clause = [*_tagged(rng.choice(_OPENERS)), *_tagged(rng.choice(_CLAUSES))]
    if rng.random() < 0.65:
        return [*clause, [TaggedToken(",", ",", None)], *body]
    return [*body, *_uncapital(clause)]


def _to_wish(plain: _Plain, rng: random.Random) -> list[Group] | None:
    if plain.verb.lower in ("is", "are", "am"):
        past = "were"
    elif plain.verb.lower == "can":
        past = "could"
    else:
        verb = _present(plain)
        if verb is None or verb.pasts[0] == verb.lemma:
            return None
        past = verb.pasts[0]
    tag = "MD" if past == "could" else "VBD"
    return [*_tagged("I/PRP wish/VBP"), *plain.subject, *_tagged(f"{past}/{tag}"), *plain.rest]


def _to_gerund(plain: _Plain, rng: random.Random) -> list[Group] | None:
    """ "He wants to drive the car" -> "He avoided driving the car"."""
    if plain.next.lower != "to" or len(plain.rest) < 2 or plain.verb.tag == "MD":
        return None
    base = plain.rest[1][0]
    verb = plain.lexicon.base.get(base.text) if base.tag == "VB" and len(plain.rest[1]) == 1 else None
    if verb is None or verb.lemma in ("be", "have", "do", "go") or verb.lemma in lex.STATE_VERBS:
        return None
    frame = rng.choice(_GERUND_FRAMES)
    opening = _tagged("can't/MD help/VB" if frame == "can't_help" else frame)
    return [*plain.subject, *opening, *_tagged(f"{verb.ing}/VBG"), *plain.rest[2:]]


_REWRITES: tuple[Rewrite, ...] = (
    _to_future, _to_past_time, _to_habit, _to_perfect, _to_past_perfect, _to_will_clause, _to_wish, _to_gerund,
)  # fmt: skip


def _tagged(text: str) -> list[Group]:
    return [[TaggedToken(*raw.rsplit("/", 1), None)] for raw in text.split()]


def _said(text: str) -> list[Group]:
    """Time words, which no rule looks at by their tag; "he came" keeps its finite verb."""
    tags = {"he": "PRP", "came": "VBD", "every": "DT", "last": "JJ", "next": "JJ", "ago": "RB"}
    return [[TaggedToken(word, tags.get(word, "NN"), None)] for word in text.split()]


def _uncapital(groups: list[Group]) -> list[Group]:
    first = groups[0][0]
    if first.tag.startswith("NNP") or first.text == "I":
        return groups
    lowered = TaggedToken(first.text[:1].lower() + first.text[1:], first.tag, first.word_number)
    return [[lowered, *groups[0][1:]], *groups[1:]]


def _assemble(source: str, groups: Iterable[Group]) -> TaggedSentence:
    tokens = list(_numbered(groups))
    tokens[0] = TaggedToken(tokens[0].text[:1].upper() + tokens[0].text[1:], tokens[0].tag, 0)
    text = ""
    previous = None
    for token in tokens:
        is_glued = token.word_number is None or token.word_number == previous
        text += token.text if is_glued or not text else " " + token.text
        previous = token.word_number
    return TaggedSentence(source, text + ".", (*tokens, TaggedToken(".", ".", None)))


def _numbered(groups: Iterable[Group]) -> Iterator[TaggedToken]:
    number = 0
    for group in groups:
        if group[0].tag == ",":
            yield group[0]
            continue
        for token in group:
            yield TaggedToken(token.text, token.tag, number)
        number += 1

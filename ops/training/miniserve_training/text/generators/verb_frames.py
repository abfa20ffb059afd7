"""Right sentences for verb groups and complements that the text has too few of, filled with its own verb phrases.

"I hope to catch the last train." gives the phrase "catch the last train", which "S be good at ING" makes into "Tom was
good at catching the last train."; the rules then break it like any other. `verb_frames.tsv` holds the frames:

`S` is a subject; `be/B`, `want/V`, `have/H` agree with it, in the present or past (`have`: present); `BASE`, `ING`,
`PART`, `PAST` stand for a verb phrase of the text, opened by that form; `P` is a person as an object. In passives `O`
is the object of the verb phrase, as a subject, and `X` an agent ("by her") or nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from api.grammar.verbs import VerbForms
from miniserve_training.text import lexicon as lex
from miniserve_training.text.corpus import TaggedSentence, TaggedToken
from miniserve_training.text.generators.plain import BE, DO, HAVE, Group, assemble, present_of, tagged
from miniserve_training.text.lexicon import Lexicon, words
from miniserve_training.text.tables import texts, word_list, word_set

_MOST_PER_FRAME = 300
_MOST_PHRASES = 12_000
_MOST_REST_WORDS = 5
_REST_TAGS = frozenset(("DT", "NN", "NNS", "PRP", "PRP$", "JJ", "IN", "RB", "RP", "NNP", "CD"))
_OPENERS = words("to will can could would should must may might don't didn't doesn't won't can't")
_UNFIT_VERBS = words("be have do let get seem mean like use go come become happen please thank") | lex.STATE_VERBS
# A clause word, a time of its own, or a word that refers to the old subject or leans on a "not".
_UNFIT_WORDS = word_set("unfit_in_verb_phrases")
_SUBJECTS = word_list("subjects")
_SINGULAR = words("he she tom mary ken brother teacher sister man boy doctor boss wife manager")
_PERSONS = word_list("object_persons")
_AGENTS = word_list("agents")
_FORM_TAGS = {"BASE": "VB", "ING": "VBG", "PART": "VBN", "PAST": "VBD", "DONE": "VBN"}


class Phrase(NamedTuple):
    """A verb of the text and what followed it."""

    verb: VerbForms
    rest: tuple[TaggedToken, ...]

    @property
    def object_number(self) -> str:
        """ "sg" or "pl" if what follows is one whole noun phrase, that may be a subject as well; or ""."""
        tags = [token.tag for token in self.rest]
        if len(tags) < 2 or tags[0] not in ("DT", "PRP$") or any(tag not in ("NN", "JJ") for tag in tags[1:-1]):
            return ""
        last = self.rest[-1].text.lower()
        if self.verb.lemma in lex.INTRANSITIVE_VERBS or last in lex.COLLECTIVES:
            return ""
        return {"NN": "sg", "NNS": "pl"}.get(tags[-1], "")


def verb_frame_sentences(
    sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random
) -> list[TaggedSentence]:
    phrases = _phrases(sentences, lexicon, rng)
    if not phrases:
        return []
    most = min(_MOST_PER_FRAME, len(sentences) // 500 + 2)
    made = []
    for kind, mark in (("statement", "."), ("question", "?"), ("embedded", "."), ("reply", ".")):
        for frame in texts("verb_frames", kind):
            is_fixed = _FORM_TAGS.keys().isdisjoint(frame.split())
            count = most // 15 + 1 if is_fixed else most
            made += [_filled(frame, rng.choice(phrases), mark, lexicon, rng) for _ in range(count)]
    objects = [phrase for phrase in phrases if phrase.object_number]
    for frame in texts("verb_frames", "passive") if objects else ():
        made += [_filled(frame, rng.choice(objects), ".", lexicon, rng) for _ in range(2 * most)]
    return made


def _phrases(sentences: Sequence[TaggedSentence], lexicon: Lexicon, rng: random.Random) -> list[Phrase]:
    """Verb phrases of a random part of the text, as many of a rare verb as of a common one as far as they go."""
    found: dict[str, list[Phrase]] = {}
    count = 0
    for sentence in rng.sample(sentences, len(sentences)):
        phrase = _phrase_of(sentence, lexicon)
        if phrase is None:
            continue
        of_verb = found.setdefault(phrase.verb.lemma, [])
        if len(of_verb) < (60 if phrase.verb.is_irregular else 12):
            of_verb.append(phrase)
            count += 1
            if count >= _MOST_PHRASES:
                break
    return [phrase for of_verb in found.values() for phrase in of_verb]


def _phrase_of(sentence: TaggedSentence, lexicon: Lexicon) -> Phrase | None:
    """The infinitive that ends the sentence, with its objects."""
    tokens = sentence.tokens
    if len(tokens) < 4 or tokens[-1].text != "." or tokens[-2].word_number is None:
        return None
    first = max(1, len(tokens) - 2 - _MOST_REST_WORDS)
    at = next((i for i in range(len(tokens) - 2, first - 1, -1) if tokens[i].tag == "VB"), None)
    if at is None or not (tokens[at - 1].text.lower() in _OPENERS or tokens[at - 1].tag in ("MD", "TO")):
        return None
    verb, rest = lexicon.base.get(tokens[at].text), tokens[at + 1 : -1]
    if verb is None or verb.lemma in _UNFIT_VERBS or not _is_fit(rest):
        return None
    if verb.lemma in lexicon.known_adjectives and not (rest and rest[0].tag in ("DT", "PRP", "PRP$")):
        return None  # "to direct sunlight": no verb at all
    if not rest and verb.lemma not in lex.ACTIVITY_VERBS | lex.INTRANSITIVE_VERBS:
        return None
    return Phrase(verb, rest)


def _is_fit(rest: Sequence[TaggedToken]) -> bool:
    if any(token.tag not in _REST_TAGS or token.text.lower() in _UNFIT_WORDS for token in rest):
        return False
    numbers = [token.word_number for token in rest]
    is_whole = None not in numbers and len(set(numbers)) == len(numbers)
    return is_whole and not (rest and rest[-1].tag in ("IN", "TO", "DT", "PRP$", "JJ"))


def _filled(frame: str, phrase: Phrase, mark: str, lexicon: Lexicon, rng: random.Random) -> TaggedSentence:
    parts = frame.split()
    if parts[-1] == "?":
        mark = parts.pop()
    number = "pl"
    is_past = rng.random() < 0.4
    groups: list[Group] = []
    for part in parts:
        if part == "S":
            subject = rng.choice(_SUBJECTS)
            number = _number(subject)
            groups += tagged(subject)
        elif part == "O":
            number = phrase.object_number
            groups += [[token] for token in phrase.rest]
        elif part == "P":
            groups += tagged(rng.choice(_PERSONS))
        elif part == "X":
            groups += tagged(rng.choice(_AGENTS))
        elif part in _FORM_TAGS:
            groups += _verb_phrase(phrase, part)
        else:
            groups += tagged(_agreeing(part, number, is_past, lexicon))
    return assemble("frames", groups, mark)


def _number(subject: str) -> str:
    last = subject.rsplit(" ", 1)[-1].split("/")[0].lower()
    return "i" if last == "i" else "sg" if last in _SINGULAR else "pl"


def _verb_phrase(phrase: Phrase, form: str) -> Iterator[Group]:
    verb = phrase.verb
    forms = {"BASE": verb.lemma, "ING": verb.ing, "PAST": verb.pasts[0]}
    yield [TaggedToken(forms.get(form, verb.participles[0]), _FORM_TAGS[form], None)]
    if form != "DONE":
        yield from ([token] for token in phrase.rest)


def _agreeing(part: str, number: str, is_past: bool, lexicon: Lexicon) -> str:
    """ "want/V" -> "wants/VBZ"; what does not agree stays as it is."""
    head, plus, ending = part.partition("+")
    lemma, tag = head.rsplit("/", 1)
    if tag == "B":
        return BE[number][is_past] + plus + ending
    if tag == "H":
        return HAVE[number] + plus + ending
    if tag == "V":
        if lemma == "do":
            return ("did/VBD" if is_past else DO[number]) + plus + ending
        verb = lexicon.base[lemma]
        return f"{verb.pasts[0]}/VBD" if is_past else present_of(verb, number)
    return part

"""What follows a verb or a preposition: to-infinitive, bare infinitive or -ing."""

from __future__ import annotations

from api.grammar.reasons import Reason
from api.grammar.verbs import VerbForms
from miniserve_training.text import lexicon as lex
from miniserve_training.text.lexicon import words
from miniserve_training.text.tables import word_set
from miniserve_training.text.view import View

_TO_VERBS = word_set("to_verbs")
_NEVER_ING = words("want hope decide refuse promise expect agree manage plan wish offer afford pretend hesitate")
_OBJECT_TO_VERBS = words("ask tell want allow advise order expect force invite persuade encourage warn teach enable")
_NEVER_OBJECT_ING = words("ask tell allow advise order invite persuade encourage warn enable")
_TO_WORDS = words("able going used")
_BARE_VERBS = words("let make see hear watch notice")
_ING_VERBS = word_set("ing_verbs")
_ING_PREPOSITIONS = words("before after without by of in at about from for on against")
# "They practise to win", "She quit to study": what follows may be the purpose.
_PURPOSE_AFTER = words("keep consider miss imagine quit practice practise")
_NOT_GERUNDS = words("regard include follow accord concern depend owe be")
_PERSONS = words("i you he she we they i'm he's she's you're we're they're")
_HAD_BETTER = words("had you'd i'd we'd he'd she'd they'd")
_WOULD_RATHER = words("would i'd you'd he'd she'd we'd they'd")
# Tagged as gerunds now and then, but nouns: "articles of clothing".
_GERUND_NOUNS = word_set("gerund_nouns")
_TO_PREPOSITION = word_set("before_to_and_ing")


def add_complement_errors(view: View) -> None:
    for index, word in enumerate(view.words):
        if word.lower == "to" and word.is_joined:
            _add_dropped_to(view, index)
            _add_after_preposition_to(view, index)
        if word.tag == "VB" and not word.is_contraction:
            _add_bare(view, index)
        if word.tag == "VBG":
            _add_gerund(view, index)


def _lemma(view: View, index: int) -> str:
    lower = view.at(index).lower
    lexicon = view.lexicon
    for forms in (lexicon.past, lexicon.third, lexicon.ing, lexicon.participle):
        if lower in forms:
            return forms[lower].lemma
    return lower


def _add_dropped_to(view: View, to: int) -> None:
    """ "hope win", "asked him come", "decided going"."""
    base, before = view.at(to + 1), view.at(to - 1)
    verb = view.lexicon.base.get(base.lower)
    if base.tag != "VB" or not before.is_joined or (verb is None and base.lower != "be"):
        return
    lemma = _lemma(view, to - 1) if before.tag[:1] == "V" else ""
    is_asked = view.at(to - 2).tag == "PRP" and view.at(to - 3).lower == "would"  # "Would you like to"
    if before.lower == "like" and (is_asked or view.at(to - 2).lower in ("would", "i'd", "you'd")):
        lemma = "want"
    governs = lemma in _TO_VERBS or before.lower in _TO_WORDS
    if before.lower == "used" and not view.subject(to - 1):
        return
    if before.lower in lex.OBJECT_PRONOUNS:
        governs = view.at(to - 2).is_joined and _lemma(view, to - 2) in _OBJECT_TO_VERBS and before.lower != "her"
        governs = governs and not (_lemma(view, to - 2) == "expect" and before.lower in ("you", "it"))  # that you feel
    if not governs or _is_emphatic(lemma, before.lower) or (lemma == "have" and not _is_after_auxiliary(view, to - 1)):
        return
    if base.lower == "be" or not view.may_be_noun(base.lower, to + 1) or before.lower in lex.OBJECT_PRONOUNS:
        view.add(Reason.TO_INF, base.lower, to, base.lower, 2)
    is_persuaded = before.lower in lex.OBJECT_PRONOUNS and _lemma(view, to - 2) in _NEVER_OBJECT_ING
    if (lemma in _NEVER_ING and before.lower not in lex.OBJECT_PRONOUNS) or is_persuaded:
        view.add(Reason.TO_INF, base.lower, to, view.lexicon.ing_of(base.lower), 2)


def _is_after_auxiliary(view: View, have: int) -> bool:
    """ "don't have go" lacks "to"; "have go" may as well lack the participle."""
    before = view.at(have - 1)
    return before.is_joined and (before.lower in lex.MODAL_WORDS or before.lower in lex.DO_WORDS)


def _is_emphatic(lemma: str, form: str) -> bool:
    """ "need not", "I have had": need and have without "to" can be auxiliaries."""
    return (lemma == "need" and form == "need") or (lemma == "have" and form not in ("have", "has", "had"))


def _add_bare(view: View, index: int) -> None:
    """ "let him to go", "made her to cry", "had better to go"."""
    word = view.words[index]
    verb = view.lexicon.base.get(word.lower)
    before = view.at(index - 1)
    if (verb is None and word.lower != "be") or not before.is_joined:
        return
    governor = _bare_governor(view, index)
    if governor is None:
        return
    view.add(Reason.BARE_INF, word.lower, index, f"to {word.lower}")
    if governor in ("let", "let's", "better") and verb is not None:
        view.add(Reason.BARE_INF, word.lower, index, verb.ing)
    if governor in ("let", "make") and verb is not None and verb.pasts[0] != verb.lemma:
        view.add(Reason.BARE_INF, word.lower, index, verb.pasts[0])


def _bare_governor(view: View, index: int) -> str | None:
    before = view.at(index - 1)
    if before.lower == "let's":
        return "let's"
    if before.lower == "better" and view.at(index - 2).lower in _HAD_BETTER:
        return "better"
    if before.lower == "rather" and view.at(index - 2).lower in _WOULD_RATHER:
        return "better"
    if before.lower == "not" and index == 2 and view.at(0).lower == "why":
        return "better"
    if not view.at(index - 2).is_joined:
        return None
    start = index - 1 if before.lower in lex.OBJECT_PRONOUNS else view.noun_phrase_start(index - 1)
    if start is None or before.tag == "NNS" and start == index - 1:
        return None
    verb = view.at(start - 1)
    if not verb.is_joined or verb.tag[:1] != "V":
        return None
    lemma = "let" if verb.lower == "let" else _lemma(view, start - 1)
    return lemma if lemma in _BARE_VERBS and not _is_passive(view, start - 1) else None


def _is_passive(view: View, index: int) -> bool:
    return view.at(index - 1).lower in lex.BE_WORDS or view.at(index - 1).lower == "been"


def _add_gerund(view: View, index: int) -> None:
    """ "before leave", "by to work", "avoid to drive"."""
    word, before = view.words[index], view.at(index - 1)
    verb = view.lexicon.ing.get(word.lower)
    if verb is None or not before.is_joined or verb.lemma in _NOT_GERUNDS or word.is_contraction:
        return
    if word.lower in _GERUND_NOUNS and not view.object_follows(index):
        return
    if before.lower in _ING_PREPOSITIONS and before.tag in ("IN", "RP"):
        _add_wrong_gerund(view, index, verb, Reason.ING_PREP)
        if (
            before.lower not in ("about", "for", "in", "on", "from", "of", "at")
            or before.lower in ("of", "at", "from", "in")
            and view.object_follows(index)
        ):
            view.add(Reason.ING_PREP, verb.lemma, index, f"to {verb.lemma}")
        return
    governor = _lemma(view, index - 1)
    is_give_up = before.lower == "up" and _lemma(view, index - 2) == "give"
    if _is_worth(view, index - 1):
        _add_wrong_gerund(view, index, verb, Reason.ING_VERB)
        view.add(Reason.ING_VERB, verb.lemma, index, f"to {verb.lemma}")
        return
    is_cannot_help = before.lower == "help" and view.at(index - 2).lower in ("can't", "cannot", "couldn't", "not")
    if (governor in _ING_VERBS and before.tag[:1] == "V") or is_give_up or is_cannot_help:
        if is_give_up or is_cannot_help or governor not in _PURPOSE_AFTER:
            view.add(Reason.ING_VERB, verb.lemma, index, f"to {verb.lemma}")
        if not is_cannot_help and governor != "suggest":
            _add_wrong_gerund(view, index, verb, Reason.ING_VERB)


def _is_worth(view: View, index: int) -> bool:
    """ "worth reading", "busy cooking", "feel like going"."""
    lower = view.at(index).lower
    return lower in ("worth", "busy") or (lower == "like" and _lemma(view, index - 1) == "feel")


def _add_wrong_gerund(view: View, index: int, verb: VerbForms, reason: Reason) -> None:
    """ "good at sing", "without close the door"; never "before work", which may be a noun, or "of open"."""
    may_be_other = verb.lemma in view.lexicon.bare_nouns or verb.lemma in view.lexicon.known_adjectives
    if not may_be_other or view.object_follows(index):
        view.add(reason, verb.lemma, index, verb.lemma)


def _add_after_preposition_to(view: View, to: int) -> None:
    """ "look forward to see", "is used to live": here "to" is a preposition."""
    gerund, before = view.at(to + 1), view.at(to - 1)
    verb = view.lexicon.ing.get(gerund.lower)
    if gerund.tag not in ("VBG", "NN") or verb is None or not before.is_joined:
        return
    if before.lower not in _TO_PREPOSITION:
        return
    if before.lower in ("used", "close", "comes") and not _is_habituated(view, to - 1):
        return
    view.add(Reason.ING_TO, verb.lemma, to + 1, verb.lemma)


def _is_habituated(view: View, index: int) -> bool:
    """Persons are used to living here; things are used to live by: "It is used to make tea" is right."""
    before = view.at(index - 1).lower
    if view.words[index].lower == "comes":
        return before == "it"
    near = set(view.lowers[max(0, index - 4) : index])
    return before in ("get", "got", "getting", "gets") or not near.isdisjoint(_PERSONS)

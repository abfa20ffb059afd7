"""Lists small closed classes of English words, by which the explanations find subjects and words that ask for a form.

Modules use them as `word_sets.NAME`, so that no import lists dozens of names.
"""

from __future__ import annotations

from api.grammar.verbs import BE_FORMS, MODALS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BE_PARTS = frozenset(BE_FORMS) | _words("'m 're 's")
HAVE_PARTS = _words("have has had having 've 's 'd")
DO_PARTS = _words("do does did")
MODAL_PARTS = MODALS | _words("ca wo sha 'll 'd")  # can't, won't and shan't without their n't
QUESTION_WORDS = _words("what where when why how who which whom whose often many much long far old")
INVERTED = BE_PARTS | _words("do does have has")  # these come before the subject of a question
INVERTED_PARTS = BE_PARTS | HAVE_PARTS | DO_PARTS | MODAL_PARTS  # and before that of any question with an auxiliary
NEGATIVE_PARTS = _words("not no n't")
CONTRACTED_IS = _words("he she it that there here what who where how")  # their 's is no possessive
CERTAIN_SUBJECTS = _words("i he she we they")  # these are never objects
CLAUSE_WORDS = _words("when if until till unless before after once while whenever as")
PREPOSITIONS = _words(
    "about above across after against along among around at before behind below beneath beside besides between beyond "
    "by despite during for from in inside instead into like near of off on opposite outside over past since than "
    "through till toward towards under until upon via with within without"
)
BARE_VERBS = _words(
    "let lets letting make makes made making help helps helped see sees saw seen hear hears heard watch watched "
    "watches feel felt feels notice noticed have had has"
)
AFTER_A_NOUN = PREPOSITIONS | _words("here there today now tonight yesterday tomorrow who that which and but because")
PARTICLES = _words("up on off out like")  # with the verb before them they are one: gave up, keep on, feel like
NEGATED_TRIGGERS = _words("help stand resist")  # "can't help laughing", but "help to laugh"

SUBJECT_PRONOUNS = _words("i you he she it we they")
OBJECT_PRONOUNS = _words("me you him her it us them")
INDEFINITE_PRONOUNS = _words(
    "everyone everybody everything someone somebody something anyone anybody anything nobody nothing"
)
DETERMINERS = _words("the a an this that these those my your his her its our their every each another")
COUNTS = _words("many several few two three four five six seven eight nine ten twelve twenty fifty")
AMOUNTS = COUNTS | _words("both most some all no any one")
PLURAL_DETERMINERS = COUNTS | _words("these those both")
PREDETERMINERS = _words("all both half")
PLURAL_NOUNS = _words(
    "people children men women police mice feet teeth geese oxen cattle grandchildren magi undead alumni "
    "clothes trousers scissors glasses jeans sheep fish deer brothers-in-law sisters-in-law"
)
COLLECTIVE_NOUNS = _words(
    "team family class staff crew committee government audience couple group public jury company band enemy press "
    "majority rest half sheep fish deer series species means data media aircraft crossroads headquarters"
)
SINGULAR_NOUNS_IN_S = _words(
    "news mathematics maths physics economics politics gymnastics athletics measles mumps linguistics statistics "
    "billiards gas bias lens canvas atlas alias chaos ethos corps btrfs"
)
SINGLE_PARTS = _words("each one neither either") | {"every one"}
QUANTITIES = _words("lots plenty most some all half many several few both none any two three four five") | {
    "a lot", "a number", "a couple", "a few", "the majority", "a majority", "the rest", "the others", "a handful",
    "dozens", "hundreds", "thousands",
}  # fmt: skip
RELATIVE_PRONOUNS = _words("who that which whom")
CLAUSE_STARTS = _words(
    "because if when while although though whether where unless but so and before after until till since whenever once "
    "as than"
)
LONG_PREPOSITIONS = (
    "as well as", "together with", "along with", "next to", "close to", "in front of", "but", "except", "to",
)  # fmt: skip
REPORTING_VERBS = _words("think thinks thought know knows knew say says said hope hopes believe believes guess suppose")
ASIDES = _words("who which with along together including like besides unlike as")  # "Tom, with his friends, is"
FIRST_WORDS = _words(
    "only and but so or yes well oh now then today yesterday tomorrow sometimes usually often finally perhaps maybe "
    "because if when while although though"
)
TIME_NOUNS = _words(
    "day night week weekend month year morning evening afternoon summer winter spring autumn time moment second minute "
    "hour monday tuesday wednesday thursday friday saturday sunday way reason first last more"
)
ADVERBS = _words(
    "always often sometimes usually never also still just ever seldom rarely now soon already almost even only both "
    "all then therefore however really probably certainly here there today not"
)
NOT_ADVERBS = _words(
    "family butterfly jelly belly assembly ally fly monopoly anomaly lily bully reply supply bodily italy july"
)
# After one of these the verb may belong to another noun.
PHRASE_STARTS = DETERMINERS | SUBJECT_PRONOUNS | PREPOSITIONS | RELATIVE_PRONOUNS | CLAUSE_STARTS - {"but", "so"}
CLOSED_CLASS = (
    SUBJECT_PRONOUNS | INDEFINITE_PRONOUNS | DETERMINERS | AMOUNTS | PLURAL_DETERMINERS | RELATIVE_PRONOUNS
    | CLAUSE_STARTS | FIRST_WORDS | PREDETERMINERS | MODAL_PARTS | PREPOSITIONS | ADVERBS
    | _words(
        "me him them us whose what why how than as nor neither either none lots plenty not n't please let let's "
        "mine yours hers ours theirs myself yourself himself herself itself ourselves yourselves themselves "
        "am is are was were be been being do does did don't doesn't didn't have has had isn't aren't wasn't weren't "
        "haven't hasn't hadn't won't can't to there here too very much more less"
    )
)  # fmt: skip

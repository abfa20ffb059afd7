"""Small closed classes of English words that the explanations look for."""

from __future__ import annotations

from api.verbs import BE_FORMS, MODALS


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

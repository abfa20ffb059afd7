"""The verb table: no form is both right and mistaken, and every usual form is one word."""

from __future__ import annotations

from api.grammar.verbs import VerbTable

TABLE = VerbTable.load()


def test_over_regularised_forms_never_include_a_right_one() -> None:
    for verb in TABLE.verbs.values():
        if verb.is_irregular:
            assert not set(TABLE.over_regularised(verb.lemma)) & set(verb.all_forms())


def test_the_usual_form_of_every_verb_is_a_single_word() -> None:
    odd = [verb.lemma for verb in TABLE.verbs.values() if not (verb.third + verb.ing).replace("-", "").isalpha()]

    assert odd == []


def test_the_table_holds_all_verbs_but_be() -> None:
    assert "be" not in TABLE.verbs and {"go", "walk"} <= TABLE.verbs.keys()

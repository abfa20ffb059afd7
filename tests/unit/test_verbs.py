"""The verb table: right forms, mistaken forms, and the way back to the lemma."""

from __future__ import annotations

import pytest

from api.grammar.verbs import VerbTable, regular_ed_spellings

TABLE = VerbTable.load()


@pytest.mark.parametrize(
    ("form", "lemmas"),
    [
        ("went", {"go"}), ("goed", {"go"}), ("wented", {"go"}), ("SAW", {"see", "saw"}), ("are", {"be"}),
        ("lain", {"lie"}), ("travelling", {"travel"}), ("planed", {"plane"}), ("quickly", set()), ("", set()),
    ],
)  # fmt: skip
def test_a_form_right_or_over_regularised_leads_to_its_lemmas(form: str, lemmas: set[str]) -> None:
    assert TABLE.lemmas_of(form) == lemmas


def test_a_right_form_is_never_taken_for_a_mistaken_one() -> None:
    assert "find" in TABLE.lemmas_of("finded")
    assert TABLE.lemmas_of("founded") == {"found"}


def test_only_right_forms_count_as_forms() -> None:
    assert [TABLE.is_form(word) for word in ("Went", "being", "goed", "quickly")] == [True, True, False, False]


@pytest.mark.parametrize(
    ("stem", "spellings"),
    [("swim", ("swimmed", "swimed")), ("carry", ("carried", "carryed")), ("make", ("maked",)), ("play", ("played",))],
)
def test_a_regular_ending_comes_in_each_spelling_a_learner_might_write(stem: str, spellings: tuple[str, ...]) -> None:
    assert regular_ed_spellings(stem) == spellings


def test_over_regularised_forms_never_include_a_right_one() -> None:
    for verb in TABLE.verbs.values():
        if verb.is_irregular:
            assert not set(TABLE.over_regularised(verb.lemma)) & set(verb.all_forms())


def test_the_usual_form_of_every_verb_is_a_single_word() -> None:
    odd = [verb.lemma for verb in TABLE.verbs.values() if not (verb.third + verb.ing).replace("-", "").isalpha()]

    assert odd == []


def test_the_table_holds_all_verbs_but_be() -> None:
    assert "be" not in TABLE.verbs and {"go", "walk"} <= TABLE.verbs.keys()

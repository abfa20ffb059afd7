"""Tenses, conditions and states: which mistakes are made of a right sentence, and which never are."""

from __future__ import annotations

import random

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.reasons import Reason
from ops.training.text.generators.clause_rewrites import joined
from ops.training.text.generators.plain import plain_of
from ops.training.text.generators.rewrites import rewritten
from tests.unit.test_corruption import corruptions, maker, tagged

# A right sentence, and for one reason all the wrong ones made of it.
MADE = [
    ("TENSE_PAST", "We/PRP saw/VBD him/PRP the/DT other/JJ day/NN",
     "We see him the other day.|We will see him the other day."),
    ("TENSE_PAST", "It/PRP was/VBD built/VBN in/IN 1890/CD", "It is built in 1890."),
    ("TENSE_PAST", "He/PRP did/VBD+n't/RB call/VB last/JJ week/NN", "He doesn't call last week."),
    ("TENSE_PAST", "I/PRP could/MD+n't/RB sleep/VB last/JJ night/NN", "I can't sleep last night."),
    ("TENSE_PAST", "Two/CD days/NNS ago/RB she/PRP had/VBD a/DT cold/NN",
     "Two days ago she has a cold.|Two days ago she have a cold.|Two days ago she will have a cold."),
    ("TENSE_PAST", "He/PRP said/VBD she/PRP left/VBD yesterday/NN",
     "He said she leaves yesterday.|He said she leave yesterday.|He said she will leave yesterday."),
    ("TENSE_PAST", "When/WRB I/PRP was/VBD young/JJ I/PRP lived/VBD here/RB", "When I was young I live here."),
    ("TENSE_FUT", "They/PRP will/MD come/VB next/JJ week/NN", "They came next week.|They have come next week."),
    ("TENSE_FUT", "I/PRP think/VBP he/PRP wo/MD+n't/RB come/VB tomorrow/NN", "I think he didn't come tomorrow."),
    ("TENSE_PERF", "I/PRP have/VBP known/VBN him/PRP since/IN 2010/CD",
     "I know him since 2010.|I knew him since 2010."),
    ("TENSE_PERF", "She/PRP has/VBZ worked/VBN here/RB for/IN ten/CD years/NNS", "She works here for ten years."),
    ("TENSE_PERF", "I/PRP have/VBP been/VBN waiting/VBG for/IN two/CD hours/NNS", "I am waiting for two hours."),
    ("TENSE_PERF", "It/PRP is/VBZ the/DT first/JJ time/NN he/PRP has/VBZ seen/VBN snow/NN",
     "It is the first time he sees snow."),
    ("TENSE_PERF", "He/PRP has/VBZ+n't/RB come/VBN yet/RB", "He doesn't come yet."),
    ("PAST_NOT_PERF", "I/PRP saw/VBD him/PRP yesterday/NN", "I have seen him yesterday."),
    ("STATIVE", "I/PRP know/VBP him/PRP", "I am knowing him.|I'm knowing him."),
    ("STATIVE", "She/PRP does/VBZ+n't/RB know/VB it/PRP", "She isn't knowing it."),
    ("STATIVE", "I/PRP have/VBP two/CD brothers/NNS", "I am having two brothers.|I'm having two brothers."),
    ("STATIVE", "The/DT soup/NN tastes/VBZ good/JJ", "The soup is tasting good."),
    ("STATIVE", "The/DT house/NN belonged/VBD to/TO him/PRP", "The house was belonging to him."),
    ("HABIT", "He/PRP usually/RB gets/VBZ up/RP at/IN six/CD",
     "He usually is getting up at six.|He is usually getting up at six."),
    ("TENSE_SEQ", "When/WRB he/PRP came/VBD in/RP he/PRP saw/VBD her/PRP",
     "When he comes in he saw her.|When he came in he sees her."),
    ("TENSE_SEQ", "Before/IN she/PRP left/VBD she/PRP locked/VBD it/PRP",
     "Before she leaves she locked it.|Before she left she locks it."),
    ("TENSE_SEQ", "I/PRP thought/VBD he/PRP was/VBD ill/JJ", "I thought he is ill."),
    ("TENSE_SEQ", "We/PRP hoped/VBD that/IN she/PRP would/MD come/VB", "We hoped that she will come."),
    ("TENSE_SEQ", "He/PRP sat/VBD down/RP and/CC then/RB took/VBD it/PRP", "He sat down and then takes it."),
    ("TENSE_SEQ", "She/PRP rose/VBD and/CC she/PRP took/VBD it/PRP", "She rose and she takes it."),
    ("NO_WILL", "If/IN it/PRP rains/VBZ they/PRP will/MD stay/VB", "If it will rain they will stay."),
    ("NO_WILL", "They/PRP will/MD stay/VB until/IN he/PRP comes/VBZ",
     "They will stay until he will come.|They will stay until he'll come."),
    ("NO_WILL", "Call/VB me/PRP when/WRB you/PRP arrive/VBP", "Call me when you will arrive."),
    ("NO_WILL", "I/PRP will/MD go/VB as/RB soon/RB as/IN he/PRP is/VBZ ready/JJ",
     "I will go as soon as he will be ready."),
    ("WISH_PAST", "If/IN only/RB I/PRP knew/VBD", "If only I know."),
    ("WISH_PAST", "It/PRP is/VBZ high/JJ time/NN we/PRP left/VBD", "It is high time we leave."),
    ("WISH_PAST", "I/PRP would/MD rather/RB he/PRP came/VBD", "I would rather he comes."),
    ("WISH_PAST", "If/IN I/PRP had/VBD money/NN I/PRP would/MD buy/VB it/PRP",
     "If I have money I would buy it.|If I would have money I would buy it.|If I had money I will buy it."),
    ("WISH_PAST", "She/PRP would/MD go/VB if/IN she/PRP had/VBD money/NN",
     "She would go if she has money.|She would go if she would have money."),
    ("WISH_PAST", "If/IN I/PRP had/VBD known/VBN I/PRP would/MD have/VB come/VBN",
     "If I would have known I would have come.|If I had known I will have come.|If I had known I had come.|"
     "If I had known I would came."),
    ("WISH_PAST", "I/PRP wish/VBP I/PRP had/VBD known/VBN", "I wish I have known.|I wish I would have known."),
    ("PAST_PERF", "By/IN the/DT time/NN we/PRP came/VBD he/PRP had/VBD left/VBN", "By the time we came he has left."),
    ("PAST_PERF", "She/PRP noticed/VBD that/IN she/PRP had/VBD lost/VBN it/PRP", "She noticed that she has lost it."),
    ("PAST_PERF", "He/PRP had/VBD+n't/RB left/VBN when/WRB we/PRP came/VBD", "He hasn't left when we came."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "wrong"), MADE, ids=[f"{case[0]}-{case[2]}" for case in MADE])
def test_a_right_sentence_is_broken_in_just_these_ways(name: str, text: str, wrong: str) -> None:
    found = {sentence for sentence, edit in corruptions(text).items() if edit.reason is Reason[name]}

    assert found == set(wrong.split("|"))


def test_a_question_about_the_past_is_put_in_the_present() -> None:
    assert "Do you see him yesterday?" in corruptions("Did/VBD you/PRP see/VB him/PRP yesterday/NN", mark="?")
    assert "Where does he go last night?" in corruptions("Where/WRB did/VBD he/PRP go/VB last/JJ night/NN", mark="?")
    assert "Is he late yesterday?" in corruptions("Was/VBD he/PRP late/JJ yesterday/NN", mark="?")


def test_a_form_of_three_words_is_mended_by_two_edits() -> None:
    sentence = tagged("He/PRP usually/RB gets/VBZ up/RP at/IN six/CD")

    found = [maker().make(sentence, random.Random(seed)) for seed in range(60)]

    edits = next(one.edits for one in found if one.sentence.startswith("He is usually getting up"))
    assert edits == (ScriptEdit(1, 2, "usually", Reason.HABIT), ScriptEdit(3, 1, "gets", Reason.HABIT))


def test_how_long_asks_for_the_perfect() -> None:
    text = "How/WRB long/RB have/VBP you/PRP been/VBN waiting/VBG"

    assert "How long are you waiting?" in corruptions(text, mark="?")


@pytest.mark.parametrize(
    ("text", "still_right"),
    [
        ("She/PRP remembered/VBD seeing/VBG him/PRP yesterday/NN", "She remembers seeing him yesterday."),
        ("He/PRP claimed/VBD to/TO be/VB ill/JJ last/JJ week/NN", "He claims to be ill last week."),
        ("He/PRP read/VBD a/DT book/NN written/VBN in/IN 1890/CD", "He reads a book written in 1890."),
        ("She/PRP was/VBD sad/JJ about/IN the/DT game/NN last/JJ night/NN", "She is sad about the game last night."),
        ("I/PRP have/VBP been/VBN here/RB for/IN two/CD weeks/NNS", "I am here for two weeks."),
        ("You/PRP have/VBP studied/VBN it/PRP for/IN six/CD years/NNS", "You study it for six years."),
        ("He/PRP works/VBZ late/RB every/DT evening/NN", "He is working late every evening."),
        ("He/PRP has/VBZ a/DT bath/NN", "He is having a bath."),
        ("I/PRP mean/VBP to/TO go/VB", "I am meaning to go."),
        ("He/PRP said/VBD that/IN he/PRP would/MD come/VB", "He said that he will come."),
        ("He/PRP knew/VBD that/IN she/PRP was/VBD old/JJ", "He knew that she is old."),
        ("He/PRP asked/VBD when/WRB she/PRP left/VBD", "He asked when she leaves."),
        ("While/IN he/PRP was/VBD rich/JJ his/PRP$ wife/NN was/VBD poor/JJ", "While he was rich his wife is poor."),
        ("I/PRP wish/VBP he/PRP was/VBD here/RB", "I wish he were here."),
        ("If/IN he/PRP was/VBD rich/JJ he/PRP would/MD pay/VB", "If he were rich he would pay."),
        ("If/IN you/PRP come/VBP I/PRP will/MD go/VB", "If you will come I will go."),
        ("If/IN you/PRP waited/VBD I/PRP would/MD come/VB", "If you would wait I would come."),
        ("He/PRP will/MD know/VB when/WRB she/PRP comes/VBZ", "He will know when she will come."),
        ("If/IN he/PRP does/VBZ+n't/RB come/VB we/PRP will/MD go/VB", "If he won't come we will go."),
        ("It/PRP is/VBZ time/NN we/PRP left/VBD", "It is time we leave."),
        ("I/PRP would/MD like/VB it/PRP if/IN you/PRP came/VBD", "I would like it if you come."),
        ("This/DT is/VBZ the/DT only/JJ time/NN he/PRP has/VBZ smiled/VBN", "This is the only time he smiles."),
        ("Tom/NNP has/VBZ had/VBN plans/NNS for/IN ten/CD years/NNS", "Tom has plans for ten years."),
        ("He/PRP had/VBD met/VBN one/NN who/WP left/VBD long/RB before/IN", "He has met one who left long before."),
        ("If/IN I/PRP were/VBD to/TO go/VB I/PRP would/MD pay/VB", "If I am to go I would pay."),
        ("He/PRP was/VBD coming/VBG yesterday/NN", "He has coming yesterday."),
    ],
)  # fmt: skip
def test_what_might_be_right_is_never_called_wrong(text: str, still_right: str) -> None:
    assert still_right not in corruptions(text)


PLAIN = (
    "He/PRP opened/VBD the/DT door/NN", "My/PRP$ brother/NN saw/VBD a/DT dog/NN",
    "The/DT girls/NNS sang/VBD a/DT song/NN",
    "They/PRP are/VBP tired/JJ", "Ann/NNP drives/VBZ a/DT bus/NN", "We/PRP know/VBP the/DT way/NN",
)  # fmt: skip


def test_two_plain_sentences_become_one_of_two_clauses() -> None:
    plains = [plain_of(tagged(text), maker().lexicon) for text in PLAIN]

    made = {one.text for one in joined([plain for plain in plains if plain], 30, random.Random(1))}

    assert len(plains) == len([plain for plain in plains if plain])
    assert any(text.startswith("If ") and " would have " in text for text in made)
    assert any(text.startswith("When ") and ", " in text for text in made)
    assert "I wish" in " ".join(made)


def test_every_kind_of_made_sentence_can_be_broken() -> None:
    sentences = [tagged(text) for text in PLAIN * 20]

    made = rewritten(sentences, maker().lexicon, random.Random(2))
    broken = {candidate.reason for one in made for candidate in maker().candidates(one)}

    assert {
        Reason.TENSE_PAST, Reason.TENSE_FUT, Reason.TENSE_PERF, Reason.TENSE_SEQ, Reason.PAST_PERF, Reason.NO_WILL,
        Reason.WISH_PAST, Reason.HABIT, Reason.PAST_NOT_PERF, Reason.STATIVE,
    } <= broken  # fmt: skip

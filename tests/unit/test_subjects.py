"""The subject named in an explanation of agreement: near the verb, far from it, after it, or not at all."""

from __future__ import annotations

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from tests.fake_tokenizer import FakeTokenizer

R = Reason
TOKENIZER = FakeTokenizer()
PIPELINE = TextPipeline(TOKENIZER, VerbTable.load())

# sentence with *old/new* | reason | how the explanation begins
NAMED = """
The box of books *are/is* here. | SVA_BE | The subject is 'the box', which is singular, and not 'books', so
The cost of the tickets *have/has* risen. | SVA_SG | The subject is 'the cost', which is singular, and not 'tickets', so
The children of my sister *plays/play* chess. | SVA_PL | The subject is 'the children', which is plural, and not 'sister', so
My friends from school often *goes/go* out. | SVA_PL | The subject is 'my friends', which is plural, and not 'school', so
The number of cars *grow/grows*. | SVA_SG | The subject is 'the number', which is singular, and not 'cars', so
The keys to the cabinet *was/were* lost. | SVA_BE | The subject is 'the keys', which is plural, and not 'cabinet', so
Nobody but the boys *know/knows* it. | SVA_SG | The subject is 'nobody', which is singular, and not 'boys', so
The boys as well as the teacher *sings/sing*. | SVA_PL | The subject is 'the boys', which is plural, and not 'teacher', so
The letter written by the doctors *are/is* here. | SVA_BE | The subject 'the letter' is singular, so
The woman standing near the cars *sing/sings*. | SVA_SG | The subject 'the woman' is singular, so
The man in the red car *drive/drives* fast. | SVA_SG | The subject 'the man' is singular, so
The teacher, along with her pupils, *are/is* here. | SVA_BE | The subject 'the teacher' is singular, so
The girls who *lives/live* here sing. | SVA_PL | 'who' stands for 'the girls', which is plural, so
She is the girl who *live/lives* here. | SVA_SG | 'who' stands for 'the girl', which is singular, so
My brother, who *live/lives* here, sings. | SVA_SG | 'who' stands for 'my brother', which is singular, so
The dogs that often *barks/bark* are here. | SVA_PL | 'that' stands for 'the dogs', which is plural, so
People who *smokes/smoke* die young. | SVA_PL | 'who' stands for 'people', which is plural, so
The old man who sells books *live/lives* here. | SVA_SG | The subject 'the old man' is singular, so
The book that I read yesterday *were/was* good. | SVA_BE | The subject 'the book' is singular, so
The book that the boys *reads/read* is good. | SVA_PL | The subject 'the boys' is plural, so
The team that won *are/is* happy. | SVA_BE | With the subject 'the team' the
Tom and Mary *likes/like* it. | SVA_PL | The subject 'Tom and Mary' names more than one, so
My brother and sister *works/work* here. | SVA_PL | The subject 'my brother and sister' names more than one, so
Every student and teacher *have/has* a key. | SVA_SG | The subject 'every student and teacher' is singular, so
Neither my teachers nor Tom *know/knows* it. | SVA_SG | With 'neither ... nor' the verb follows the nearer subject, 'Tom', so
Either Tom or the girls *is/are* late. | SVA_BE | With 'either ... or' the verb follows the nearer subject, 'the girls', so
Each of the boys *have/has* a bike. | SVA_SG | The subject 'each of the boys' means one at a time, so
One of my friends *are/is* ill. | SVA_BE | The subject 'one of my friends' means one at a time, so
Neither of them *know/knows* it. | SVA_SG | The subject 'neither of them' means one at a time, so
Both of them *is/are* right. | SVA_BE | With the subject 'both of them' the
A number of cars *is/are* red. | SVA_BE | With the subject 'a number of cars' the
A lot of people *is/are* here. | SVA_BE | With the subject 'a lot of people' the
Most of the water *are/is* gone. | SVA_BE | With the subject 'most of the water' the
The news *are/is* bad. | SVA_BE | The subject 'the news' ends in -s but is singular, so
Mathematics *are/is* hard. | SVA_BE | The subject 'Mathematics' ends in -s but is singular, so
The police *is/are* here. | SVA_BE | The subject 'the police' is plural, so
My wife's family *live/lives* here. | SVA_SG | With the subject 'my wife's family' the
Everyone *know/knows* that. | SVA_SG | The subject 'everyone' is singular, so
Swimming in the sea *are/is* fun. | SVA_BE | The subject 'swimming in the sea' is an activity, which is singular, so
There *is/are* two cars outside. | SVA_BE | The subject 'two cars' is plural, so
There *are/is* a book on the table. | SVA_BE | The subject 'a book' is singular, so
There *is/are* a lot of people here. | SVA_BE | With the subject 'a lot of people' the
Here *is/are* the keys. | SVA_BE | The subject 'the keys' is plural, so
Why *do/does* he sing? | SVA_SG | With the subject 'he' the
*Do/Does* your sister live here? | SVA_SG | The subject 'your sister' is singular, so
Where *is/are* the children? | SVA_BE | The subject 'the children' is plural, so
*Has/Have* the guests arrived? | SVA_PL | The subject 'the guests' is plural, so
*Does/Do* Tom and Mary like it? | SVA_PL | The subject 'Tom and Mary' names more than one, so
*Is/Are* there two cars? | SVA_BE | The subject 'two cars' is plural, so
I know that the boys *likes/like* it. | SVA_PL | The subject 'the boys' is plural, so
When the bus *come/comes*, we go. | SVA_SG | The subject 'the bus' is singular, so
Yesterday the shops *was/were* closed. | SVA_BE | The subject 'the shops' is plural, so
Every day Tom *walk/walks* home. | SVA_SG | The subject 'Tom' is singular, so
They *wasn't/weren't* there. | SVA_BE | With the subject 'they' the
He said, "The dogs *barks/bark*." | SVA_PL | The subject 'the dogs' is plural, so
Mr. Brown *live/lives* here. | SVA_SG | The subject 'Mr Brown' is singular, so
The boys' room *are/is* dirty. | SVA_BE | The subject 'the boys' room' is singular, so
No students *has/have* come. | SVA_PL | The subject 'no students' is plural, so
My mother, father and sister *is/are* here. | SVA_BE | The subject 'my mother, father and sister' names more than one, so
*Is/Are* you and Tom friends? | SVA_BE | The subject 'you and Tom' names more than one, so
"""  # noqa: E501 one case a line
# Where the words fit no plain shape, or speak against the number, nothing is named.
UNNAMED = """
In summer the days *is/are* long. | SVA_BE
Bread and butter *are/is* good. | SVA_BE
Ten dollars *are/is* enough. | SVA_BE
The musicians Jim loves *sings/sing*. | SVA_PL
The children who the policeman wants *was/were* here. | SVA_BE
What the singers need *are/is* rest. | SVA_BE
*Is/Are* your parents home? | SVA_BE
When *does/do* the shop and the bank open? | SVA_PL
More students *comes/come*. | SVA_PL
First dogs *barks/bark*, then cats. | SVA_PL
*Do/Does* the fish tank leak? | SVA_SG
Ann cooks dinner and *wash/washes* up. | SVA_SG
The day birds *sings/sing* is here. | SVA_PL
The girls who live here are nice and *is/are* kind. | SVA_BE
"""


def explain_marked(sentence: str, reason: str) -> str:
    before, pair, after = sentence.strip().split("*")
    old, new = pair.split("/")
    draft = PIPELINE.prepare(before + old + after)
    word = next(number for number, piece in enumerate(draft.prompt.words) if piece.start == len(before))
    edit = ScriptEdit(word, 1, new.lower(), Reason[reason.strip()])
    return PIPELINE.conclude(draft, TOKENIZER.encode_output([edit])).explanation


@pytest.mark.parametrize("case", NAMED.strip().splitlines())
def test_the_subject_that_decides_is_named(case: str) -> None:
    sentence, reason, beginning = case.split(" | ")

    assert explain_marked(sentence, reason).startswith(beginning)


@pytest.mark.parametrize("case", UNNAMED.strip().splitlines())
def test_where_the_subject_cannot_be_told_none_is_named(case: str) -> None:
    explanation = explain_marked(*case.split(" | "))

    general = (
        "A plural subject, 'I' or 'you'",
        "The subject is singular, so the verb takes",
        "The form of 'be' that fits this subject",
    )
    assert explanation.startswith(general)

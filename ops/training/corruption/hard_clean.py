"""Right sentences that look wrong: subjunctives, odd plurals, -ing after "to", adjectives like verbs.

Each line is a template; `{name}` stands for one of the words in `_SLOTS`. They are never corrupted.
"""

from __future__ import annotations

import random
import re

from ops.training.corpus import TaggedSentence, TaggedToken

_SLOTS = {
    "He": "He|She|Tom|Mary|My brother|The teacher|Our neighbour",
    "he": "he|she|Tom|Mary|my sister|the man|his mother",
    "him": "him|her|them|Tom|Mary|my sister|the man|his mother",
    "They": "They|We|You|The children|My parents|Both of them",
    "they": "they|we|you|the boys|his friends",
    "doing": "hearing from you|meeting your family|working with them|seeing the sea|living here|getting up early|"
             "driving at night|eating alone|speaking in public|visiting them again|teaching children",
    "do": "leave now|wait outside|go home|stay in bed|take the train|tell the truth|read it again|be on time|eat less|"
          "see a doctor|sell the house",
    "did": "left early|went home|took the train|told the truth|had more time|knew the answer|were taller|lived nearer|"
           "spoke French|were rich|understood me",
    "base": "live in Paris|play the piano|drive to work|go there on foot|have a dog|smoke|be a nurse|swim here",
    "plural": "mice|geese|children|sheep|deer|fish|people|women|oxen|teeth|police|cattle",
    "are": "are outside|were very hungry|have gone|are in danger|were tired|have come back",
    "adj": "tired|bored|married|worried|excited|broken|closed|frozen|lost|used|pleased|gone|finished|scared|done",
    "thing": "book|letter|story|house|car|plan|song|picture|meal|ticket",
    "would": "would leave|would help you|would buy it|would be happier|would tell him|could do it|might come",
    "time": "yesterday|last night|two years ago|last week|in 1990|an hour ago",
    "soon": "tomorrow|next week|tonight|on Monday|at six",
    "lasting": "for two hours|since this morning|all day|for years|since May",
    "sport": "swimming|shopping|fishing|skiing|dancing|camping|riding",
    "ing": "swimming|reading|working|cooking|singing|writing letters|running|dancing",
    "seen": "cut the bread|put it away|hit the wall|read the paper|shut the door|let him go|set the table|hurt his leg",
}  # fmt: skip
_TEMPLATES = """
I suggest that {he} {do}.
They insisted that {he} {do}.
It is important that {he} {do}.
The doctor recommended that {he} {do}.
I demand that {he} {do}.
It is essential that {they} {do}.
If I were you, I {would}.
If {he} were here, I {would}.
If {they} {did}, I {would}.
I wish {he} {did}.
I wish I {did}.
It is time {they} {did}.
{He} acts as if {they} {did}.
I'd rather {they} {did}.
Were I you, I {would}.
Had I known, I would have come.
Should you need help, call me.
God save the king.
Long live the queen.
Be that as it may, {they} {would}.
I look forward to {doing}.
I'm looking forward to {doing}.
{He} is used to {doing}.
{They} are used to {doing}.
{He} got used to {doing}.
{He} objected to {doing}.
I am not accustomed to {doing}.
When it comes to {doing}, he is the best.
{He} used to {base}.
{They} used to {base}.
Did {he} use to {base}?
I didn't use to {base}.
The {plural} {are}.
These {plural} {are}.
The {plural} in the garden {are}.
The news is good.
The news was a shock to me.
Mathematics is my favourite subject.
Physics was hard for me.
The United States is a large country.
Ten years is a long time.
Five dollars is too much for a {thing}.
Neither of them is here.
Each of the children has a name.
One of my friends lives in Boston.
Everybody knows that {they} {are}.
None of them have come.
A number of people are waiting.
The number of students is growing.
My family are all well.
My family is large.
There is a dog and two cats in the garden.
There are a lot of people here.
There is a lot of water in it.
Bread and butter is what I eat.
{He} seems {adj}.
{They} seem {adj}.
{He} is {adj}.
I feel {adj} today.
The {thing} is {adj}.
The used {thing} is mine.
The lost {thing} is mine.
The {thing} made {him} {do}.
Let {him} {do}.
{He} let me {do}.
I saw {him} {do}.
I heard {him} {ing}.
We watched {him} {do}.
{He} helped me {do}.
{He} helped me to {do}.
You had better {do}.
I would rather {do}.
Why not {do}?
All I want is to {do}.
All he did was {do}.
{He} was made to {do}.
{They} need not {do}.
Dare I ask?
{He} does like {ing}.
I do believe you.
I did tell you {time}.
Do come in.
{He} stopped to {do}.
{He} stopped {ing}.
I remember {ing} there.
Remember to {do}.
{He} tried {ing}.
{They} like {ing}.
{They} like to {do}.
{He} went {sport} {time}.
{He} is going {sport} {soon}.
The train leaves {soon}.
We leave {soon}.
I am meeting {him} {soon}.
I don't know when {he} will come.
I wonder if {they} will come.
Ask {him} when the train will arrive.
If you will wait a moment, I will call her.
{He} has been {ing} {lasting}.
{They} have been {ing} {lasting}.
{He} has to {do}.
{They} have to {do}.
I have had to {do}.
{He} had had a bad day.
What {he} had had was enough.
I had my hair cut {time}.
{He} had the {thing} stolen {time}.
{He} {seen} {time}.
{They} {seen} every day.
They {seen}.
{He} has {seen}.
{He} is always {ing}.
Having said that, {they} {would}.
Seen from the hill, the town is small.
The man standing there is my uncle.
The {thing} lying on the table is mine.
The {thing} written by him is good.
The {thing} he told me about is {adj}.
Not knowing what to say, I left.
So do I.
So am I.
Neither does {he}.
Nor did {they}.
Never have I seen such a {thing}.
Not only does {he} sing, but {he} also dances.
Here comes the bus.
There goes my {thing}.
Is it raining?
Who broke the {thing}?
Who wants to {do}?
What makes you say so?
What happened?
What did {he} say?
Let it be.
So be it.
Don't be late.
Never mind.
Need I say more?
Come and see me {soon}.
Go get your coat.
It is said that {they} {would}.
{He} is said to {base}.
{He} is supposed to {do}.
{He} was about to {do}.
You and I are friends.
{He} and I are friends.
It is I who am to blame.
It's the children who are {adj}.
The more I read, the less I know.
I thought {he} lived here.
I knew {they} were {adj}.
{He} said he was {adj}.
{He} lay in bed all day.
{He} laid the {thing} on the table.
The sun rose at six.
They raised the price.
{He} founded a school.
The ship was grounded.
The {thing} cost ten dollars.
I found it {time}.
{He} wound the clock.
{He} lied to me.
{He} was hanged.
The bird flew south.
{He} bore the pain.
""".strip().splitlines()
_SLOT = re.compile(r"\{(\w+)\}")


def hard_clean_sentence(rng: random.Random) -> TaggedSentence:
    """A fresh sentence of the kind that a careless corrector spoils."""
    text = _SLOT.sub(lambda match: rng.choice(_SLOTS[match.group(1)].split("|")), rng.choice(_TEMPLATES))
    is_name = text.startswith(("Tom", "Mary", "I ", "I'", "God"))
    return TaggedSentence("hard", text, (TaggedToken(text.split()[0], "NNP" if is_name else "", 0),))

"""One real sentence for every reason, and the wording where a fact is missing."""

from __future__ import annotations

import pytest

from api.grammar.edit_script import ScriptEdit
from api.grammar.pipeline import TextPipeline
from api.grammar.reasons import Reason
from api.grammar.verbs import VerbTable
from tests.fake_tokenizer import FakeTokenizer

# sentence | word | words replaced | replacement | reason | explanation
CASES = """
He goed to school | 1 | 1 | went | PAST_IRREG | The past tense of 'go' is the irregular form 'went'.
They wented home | 1 | 1 | went | PAST_IRREG | The past tense of 'go' is the irregular form 'went'.
He layed there | 1 | 1 | lay | PAST_IRREG | The past tense of 'lie' is the irregular form 'lay'.
She has taked it | 2 | 1 | taken | PART_IRREG | The past participle of 'take' is the irregular form 'taken'.
He begun to sing | 1 | 1 | began | PAST_NOT_PART | 'begun' is the past participle of 'begin'; on its own the past tense is 'began'.
We planed a trip | 1 | 1 | planned | REG_SPELL | The -ed form of 'plan' is 'planned', not 'planed': the final 'n' is doubled.
We carryed it | 1 | 1 | carried | REG_SPELL | The -ed form of 'carry' is 'carried', not 'carryed': the 'y' becomes 'i' before -ed.
I am writeing | 2 | 1 | writing | ING_SPELL | The -ing form of 'write' is 'writing', not 'writeing': the final 'e' is dropped.
I was lieing | 2 | 1 | lying | ING_SPELL | The -ing form of 'lie' is 'lying', not 'lieing': the 'ie' becomes 'y'.
She carrys it | 1 | 1 | carries | S_SPELL | The he/she/it form of 'carry' is 'carries', not 'carrys': the 'y' becomes 'ie'.
She haves it | 1 | 1 | has | S_SPELL | The he/she/it form of 'have' is 'has', not 'haves'.
Ann walk home | 1 | 1 | walks | SVA_SG | The subject 'Ann' is singular, so the verb is 'walks', not 'walk'.
THE DOG WALK HOME | 2 | 1 | walks | SVA_SG | The subject 'the dog' is singular, so the verb is 'walks', not 'walk'.
LAST NIGHT WE SING | 3 | 1 | sang | TENSE_PAST | 'last night' asks for the past tense of 'sing': 'sang', not 'sing'.
The dog walk home | 2 | 1 | walks | SVA_SG | The subject 'the dog' is singular, so the verb is 'walks', not 'walk'.
The box of apples cost a lot | 4 | 1 | costs | SVA_SG | The subject is 'the box', which is singular, and not 'apples', so the verb is 'costs', not 'cost'.
Why do she sing? | 1 | 1 | does | SVA_SG | With the subject 'she' the verb is 'does', not 'do'.
The man near you don't sing | 4 | 1 | doesn't | SVA_SG | The subject is 'the man', which is singular, and not 'you', so the verb is 'doesn't', not 'don't'.
The man know she is here | 2 | 1 | knows | SVA_SG | The subject 'the man' is singular, so the verb is 'knows', not 'know'.
Today we walks home | 2 | 1 | walk | SVA_PL | With the subject 'we' the verb is 'walk', not 'walks'.
Tom and she walks home | 3 | 1 | walk | SVA_PL | The subject 'Tom and she' names more than one, so the verb is 'walk', not 'walks'.
There is many people here | 1 | 1 | are | SVA_BE | The subject 'many people' is plural, so the form of 'be' is 'are', not 'is'.
Is there two cars in the yard? | 0 | 1 | are | SVA_BE | The subject 'two cars' is plural, so the form of 'be' is 'are', not 'is'.
There is the men I saw yesterday | 1 | 1 | are | SVA_BE | The form of 'be' that fits this subject is 'are', not 'is'.
You is late | 1 | 1 | are | SVA_BE | With the subject 'you' the form of 'be' is 'are', not 'is'.
The box of apples are here | 4 | 1 | is | SVA_BE | The subject is 'the box', which is singular, and not 'apples', so the form of 'be' is 'is', not 'are'.
He didn't came home | 2 | 1 | come | BASE_DO | After 'didn't' the verb stays in its base form: 'come', not 'came'.
He must leaves now | 2 | 1 | leave | BASE_MODAL | After 'must' the verb stays in its base form: 'leave', not 'leaves'.
He must to leave now | 2 | 2 | leave | BASE_MODAL | After 'must' the verb stays in its base form: 'leave', not 'to leave'.
He must leaves now | 1 | 2 | must leave | BASE_MODAL | After 'must' the verb stays in its base form: 'leave', not 'leaves'.
She wants to came | 3 | 1 | come | BASE_TO | After 'to' the verb stays in its base form: 'come', not 'came'.
They have broke it | 2 | 1 | broken | PERF_PART | After 'have' comes the past participle of 'break': 'broken', not 'broke'.
I've broke it | 1 | 1 | broken | PERF_PART | After 'I've' comes the past participle of 'break': 'broken', not 'broke'.
If you hadn't save me, I would've drown | 7 | 1 | drowned | PERF_PART | After 'would've' comes the past participle of 'drown': 'drowned', not 'drown'.
Anna's dog has broke it | 3 | 1 | broken | PERF_PART | After 'has' comes the past participle of 'break': 'broken', not 'broke'.
It was write by her | 2 | 1 | written | PASSIVE_PART | The passive with 'was' needs the past participle of 'write': 'written', not 'write'.
Yoke the mistook oxen | 2 | 1 | mistaken | PASSIVE_PART | Before a noun stands the past participle of 'mistake': 'mistaken', not 'mistook'.
If he has asked, I would have come | 2 | 1 | had | PAST_PERF | What did not happen takes the past perfect after 'if': 'had', not 'has'.
It is rain | 2 | 1 | raining | BE_ING | The progressive with 'is' needs the -ing form of 'rain': 'raining', not 'rain'.
Ann sleeping now | 1 | 1 | is sleeping | MISSING_BE | The -ing form 'sleeping' needs a form of 'be' before it: 'is sleeping'.
Ann happy now | 1 | 1 | is happy | MISSING_BE | A form of 'be' is missing here: put 'is' before 'happy'.
He is believes it | 1 | 2 | believes | EXTRA_BE | The verb 'believes', a form of 'believe', needs no 'is' before it.
I am agree with you | 1 | 2 | agree | EXTRA_BE | The verb 'agree' needs no 'am' before it.
Last night we sing | 3 | 1 | sang | TENSE_PAST | 'last night' asks for the past tense of 'sing': 'sang', not 'sing'.
We sing two days ago | 1 | 1 | sang | TENSE_PAST | 'two days ago' asks for the past tense of 'sing': 'sang', not 'sing'.
As a child I sing | 4 | 1 | sang | TENSE_PAST | The sentence is about the past and needs the past tense of 'sing': 'sang', not 'sing'.
Tomorrow they arrived | 2 | 1 | will arrive | TENSE_FUT | 'tomorrow' points to the future: 'will arrive', not 'arrived'.
Since May she works here | 3 | 1 | has worked | TENSE_PERF | 'since May' asks for the present perfect: 'has worked', not 'works'.
Since he came she works here | 4 | 1 | has worked | TENSE_PERF | 'since' asks for the present perfect: 'has worked', not 'works'.
She works since last summer | 1 | 1 | has worked | TENSE_PERF | 'since last summer' asks for the present perfect: 'has worked', not 'works'.
She works here for three years | 1 | 1 | has worked | TENSE_PERF | 'for three years' asks for the present perfect: 'has worked', not 'works'.
He has left an hour ago | 1 | 2 | left | PAST_NOT_PERF | 'an hour ago' is a finished time and takes the simple past: 'left', not 'has left'.
He sat down and opens it | 4 | 1 | opened | TENSE_SEQ | The rest of the sentence is in the past, so 'open' is, too: 'opened', not 'opens'.
We hope win | 2 | 1 | to win | TO_INF | After 'hope' comes the infinitive with 'to': 'to win', not 'win'.
Let Ann to rest | 2 | 2 | rest | BARE_INF | After 'let' the infinitive has no 'to': 'rest', not 'to rest'.
You had better to go | 3 | 2 | go | BARE_INF | After 'had better' the infinitive has no 'to': 'go', not 'to go'.
You'd better not to go | 3 | 2 | go | BARE_INF | After 'had better' the infinitive has no 'to': 'go', not 'to go'.
I'd rather to stay | 2 | 2 | stay | BARE_INF | After 'would rather' the infinitive has no 'to': 'stay', not 'to stay'.
Let me heard it | 2 | 1 | hear | BARE_INF | After 'let' the verb stays in its base form: 'hear', not 'heard'.
Why not to go? | 2 | 2 | go | BARE_INF | After this expression the infinitive has no 'to': 'go', not 'to go'.
Eat before leave | 2 | 1 | leaving | ING_PREP | After the preposition 'before' the verb takes the -ing form: 'leaving', not 'leave'.
I avoid to drive | 2 | 2 | driving | ING_VERB | After 'avoid' the verb takes the -ing form: 'driving', not 'to drive'.
She gave up smoke | 3 | 1 | smoking | ING_VERB | After 'gave up' the verb takes the -ing form: 'smoking', not 'smoke'.
I like swim | 2 | 1 | swimming | ING_VERB | After 'like' the verb takes the -ing form: 'swimming', not 'swim'.
I feel like swim | 3 | 1 | swimming | ING_VERB | After 'feel like' the verb takes the -ing form: 'swimming', not 'swim'.
She kept on talk | 3 | 1 | talking | ING_VERB | After 'kept on' the verb takes the -ing form: 'talking', not 'talk'.
I can't help to laugh | 3 | 2 | laughing | ING_VERB | After 'can't help' the verb takes the -ing form: 'laughing', not 'to laugh'.
I could not stand to wait | 4 | 2 | waiting | ING_VERB | After 'could not stand' the verb takes the -ing form: 'waiting', not 'to wait'.
As soon as he will come, go | 4 | 2 | comes | NO_WILL | In a clause with 'as soon as' the present tense stands for the future: 'comes', not 'will come'.
When she will call, go | 2 | 2 | calls | NO_WILL | In a clause with 'when' the present tense stands for the future: 'calls', not 'will call'.
It must of gone | 2 | 1 | have | MODAL_OF | 'of' is no verb: after 'must' comes 'have'.
She is owning a car | 1 | 2 | owns | STATIVE | 'own' names a state here, so it takes the simple tense: 'owns', not 'is owning'.
I look forward to see you | 4 | 1 | seeing | ING_TO | Here 'to' is a preposition, and the -ing form of 'see' follows it: 'seeing', not 'see'.
I wish I am rich | 3 | 1 | were | WISH_PAST | A wish takes a past form: 'were', not 'am'.
She is drinking tea every day | 1 | 2 | drinks | HABIT | A habit ('every day') takes the simple tense: 'drinks', not 'is drinking'.
When I came, he left already | 4 | 1 | had left | PAST_PERF | What came before another past event takes the past perfect: 'had left', not 'left'.
Where I'm going? | 1 | 1 | am i | QUESTION_ORDER | In a question 'am' comes before the subject: 'am I', not 'I'm'.
Now Ann is doing it | 2 | 2 | does | HABIT | A habit takes the simple tense: 'does', not 'is doing'.
I'm wanting it | 0 | 2 | i want | STATIVE | 'want' names a state here, so it takes the simple tense: 'I want', not 'I'm wanting'.
If I had time, I would helped you | 6 | 1 | have helped | WISH_PAST | What did not happen takes 'have' and the past participle after 'would': 'have helped', not 'helped'.
If I had time, I will help you | 5 | 1 | would | WISH_PAST | After 'if' with an imagined past comes 'would', not 'will'.
If I would have a car, I would go | 2 | 2 | had | WISH_PAST | What is only imagined takes a past form after 'if': 'had', not 'would have'.
He is usually playing chess | 1 | 2 | usually | HABIT | A habit ('usually') takes the simple tense: no 'is' here.
This is the first time I see it | 6 | 1 | have seen | TENSE_PERF | Looking back, 'the first time' goes with the present perfect: 'have seen', not 'see'.
They live here all their lives | 1 | 1 | have lived | TENSE_PERF | What reaches up to the time spoken of takes the present perfect: 'have lived', not 'live'.
I see it when I was a boy | 1 | 1 | saw | TENSE_PAST | 'when I was a boy' asks for the past tense of 'see': 'saw', not 'see'.
What you want? | 1 | 1 | do you | DO_SUPPORT | A question like this needs 'do' before the subject: 'do you', not 'you'.
You like it? | 0 | 1 | do you | DO_SUPPORT | A question like this needs 'do' before the subject: 'do you', not 'you'.
When Tom cook? | 0 | 1 | when does | DO_SUPPORT | A question like this needs 'does' before the subject: 'when does', not 'when'.
Who you met? | 1 | 2 | did you meet | DO_SUPPORT | A question like this needs 'did' before the subject and the base form of the verb: 'did you meet', not 'you met'.
He not like it | 1 | 2 | does not like | DO_SUPPORT | To say 'not' here, use 'does not': 'does not like'.
He no like it | 1 | 2 | doesn't like | DO_SUPPORT | To say 'not' here, use 'doesn't': 'doesn't like'.
Why you didn't come? | 1 | 2 | didn't you | QUESTION_ORDER | In a question 'didn't' comes before the subject: 'didn't you', not 'you didn't'.
Where Tom can sit? | 1 | 2 | can Tom | QUESTION_ORDER | In a question 'can' comes before the subject: 'can Tom', not 'Tom can'.
I know where is he | 3 | 2 | he is | QUESTION_ORDER | Inside another sentence a question keeps the order of a statement: 'he is', not 'is he'.
The ball hitted him | 2 | 1 | hit | PAST_IRREG | 'hit' does not change in the past: 'hit', not 'hitted'.
He become king | 1 | 1 | became | PAST_NOT_PART | The simple past of 'become' is 'became', not 'become'.
She payed it | 1 | 1 | paid | REG_SPELL | The past form of 'pay' is 'paid', not 'payed'.
He is the man know as Tom | 4 | 1 | known | PASSIVE_PART | Here the verb says what was done to something and is the past participle of 'know': 'known', not 'know'.
Was the house near the river sell? | 6 | 1 | sold | PASSIVE_PART | The passive with 'was' needs the past participle of 'sell': 'sold', not 'sell'.
Was he ill when the cup got break? | 7 | 1 | broken | PASSIVE_PART | Here the verb says what was done to something and is the past participle of 'break': 'broken', not 'break'.
I saw Tom's break arm | 3 | 1 | broken | PASSIVE_PART | Here the verb says what was done to something and is the past participle of 'break': 'broken', not 'break'.
Where have you be? | 3 | 1 | been | PERF_PART | After 'have' comes the past participle of 'be': 'been', not 'be'.
They weren't agree | 1 | 1 | didn't | EXTRA_BE | 'agree' is a verb here, so the negative is made with 'do', not with 'be': 'didn't', not 'weren't'.
We meet last May | 1 | 1 | met | TENSE_PAST | 'last May' asks for the past tense of 'meet': 'met', not 'meet'.
I don't see him lately | 1 | 2 | haven't seen | TENSE_PERF | Looking back, 'lately' goes with the present perfect: 'haven't seen', not 'don't see'.
I want you go | 2 | 2 | you to go | TO_INF | After 'want you' comes the infinitive with 'to': 'to go', not 'go'.
It is easy learn | 3 | 1 | to learn | TO_INF | After 'easy' comes the infinitive with 'to': 'to learn', not 'learn'.
It's worth to see | 2 | 2 | seeing | ING_VERB | After 'worth' the verb takes the -ing form: 'seeing', not 'to see'.
We have no choice but to wait | 5 | 2 | wait | BARE_INF | After this expression the infinitive has no 'to': 'wait', not 'to wait'.
I wish I can fly | 3 | 1 | could | WISH_PAST | A wish takes a past form: 'could', not 'can'.
If he asked, I help | 4 | 1 | would help | WISH_PAST | After 'if' with an imagined past comes 'would help', not 'help'.
It's time we go | 3 | 1 | went | WISH_PAST | What is only imagined takes a past form after 'it's time': 'went', not 'go'.
She hasn't a car | 1 | 1 | doesn't have | DO_SUPPORT | To say 'not' here, use 'doesn't': 'doesn't have', not 'hasn't'.
Who did wrote it? | 1 | 2 | wrote | DO_SUPPORT | Where the question word is the subject, no 'did' comes before the verb: 'wrote', not 'did wrote'.
She asked where did I live | 3 | 2 | i | DO_SUPPORT | Inside another sentence a question keeps the order of a statement, without 'did': 'I', not 'did I'.
I know what does the man do | 3 | 2 | the | DO_SUPPORT | Inside another sentence a question keeps the order of a statement, without 'does': 'the', not 'does the'.
Never I have seen it | 1 | 2 | have I | QUESTION_ORDER | After 'never' 'have' comes before the subject: 'have I', not 'I have'.
I wish she didn't leave yesterday | 3 | 2 | hadn't left | WISH_PAST | A wish takes the past perfect: 'hadn't left', not 'didn't leave'.
He acts as if he is rich | 5 | 1 | were | WISH_PAST | What is only imagined takes a past form after 'as if': 'were', not 'is'.
If I knew, I will tell you | 4 | 1 | would | TENSE_SEQ | After 'if' with an imagined past comes 'would', not 'will'.
I will tell you if I knew | 1 | 1 | would | WISH_PAST | With 'if' and an imagined past goes 'would', not 'will'.
If I can fly, I would go | 2 | 1 | could | WISH_PAST | What is only imagined takes 'could', not 'can'.
He asked if I will come | 4 | 1 | would | TENSE_SEQ | This verb keeps to the tense of the other verb in the sentence: 'would', not 'will'.
Please doesn't call | 1 | 1 | don't | SVA_PL | An order not to do something begins with 'don't'.
Doesn't the boys sing? | 0 | 1 | don't | SVA_PL | The subject 'the boys' is plural, so the verb is 'don't', not 'doesn't'.
Doesn't birds sing? | 0 | 1 | don't | SVA_PL | A plural subject, 'I' or 'you' takes the base form: 'don't', not 'doesn't'.
Doesn't you sing! | 0 | 1 | don't | SVA_PL | With the subject 'you' the verb is 'don't', not 'doesn't'.
It was send yesterday | 2 | 1 | sent | TENSE_PAST | The passive with 'was' needs the past participle of 'send': 'sent', not 'send'.
It was just send yesterday | 3 | 1 | sent | TENSE_PAST | The passive with 'was' needs the past participle of 'send': 'sent', not 'send'.
She has broke it yesterday | 2 | 1 | broken | TENSE_PAST | After 'has' comes the past participle of 'break': 'broken', not 'broke'.
The dog I had bark yesterday | 4 | 1 | barked | TENSE_PAST | 'yesterday' asks for the past tense of 'bark': 'barked', not 'bark'.
I going home | 0 | 1 | i am | MISSING_BE | A form of 'be' is missing here: put 'am' after 'I'.
I going home | 0 | 1 | i'm | MISSING_BE | A form of 'be' is missing here: 'I'm', not 'I'.
She very happy | 1 | 1 | is very | MISSING_BE | A form of 'be' is missing here: put 'is' before 'very'.
Where Tom going? | 1 | 1 | is tom | MISSING_BE | A form of 'be' is missing here: put 'is' before 'Tom'.
I'm usually getting up | 0 | 2 | i usually | HABIT | A habit ('usually') takes the simple tense: no 'am' here.
I am usually getting up | 3 | 1 | get | HABIT | A habit ('usually') takes the simple tense: 'get', not 'getting'.
He asked me help him | 3 | 1 | to help | TO_INF | After 'asked me' comes the infinitive with 'to': 'to help', not 'help'.
He asked Tom help him | 3 | 1 | to help | TO_INF | After 'asked Tom' comes the infinitive with 'to': 'to help', not 'help'.
He told my friend help him | 4 | 1 | to help | TO_INF | After 'told my friend' comes the infinitive with 'to': 'to help', not 'help'.
He is here help him | 3 | 1 | to help | TO_INF | Here the infinitive with 'to' is needed: 'to help', not 'help'.
Me and my friend was late | 4 | 1 | were | SVA_BE | The subject 'me and my friend' names more than one, so the form of 'be' is 'were', not 'was'.
My friend and me goes home | 4 | 1 | go | SVA_PL | The subject 'my friend and me' names more than one, so the verb is 'go', not 'goes'.
He openned it | 1 | 1 | opened | REG_SPELL | The -ed form of 'open' is 'opened', not 'openned': the last syllable is not stressed, so the 'n' is not doubled.
He rainned | 1 | 1 | rained | REG_SPELL | The -ed form of 'rain' is 'rained', not 'rainned': the 'n' is not doubled after two vowels.
He helpped | 1 | 1 | helped | REG_SPELL | The -ed form of 'help' is 'helped', not 'helpped': the 'p' is not doubled after another consonant.
He conquerred it | 1 | 1 | conquered | REG_SPELL | The -ed form of 'conquer' is 'conquered', not 'conquerred'.
He fixxed it | 1 | 1 | fixed | REG_SPELL | The -ed form of 'fix' is 'fixed', not 'fixxed'.
He enjoied it | 1 | 1 | enjoyed | REG_SPELL | The -ed form of 'enjoy' is 'enjoyed', not 'enjoied': the 'y' stays after a vowel.
He enjoies it | 1 | 1 | enjoys | S_SPELL | The he/she/it form of 'enjoy' is 'enjoys', not 'enjoies': the 'y' stays after a vowel.
I am studing | 2 | 1 | studying | ING_SPELL | The -ing form of 'study' is 'studying', not 'studing': the 'y' stays before -ing.
They are agreing | 2 | 1 | agreeing | ING_SPELL | The -ing form of 'agree' is 'agreeing', not 'agreing': the 'e' stays before -ing.
I am comming | 2 | 1 | coming | ING_SPELL | The -ing form of 'come' is 'coming', not 'comming': the final 'e' is dropped and the 'm' is not doubled.
He gos home | 1 | 1 | goes | S_SPELL | The he/she/it form of 'go' is 'goes', not 'gos': 'go' takes -es.
He watchs it | 1 | 1 | watches | S_SPELL | The he/she/it form of 'watch' is 'watches', not 'watchs': 'watch' takes -es.
I have cutted it | 2 | 1 | cut | PART_IRREG | 'cut' does not change in the past participle: 'cut', not 'cutted'.
Since May she is working here | 3 | 1 | has been | TENSE_PERF | 'since May' asks for the present perfect: 'has been working', not 'is working'.
Since May she is here | 3 | 1 | has been | TENSE_PERF | 'since May' asks for the present perfect: 'has been', not 'is'.
The broke mirror fell | 1 | 1 | broken | PASSIVE_PART | Before a noun stands the past participle of 'break': 'broken', not 'broke'.
Is the forgot newspaper here? | 2 | 1 | forgotten | PASSIVE_PART | Before a noun stands the past participle of 'forget': 'forgotten', not 'forgot'.
I am not agree | 1 | 2 | don't | DO_SUPPORT | 'agree' is a verb here, so the negative is made with 'do', not with 'be': 'don't', not 'am not'.
I'm not know | 0 | 2 | i don't | DO_SUPPORT | 'know' is a verb here, so the negative is made with 'do', not with 'be': 'I don't', not 'I'm not'.
He isn't like it | 1 | 1 | doesn't | DO_SUPPORT | 'like' is a verb here, so the negative is made with 'do', not with 'be': 'doesn't', not 'isn't'.
He isn't like it | 1 | 2 | doesn't like | DO_SUPPORT | 'like' is a verb here, so the negative is made with 'do', not with 'be': 'doesn't like', not 'isn't like'.
Are you agree? | 0 | 1 | do | DO_SUPPORT | 'agree' is a verb here, so the question is made with 'do', not with 'be': 'do', not 'are'.
Are you agree? | 0 | 2 | do you | DO_SUPPORT | 'agree' is a verb here, so the question is made with 'do', not with 'be': 'do you', not 'are you'.
Is Tom agree? | 0 | 2 | does tom | DO_SUPPORT | 'agree' is a verb here, so the question is made with 'do', not with 'be': 'does Tom', not 'is Tom'.
Is the man agree? | 0 | 1 | does | DO_SUPPORT | The question is made with 'do', not with 'be': 'does', not 'is'.
Why are you not agree? | 1 | 1 | do | DO_SUPPORT | 'agree' is a verb here, so the negative is made with 'do', not with 'be': 'do', not 'are'.
She can dance and sings | 4 | 1 | sing | BASE_MODAL | After 'can' the verb stays in its base form: 'sing', not 'sings'.
He is good at swim | 4 | 1 | swimming | ING_PREP | After the preposition 'at' the verb takes the -ing form: 'swimming', not 'swim'.
I have been knowing him | 2 | 2 | known | STATIVE | 'know' names a state here, so it is not used in the -ing form: 'known', not 'been knowing'.
"""  # noqa: E501 one case a line
ROWS = [[cell.strip() for cell in line.split(" | ")] for line in CASES.strip().splitlines()]
R = Reason
TOKENIZER = FakeTokenizer()
PIPELINE = TextPipeline(TOKENIZER, VerbTable.load())


def explanation_of(sentence: str, edit: ScriptEdit) -> str:
    return PIPELINE.conclude(PIPELINE.prepare(sentence), TOKENIZER.encode_output([edit])).explanation


@pytest.mark.parametrize(
    ("sentence", "word", "num_words", "replacement", "reason", "expected"), ROWS, ids=[" ".join(r[:1]) for r in ROWS]
)
def test_each_reason_is_told_in_one_plain_sentence(
    sentence: str, word: str, num_words: str, replacement: str, reason: str, expected: str
) -> None:
    edit = ScriptEdit(int(word), int(num_words), replacement, Reason[reason])

    assert explanation_of(sentence, edit) == expected


def test_every_reason_has_a_sentence_here() -> None:
    assert {row[4] for row in ROWS} == {reason.name for reason in Reason}


@pytest.mark.parametrize("reason", list(Reason))
def test_no_template_fails_where_the_facts_do_not_fit_the_reason(reason: Reason) -> None:
    for replacement in ("went", "are going", "gone", "to go", "will go"):
        text = explanation_of("GOED", ScriptEdit(0, 1, replacement, reason))

        assert text.endswith(".")
        assert "None" not in text


@pytest.mark.parametrize(
    ("sentence", "edit", "expected"),
    [
        ("He goed", ScriptEdit(1, 1, "gone", Reason.PAST_IRREG), "The past tense needed here is 'gone', not 'goed'."),
        ("He taked", ScriptEdit(1, 1, "took", R.PART_IRREG), "The past participle needed here is 'took', not 'taked'."),
        ("He pland", ScriptEdit(1, 1, "planned", Reason.PAST_IRREG), "The past tense of 'plan' is 'planned'."),
    ],
)  # fmt: skip
def test_a_claim_that_the_table_does_not_bear_out_is_not_made(sentence: str, edit: ScriptEdit, expected: str) -> None:
    assert explanation_of(sentence, edit) == expected


def test_an_explanation_quotes_the_words_before_it_as_they_are_mended() -> None:
    edits = [ScriptEdit(1, 1, "made", R.PAST_IRREG), ScriptEdit(3, 1, "go", R.BARE_INF)]

    correction = PIPELINE.conclude(PIPELINE.prepare("She maked him went"), TOKENIZER.encode_output(edits))

    assert correction.edits[1].explanation == "After 'made' the verb stays in its base form: 'go', not 'went'."

"""Right sentences with places for a subject and a verb phrase; see `verb_frames` for the notation."""

from __future__ import annotations

# One a line. `S`: a subject; `be/B`, `want/V`, `have/H`: agree with it, in the present or past (`have`: present);
# `BASE`, `ING`, `PART`, `PAST`: a verb phrase of the text, opened by that form; `P`: a person as an object.
STATEMENTS = """
S be/B good/JJ at/IN ING
S be/B bad/JJ at/IN ING
S be/B interested/JJ in/IN ING
S be/B tired/JJ of/IN ING
S be/B afraid/JJ of/IN ING
S be/B fond/JJ of/IN ING
S be/B capable/JJ of/IN ING
S be/B proud/JJ of/IN ING
S be/B responsible/JJ for/IN ING
S be/B famous/JJ for/IN ING
S be/B worried/JJ about/IN ING
S be/B excited/JJ about/IN ING
S be/B sorry/JJ for/IN ING
S be/B keen/JJ on/IN ING
thank/VB you/PRP for/IN ING
thanks/NNS for/IN ING
S thank/V P for/IN ING
S apologize/V for/IN ING
S apologise/V for/IN ING
S succeed/V in/IN ING
S insist/V on/IN ING
S dream/V of/IN ING
S think/V about/IN ING
S talk/V about/IN ING
S worry/V about/IN ING
S believe/V in/IN ING
S depend/V on/IN ING
S stop/V P from/IN ING
S prevent/V P from/IN ING
S accuse/V P of/IN ING
S blame/V P for/IN ING
S leave/V without/IN ING
S go/V home/NN instead/RB of/IN ING
S stay/V there/RB instead/RB of/IN ING
S earn/V money/NN by/IN ING
S help/V P by/IN ING
S rest/V before/IN ING
S feel/V better/JJR after/IN ING
S have/H no/DT intention/NN of/IN ING
S have/H the/DT habit/NN of/IN ING
what/WP about/IN ING ?
how/WRB about/IN ING ?
S look/V forward/RB to/TO ING
I/PRP am/VBP looking/VBG forward/RB to/TO ING
we/PRP are/VBP looking/VBG forward/RB to/TO ING
she/PRP is/VBZ used/VBN to/TO ING
he/PRP was/VBD used/VBN to/TO ING
they/PRP are/VBP used/VBN to/TO ING
I/PRP am/VBP not/RB used/VBN to/TO ING
S get/V used/VBN to/TO ING
he/PRP is/VBZ accustomed/VBN to/TO ING
she/PRP is/VBZ accustomed/VBN to/TO ING
they/PRP object/VBP to/TO ING
S object/V to/TO ING
he/PRP is/VBZ opposed/VBN to/TO ING
he/PRP is/VBZ an/DT expert/NN when/WRB it/PRP comes/VBZ to/TO ING
S enjoy/V ING
S avoid/V ING
S finish/V ING
S suggest/V ING
S keep/V ING
S practise/V ING
S practice/V ING
S consider/V ING
S deny/V ING
S admit/V ING
S risk/V ING
S miss/V ING
S quit/V ING
S dislike/V ING
S postpone/V ING
S give/V up/RP ING
S recommend/V ING
S feel/V like/IN ING
S do/V+n't/RB mind/VB ING
S ca/MD+n't/RB help/VB ING
would/MD you/PRP mind/VB ING ?
do/VBP you/PRP mind/VB ING ?
S be/B busy/JJ ING
it/PRP is/VBZ worth/JJ ING
S want/V to/TO BASE
S hope/V to/TO BASE
S decide/V to/TO BASE
S plan/V to/TO BASE
S learn/V to/TO BASE
S refuse/V to/TO BASE
S promise/V to/TO BASE
S agree/V to/TO BASE
S manage/V to/TO BASE
S fail/V to/TO BASE
S offer/V to/TO BASE
S expect/V to/TO BASE
S pretend/V to/TO BASE
S ca/MD+n't/RB afford/VB to/TO BASE
S would/MD like/VB to/TO BASE
S need/V to/TO BASE
S be/B able/JJ to/TO BASE
S be/B going/VBG to/TO BASE
S have/H to/TO BASE
S do/V+n't/RB have/VB to/TO BASE
S ought/MD to/TO BASE
S ask/V P to/TO BASE
S tell/V P to/TO BASE
S want/V P to/TO BASE
S invite/V P to/TO BASE
S advise/V P to/TO BASE
S force/V P to/TO BASE
S allow/V P to/TO BASE
S let/V P BASE
S make/V P BASE
S saw/VBD P BASE
S heard/VBD P BASE
S watched/VBD P BASE
S had/VBD better/RB BASE
S had/VBD better/RB not/RB BASE
S would/MD rather/RB BASE
I/PRP+'d/MD rather/RB BASE
why/WRB not/RB BASE ?
let/VB+'s/PRP BASE
let/VB P BASE
do/VB+n't/RB BASE
S used/VBD to/TO BASE
S did/VBD+n't/RB use/VB to/TO BASE
S can/MD BASE
S could/MD BASE
S must/MD BASE
S should/MD BASE
S may/MD BASE
S might/MD BASE
S will/MD BASE
S would/MD BASE
S must/MD not/RB BASE
S should/MD+n't/RB BASE
he/PRP+'ll/MD BASE
she/PRP+'ll/MD BASE
they/PRP+'ll/MD BASE
I/PRP+'ll/MD BASE
we/PRP+'ll/MD BASE
S should/MD have/VB PART
S could/MD have/VB PART
S must/MD have/VB PART
S might/MD have/VB PART
S would/MD have/VB PART
S should/MD not/RB have/VB PART
S could/MD+n't/RB have/VB PART
S do/V not/RB BASE
S did/VBD not/RB BASE
S do/V+n't/RB BASE
S did/VBD+n't/RB BASE
S have/H PART
S have/H already/RB PART
S have/H just/RB PART
S have/H never/RB PART
S have/H not/RB PART
S have/H+n't/RB PART yet/RB
S had/VBD already/RB PART
S had/VBD never/RB PART
I/PRP+'ve/VBP already/RB PART
they/PRP+'ve/VBP just/RB PART
we/PRP+'ve/VBP never/RB PART
he/PRP+'s/VBZ already/RB PART
she/PRP+'s/VBZ never/RB PART
he/PRP+'s/VBZ just/RB PART
I/PRP+'d/VBD already/RB PART
she/PRP+'d/VBD never/RB PART
I/PRP+'m/VBP ING
she/PRP+'s/VBZ ING
he/PRP+'s/VBZ still/RB ING
they/PRP+'re/VBP ING
we/PRP+'re/VBP not/RB ING
you/PRP+'re/VBP always/RB ING
I/PRP+'m/VBP not/RB ING
he/PRP is/VBZ+n't/RB ING
they/PRP are/VBP+n't/RB ING
she/PRP was/VBD+n't/RB ING
she/PRP is/VBZ ING
they/PRP are/VBP ING
he/PRP is/VBZ always/RB ING
we/PRP are/VBP still/RB ING
he/PRP came/VBD in/RP and/CC PAST
she/PRP got/VBD up/RP and/CC PAST
they/PRP went/VBD home/NN and/CC PAST
I/PRP sat/VBD down/RP and/CC PAST
"""
QUESTIONS = """
what/WP are/VBP you/PRP doing/VBG here/RB
why/WRB are/VBP you/PRP ING
why/WRB is/VBZ he/PRP ING
where/WRB is/VBZ she/PRP going/VBG
who/WP are/VBP they/PRP talking/VBG to/TO
when/WRB are/VBP you/PRP going/VBG to/TO BASE
when/WRB will/MD he/PRP BASE
how/WRB can/MD I/PRP BASE
how/WRB can/MD we/PRP BASE
why/WRB should/MD they/PRP BASE
where/WRB can/MD you/PRP BASE
why/WRB ca/MD+n't/RB she/PRP BASE
why/WRB wo/MD+n't/RB you/PRP BASE
why/WRB have/VBP+n't/RB you/PRP PART
how/WRB often/RB have/VBP you/PRP PART
why/WRB has/VBZ he/PRP PART
why/WRB are/VBP+n't/RB they/PRP ING
why/WRB did/VBD+n't/RB he/PRP BASE
why/WRB do/VBP+n't/RB they/PRP BASE
why/WRB does/VBZ+n't/RB she/PRP BASE
why/WRB do/VBP you/PRP BASE
why/WRB does/VBZ he/PRP BASE
why/WRB did/VBD they/PRP BASE
when/WRB did/VBD she/PRP BASE
when/WRB does/VBZ she/PRP BASE
where/WRB did/VBD you/PRP BASE yesterday/NN
how/WRB often/RB do/VBP they/PRP BASE
how/WRB did/VBD he/PRP BASE
when/WRB does/VBZ Tom/NNP BASE
why/WRB does/VBZ Mary/NNP BASE
have/VBP you/PRP ever/RB PART
has/VBZ she/PRP ever/RB PART
have/VBP they/PRP PART yet/RB
did/VBD you/PRP ever/RB BASE
did/VBD she/PRP BASE
does/VBZ he/PRP BASE
can/MD she/PRP BASE
could/MD you/PRP BASE
will/MD they/PRP BASE
should/MD I/PRP BASE
are/VBP you/PRP ING
is/VBZ she/PRP ING
were/VBD they/PRP ING
"""
# `O`: the object of the verb phrase, as a subject; `X`: "by her", a place, or nothing.
PASSIVES = """
O be/B DONE X
O be/B not/RB DONE X
O will/MD be/VB DONE X
O have/H been/VBN DONE X
O have/H already/RB been/VBN DONE X
O have/H never/RB been/VBN DONE X
O had/VBD been/VBN DONE X
O be/B being/VBG DONE X
O can/MD be/VB DONE X
O must/MD be/VB DONE X
O should/MD be/VB DONE X
O might/MD have/VB been/VBN DONE X
"""
REPLIES = """
so/RB do/VBP they/PRP
so/RB do/VBP I/PRP
so/RB does/VBZ she/PRP
so/RB is/VBZ he/PRP
so/RB are/VBP we/PRP
so/RB has/VBZ she/PRP
so/RB have/VBP they/PRP
so/RB was/VBD he/PRP
neither/CC do/VBP we/PRP
neither/CC does/VBZ he/PRP
neither/CC were/VBD they/PRP
neither/CC have/VBP you/PRP
neither/CC is/VBZ she/PRP
nor/CC does/VBZ she/PRP
nor/CC do/VBP they/PRP
"""
EMBEDDED = """
I/PRP do/VBP+n't/RB know/VB where/WRB he/PRP is/VBZ going/VBG
I/PRP wonder/VBP what/WP they/PRP are/VBP doing/VBG
tell/VB me/PRP why/WRB you/PRP did/VBD+n't/RB BASE
I/PRP know/VBP why/WRB she/PRP is/VBZ ING
I/PRP asked/VBD P when/WRB they/PRP would/MD BASE
nobody/NN knows/VBZ how/WRB he/PRP will/MD BASE
I/PRP wonder/VBP how/WRB often/RB they/PRP have/VBP PART
do/VBP you/PRP know/VB why/WRB he/PRP is/VBZ ING ?
do/VBP you/PRP know/VB when/WRB they/PRP will/MD BASE ?
can/MD you/PRP tell/VB me/PRP where/WRB she/PRP was/VBD ING ?
"""

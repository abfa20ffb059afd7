"""Subjects that hide their number, as templates: `word/TAG` as it stands, `<slot>` to be filled (see subjects.py).

`Ps` a person with a determiner, `Tp` things in the plural; `ps`, `tp` without one; `Xs`, `Xp` either sort; `name`.
`V:sg` a predicate whose verb agrees with a singular, `v:sg` a short one, `obj` a subject and verb without its object.
"""

from __future__ import annotations

from ops.training.text.generators.thing_templates import PLURAL_THINGS, SINGULAR_THINGS

_SINGULAR_PEOPLE = """
the/DT <ps> of/IN <Xp>
the/DT <ps> with/IN the/DT <adj> <tp>
the/DT <ps> behind/IN <Xp> in/IN <Ts>
the/DT <ps> near/IN <Tp>
the/DT <adj> <ps> next/JJ to/TO <Pp>
<Ps> together/RB with/IN <Pp>
<Ps> along/IN with/IN <Pp>
<Ps> , as/RB well/RB as/IN <Pp> ,
<name> , along/IN with/IN his/PRP$ <pp> ,
<name> , together/RB with/IN two/CD <pp> ,
each/DT of/IN <Pp>
each/DT of/IN the/DT <adj> <pp>
every/DT one/CD of/IN <Pp>
one/CD of/IN <Pp>
one/CD of/IN his/PRP$ <pp>
one/CD of/IN the/DT <pp> from/IN <Ts>
only/RB one/CD of/IN the/DT <pp>
neither/DT of/IN <Pp>
either/DT of/IN <Pp>
neither/DT of/IN the/DT two/CD <pp>
neither/DT of/IN them/PRP
each/DT of/IN them/PRP
one/CD of/IN us/PRP
a/DT <ps> of/IN most/JJS <pp>
a/DT <ps> of/IN many/JJ <pp>
the/DT <ps> across/IN from/IN <Pp>
the/DT <ps> in/IN front/NN of/IN the/DT <xp>
the/DT <ps> to/TO the/DT side/NN of/IN the/DT <xp>
each/DT <ps>
every/DT <ps>
every/DT <ps> and/CC every/DT <ps>
no/DT one/NN
every/DT <ps> and/CC <ps>
each/DT <ps> in/IN the/DT <tp>
either/DT <name> or/CC <name>
neither/DT <name> nor/CC <name>
either/DT <Pp> or/CC <Ps>
neither/DT <Pp> nor/CC <Ps>
either/DT my/PRP$ <pp> or/CC <name>
everyone/NN in/IN the/DT <ts>
everybody/NN at/IN the/DT <tp>
nobody/NN in/IN the/DT <tp>
no/DT one/NN among/IN the/DT <pp>
someone/NN from/IN the/DT <tp>
anyone/NN with/IN <adj> <tp>
everyone/NN except/IN <Pp>
nobody/NN but/IN the/DT <pp>
everyone/NN
nobody/NN
somebody/NN
<Ps> who/WP <v:sg>
the/DT <ps> who/WP <v:sg>
the/DT <ps> that/WDT <v:sg>
the/DT <ps> who/WP lives/VBZ! next/JJ to/TO <Pp>
the/DT <ps> who/WP works/VBZ! with/IN <Pp>
the/DT <ps> who/WP the/DT <pp> <likes:pl>
the/DT <ps> that/IN <Pp> <likes:pl>
the/DT <ps> whom/WP <Pp> <likes:pl>
the/DT <ps> <Pp> <likes:pl>
the/DT <ps> I/PRP met/VBD with/IN the/DT <pp>
the/DT <ps> whose/WP$ <pp> live/VBP? here/RB
the/DT <ps> standing/VBG behind/IN <Pp>
the/DT <ps> playing/VBG with/IN the/DT <tp>
the/DT <ps> sitting/VBG next/JJ to/TO <Pp>
the/DT <ps> talking/VBG to/TO <Pp>
the/DT <ps> loved/VBN by/IN <Pp>
<name> , the/DT <ps> of/IN the/DT <pp> ,
my/PRP$ <ps> , a/DT friend/NN of/IN the/DT <pp> ,
<Ps> , who/WP <v:sg> ,
<name> , who/WP <v:sg> ,
the/DT brother/NN of/IN <Pp>
the/DT sister/NN of/IN <Pp>
the/DT father/NN of/IN the/DT <pp>
the/DT mother/NN of/IN <Pp>
the/DT friend/NN of/IN <Pp>
the/DT <ps> of/IN the/DT <pp> from/IN the/DT <ts>
<Ps>
<name>
my/PRP$ <adj> <ps>
"""
_PLURAL_PEOPLE = """
<name> and/CC <name>
<name> and/CC I/PRP
<name> and/CC his/PRP$ <ps>
my/PRP$ <ps> and/CC his/PRP$ wife/NN
my/PRP$ brother/NN and/CC my/PRP$ <ps>
my/PRP$ parents/NNS and/CC <name>
the/DT <ps> and/CC the/DT <ps>
the/DT <pp> and/CC the/DT <ps>
her/PRP$ mother/NN and/CC father/NN
both/DT <name> and/CC <name>
both/DT <ps> and/CC <ps>
both/DT of/IN <Pp>
both/DT of/IN them/PRP
many/JJ of/IN them/PRP
all/DT of/IN us/PRP
several/JJ of/IN the/DT <pp>
few/JJ of/IN <Pp>
the/DT children/NNS
these/DT people/NNS
those/DT women/NNS
the/DT <pp> in/IN front/NN of/IN the/DT <xs>
the/DT <pp> across/IN from/IN <Ps>
some/DT <pp> of/IN the/DT <ps>
both/DT <pp>
either/DT <Ps> or/CC <Pp>
neither/DT <Ps> nor/CC <Pp>
neither/DT <name> nor/CC his/PRP$ <pp>
<Pp> , as/RB well/RB as/IN <name> ,
<Pp> together/RB with/IN <Ps>
<Pp> along/IN with/IN their/PRP$ <ps>
a/DT number/NN of/IN <pp>
a/DT large/JJ number/NN of/IN <pp>
a/DT lot/NN of/IN <pp>
lots/NNS of/IN <pp>
most/JJS of/IN <Pp>
most/JJS <pp>
some/DT of/IN <Pp>
all/DT of/IN <Pp>
half/NN of/IN <Pp>
two/CD thirds/NNS of/IN the/DT <pp>
many/JJ of/IN <Pp>
many/JJ <pp>
several/JJ <pp>
few/JJ of/IN <Pp>
a/DT few/JJ <pp>
two/CD of/IN <Pp>
three/CD <pp> from/IN the/DT <ts>
these/DT <pp>
those/DT <adj> <pp>
the/DT <pp> of/IN <Xs>
the/DT <pp> with/IN the/DT <adj> <ts>
the/DT <pp> behind/IN <Xs> in/IN <Ts>
the/DT <pp> near/IN <Ts>
the/DT <adj> <pp> next/JJ to/TO <Ps>
<Pp> who/WP <v:pl>
the/DT <pp> who/WP <v:pl>
<pp> who/WP <v:pl>
people/NNS who/WP <v:pl>
children/NNS who/WP <v:pl>
those/DT who/WP <v:pl>
the/DT <pp> that/WDT <v:pl>
the/DT <pp> who/WP live/VBP? next/JJ to/TO <Ps>
the/DT <pp> who/WP the/DT <ps> <likes:sg>
the/DT <pp> that/IN <Ps> <likes:sg>
the/DT <pp> whom/WP <name> <likes:sg>
the/DT <pp> <Ps> <likes:sg>
the/DT <pp> <name> <likes:sg>
the/DT <pp> playing/VBG in/IN the/DT <ts>
the/DT <pp> standing/VBG behind/IN <Ps>
the/DT <pp> talking/VBG to/TO <Ps>
<Pp> , who/WP <v:pl> ,
<Pp> , including/VBG <name> ,
the/DT brothers/NNS of/IN <Ps>
the/DT sisters/NNS of/IN <Ps>
the/DT parents/NNS of/IN <Ps>
the/DT friends/NNS of/IN <name>
the/DT <pp> of/IN the/DT <ps> from/IN the/DT <ts>
<Pp>
<pp>
people/NNS
most/JJS people/NNS
many/JJ people/NNS in/IN the/DT <ts>
young/JJ people/NNS
the/DT police/NNS
the/DT children/NNS
their/PRP$ children/NNS
women/NNS
some/DT men/NNS
the/DT women/NNS from/IN the/DT <ts>
the/DT people/NNS in/IN the/DT <ts>
"""
# Whole sentences; `be:sg` and the like agree, all else is as it stands.
_WHOLE = """
there/EX <be:sg> a/DT <xs> in/IN the/DT <ts>
there/EX <be:sg> a/DT <adj> <ts> near/IN the/DT <tp>
there/EX <be:sg> no/DT <ts> on/IN the/DT <tp>
there/EX <be:sg> some/DT <mass> in/IN the/DT <ts>
there/EX <be:sg> too/RB much/JJ <mass>
there/EX <be:sg> a/DT <ts> that/WDT <w:sg>
there/EX <has:sg> been/VBN a/DT <ts> here/RB
there/EX <has:pl> been/VBN many/JJ <xp> here/RB
there/EX <be:pl> many/JJ people/NNS in/IN the/DT <ts>
there/EX <be:pl> many/JJ <xp> in/IN the/DT <ts>
there/EX <be:pl> a/DT lot/NN of/IN <xp> in/IN the/DT <ts>
there/EX <be:pl> two/CD <adj> <xp> near/IN the/DT <ts>
there/EX <be:pl> three/CD <xp> in/IN my/PRP$ <ts>
there/EX <be:pl> some/DT <tp> on/IN the/DT <ts>
there/EX <be:pl> no/DT <tp> in/IN the/DT <ts>
there/EX <be:pl> several/JJ <pp> at/IN the/DT <ts>
there/EX <be:pl> a/DT few/JJ <tp> in/IN the/DT <ts>
there/EX <be:pl> not/RB many/JJ <tp> here/RB
there/EX <be:pl> children/NNS in/IN the/DT <ts>
there/EX <be:pl> people/NNS who/WP <v:pl>
here/RB <is:pl> the/DT <tp>
here/RB <is:pl> your/PRP$ <tp>
here/RB <is:sg> your/PRP$ <ts>
"""
_QUESTIONS = """
<be:pl> <Pp> <adj> ?
<be:sg> <Ps> <adj> ?
<be:pl> the/DT <tp> in/IN the/DT <ts> ?
<be:sg> the/DT <ts> on/IN the/DT <tp> ?
<be:pl> there/EX any/DT <tp> in/IN the/DT <ts> ?
<be:pl> there/EX many/JJ <xp> in/IN the/DT <ts> ?
<be:sg> there/EX a/DT <ts> near/IN the/DT <tp> ?
where/WRB <be:pl> <Tp> ?
where/WRB <be:sg> <Ts> ?
where/WRB <be:pl> the/DT <tp> of/IN <Ps> ?
why/WRB <be:pl> <Pp> so/RB <adj> ?
why/WRB <be:sg> <name> so/RB <adj> ?
how/WRB <be:pl> <Pp> ?
<does:sg> <Ps> <base> ?
<does:sg> <name> <base> ?
<does:pl> <Pp> <base> ?
<does:pl> <name> and/CC <name> <base> ?
<does:sg> everyone/NN <base> ?
where/WRB <does:sg> <Ps> <works> ?
what/WP time/NN <does:sg> the/DT <ts> <works> ?
when/WRB <does:pl> the/DT <tp> open/VB ?
how/WRB much/RB <does:pl> these/DT <tp> cost/VB ?
how/WRB much/RB <does:sg> this/DT <ts> cost/VB ?
why/WRB <does:pl> <Pp> <base> ?
when/WRB <does:sg> <name> <base> ?
<has:sg> <Ps> <done> ?
<has:pl> <Pp> <done> ?
<has:sg> <name> <done> ?
<has:sg> he/PRP <done> ?
<has:pl> they/PRP <done> ?
<has:pl> you/PRP <done> ?
"""
_COORDINATED = """
he/PRP <v:sg> and/CC <v:sg>
she/PRP <v:sg> and/CC <v:sg>
<name> <v:sg> and/CC <v:sg>
<Ps> <v:sg> and/CC <v:sg>
he/PRP <v:sg> but/CC <not:sg>
she/PRP <v:sg> , <v:sg> , and/CC <v:sg>
they/PRP <v:pl> and/CC <v:pl>
<Pp> <v:pl> and/CC <v:pl>
<name> and/CC <name> <v:pl> and/CC <v:pl>
he/PRP <not:sg>
she/PRP <not:sg>
it/PRP <not:sg>
they/PRP <not:pl>
we/PRP <not:pl>
you/PRP <not:pl>
yes/UH , he/PRP <does:sg>
yes/UH , they/PRP <does:pl>
no/UH , she/PRP <doesn't:sg>
no/UH , they/PRP <doesn't:pl>
"""


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line]


STATEMENTS: tuple[str, ...] = (
    *(f"{line} <V:{number}>" for number, text in (("sg", _SINGULAR_PEOPLE), ("pl", _PLURAL_PEOPLE))
      for line in _lines(text)),
    *(f"{line} <W:{number}>" for number, text in (("sg", SINGULAR_THINGS), ("pl", PLURAL_THINGS))
      for line in _lines(text)),
    *_lines(_WHOLE), *_lines(_COORDINATED),
)  # fmt: skip
QUESTIONS = tuple(line.removesuffix(" ?") for line in _lines(_QUESTIONS))

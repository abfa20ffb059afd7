"""Subjects that are no persons, as templates (see subject_templates.py)."""

from __future__ import annotations

SINGULAR_THINGS = """
the/DT box/NN of/IN <tp>
the/DT <ts> of/IN <Tp>
the/DT <ts> on/IN the/DT <tp>
the/DT <ts> for/IN the/DT <xp>
the/DT <ts> with/IN the/DT <tp>
the/DT <ts> near/IN <Tp>
the/DT <ts> behind/IN the/DT <tp> in/IN <Ts>
the/DT <adj> <ts> between/IN the/DT <tp>
the/DT color/NN of/IN <Tp>
the/DT price/NN of/IN these/DT <tp>
the/DT list/NN of/IN <xp>
the/DT quality/NN of/IN the/DT <tp>
the/DT number/NN of/IN <xp>
the/DT number/NN of/IN <xp> in/IN the/DT <ts>
each/DT of/IN <Tp>
every/DT one/CD of/IN <Tp>
one/CD of/IN <Tp>
one/CD of/IN the/DT <adj> <tp>
one/CD of/IN the/DT <tp> on/IN the/DT <ts>
neither/DT of/IN <Tp>
either/DT of/IN <Tp>
neither/DT of/IN the/DT <tp>
a/DT bag/NN of/IN <adj> <tp>
a/DT basket/NN of/IN <tp>
the/DT bouquet/NN of/IN <adj> flowers/NNS
what/WP he/PRP says/VBZ
what/WP she/PRP told/VBD the/DT <pp>
each/DT <ts>
every/DT <ts> and/CC every/DT <ts>
every/DT <ts>
every/DT <ts> and/CC <ts>
either/DT the/DT <tp> or/CC the/DT <ts>
neither/DT the/DT <tp> nor/CC the/DT <ts>
something/NN about/IN the/DT <tp>
everything/NN in/IN the/DT <tp>
nothing/NN in/IN these/DT <tp>
the/DT <obj-sg>
the/DT <ts> that/WDT <w:sg>
the/DT <ts> which/WDT <w:sg>
the/DT <ts> that/IN <Pp> <likes:pl>
the/DT <ts> <Pp> <likes:pl>
the/DT <ts> my/PRP$ <pp> gave/VBD me/PRP
the/DT <ts> lying/VBG between/IN the/DT <tp>
the/DT letter/NN written/VBN by/IN <Pp>
the/DT <ts> made/VBN by/IN <Pp>
the/DT <ts> used/VBN by/IN the/DT <pp>
the/DT <ts> , together/RB with/IN the/DT <tp> ,
the/DT <ts> , as/RB well/RB as/IN the/DT <tp> ,
the/DT <ts> , which/WDT <w:sg> ,
the/DT pair/NN of/IN scissors/NNS
this/DT pair/NN of/IN trousers/NNS
most/JJS of/IN the/DT <mass>
some/DT of/IN the/DT <mass>
all/DT of/IN the/DT <mass>
half/NN of/IN the/DT <mass>
a/DT lot/NN of/IN the/DT <mass>
two/CD thirds/NNS of/IN the/DT <mass>
the/DT <mass>
the/DT <mass> in/IN the/DT <tp>
the/DT <mass> for/IN the/DT <tp>
his/PRP$ <mass>
all/DT the/DT <mass>
the/DT news/NN
the/DT news/NN about/IN the/DT <pp>
mathematics/NN
physics/NN
the/DT United/NNP States/NNPS
this/DT <ts>
that/DT <adj> <ts>
the/DT <ts> of/IN my/PRP$ <pp>
this/DT phenomenon/NN
the/DT only/JJ criterion/NN
what/WP the/DT <pp> need/VBP?
what/WP <Pp> said/VBD about/IN the/DT <tp>
swimming/VBG in/IN cold/JJ rivers/NNS
swimming/VBG in/IN the/DT <tp>
walking/VBG in/IN the/DT mountains/NNS
writing/VBG letters/NNS
driving/VBG fast/JJ cars/NNS
cooking/VBG for/IN <Pp>
speaking/VBG foreign/JJ languages/NNS
taking/VBG long/JJ walks/NNS
talking/VBG to/TO <Pp>
running/VBG in/IN the/DT mornings/NNS
reading/VBG books/NNS
watching/VBG old/JJ movies/NNS
playing/VBG with/IN <Pp>
learning/VBG languages/NNS
eating/VBG too/RB many/JJ sweets/NNS
to/TO help/VB the/DT <pp>
to/TO learn/VB languages/NNS
"""
PLURAL_THINGS = """
the/DT keys/NNS to/TO the/DT cabinet/NN
the/DT boxes/NNS of/IN <mass>
the/DT <tp> of/IN <Ts>
the/DT <tp> on/IN the/DT <ts>
the/DT <tp> in/IN the/DT <ts>
the/DT <tp> for/IN the/DT <xs>
the/DT <tp> with/IN the/DT <ts>
the/DT <tp> near/IN <Ts>
the/DT <tp> behind/IN the/DT <ts> in/IN <Ts>
the/DT <adj> <tp> beside/IN the/DT <ts>
the/DT colors/NNS of/IN <Ts>
the/DT prices/NNS of/IN this/DT <ts>
a/DT number/NN of/IN <tp>
a/DT large/JJ number/NN of/IN <tp>
a/DT lot/NN of/IN <tp>
a/DT lot/NN of/IN the/DT <tp>
most/JJS of/IN <Tp>
some/DT of/IN <Tp>
all/DT of/IN <Tp>
half/NN of/IN <Tp>
two/CD thirds/NNS of/IN the/DT <tp>
many/JJ of/IN <Tp>
both/DT of/IN the/DT <tp>
both/DT of/IN them/PRP
many/JJ of/IN them/PRP
his/PRP$ mice/NNS
those/DT geese/NNS
two/CD <tp> on/IN the/DT <ts>
the/DT two/CD <tp>
several/JJ <adj> <tp>
these/DT <tp>
those/DT <adj> <tp>
the/DT <ts> and/CC the/DT <ts>
the/DT <ts> and/CC the/DT <tp>
his/PRP$ <ts> and/CC his/PRP$ <ts>
either/DT the/DT <ts> or/CC the/DT <tp>
neither/DT the/DT <ts> nor/CC the/DT <tp>
the/DT <obj-pl>
the/DT <tp> that/WDT <w:pl>
the/DT <tp> which/WDT <w:pl>
<tp> that/WDT <w:pl>
the/DT <tp> that/IN <Ps> <likes:sg>
the/DT <tp> <Ps> <likes:sg>
the/DT <tp> my/PRP$ <ps> gave/VBD me/PRP
the/DT <tp> lying/VBG on/IN the/DT <ts>
the/DT letters/NNS written/VBN by/IN <Ps>
the/DT <tp> made/VBN by/IN <Ps>
the/DT <tp> , together/RB with/IN the/DT <ts> ,
the/DT <tp> , as/RB well/RB as/IN the/DT <ts> ,
the/DT <tp> , which/WDT <w:pl> ,
the/DT scissors/NNS
these/DT trousers/NNS
my/PRP$ glasses/NNS
his/PRP$ teeth/NNS
her/PRP$ feet/NNS
the/DT mice/NNS
the/DT geese/NNS
these/DT phenomena/NNS
the/DT cattle/NNS
<Tp>
<tp>
my/PRP$ <adj> <tp>
"""

"""How often each reason and verb is drawn."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from api.grammar.reasons import Reason
from ops.training.text.corpus import TaggedSentence
from ops.training.text.sampling import CandidateIndex
from ops.training.text.view import Candidate


def index_of(counts: dict[Reason, dict[str, int]]) -> CandidateIndex:
    rows = []
    for reason, verbs in counts.items():
        for lemma, count in verbs.items():
            sentence = TaggedSentence("test", f"{reason.name} {lemma}", ())
            rows += [(sentence, (Candidate(reason, lemma, 0, 1, "wrong", 0, 4),))] * count
    return CandidateIndex(rows)


def drawn(index: CandidateIndex, num: int = 20_000) -> Counter[tuple[Reason, str]]:
    rng = random.Random(1)
    return Counter((candidate.reason, candidate.lemma) for _, _, candidate in (index.draw(rng) for _ in range(num)))


def test_the_rarest_reason_gets_its_least_share_whatever_the_others_have():
    counts = dict.fromkeys(Reason, {"go": 1}) | dict.fromkeys(list(Reason)[:5], {"go": 4000})

    shares = Counter()
    for (reason, _), count in drawn(index_of(counts)).items():
        shares[reason] += count / 20_000

    assert min(shares[reason] for reason in Reason) > 0.015  # 0.018 less chance
    assert max(shares.values()) == pytest.approx((1 - 30 * 0.018) / 5, abs=0.01)


def test_frequent_verbs_are_drawn_more_often_but_less_than_text_has_them():
    found = drawn(index_of({Reason.SVA_SG: {"be": 1000, "bite": 10}}))

    assert found[Reason.SVA_SG, "be"] / found[Reason.SVA_SG, "bite"] == pytest.approx(100**0.65, rel=0.15)


def test_verbs_to_over_regularise_are_drawn_more_evenly_than_others():
    found = drawn(index_of({Reason.PAST_IRREG: {"go": 1000, "bite": 10}}))

    assert found[Reason.PAST_IRREG, "go"] / found[Reason.PAST_IRREG, "bite"] == pytest.approx(100**0.3, rel=0.1)


def test_text_without_verbs_is_named_as_the_fault():
    with pytest.raises(ValueError, match="read more text"):
        CandidateIndex([]).draw(random.Random(0))

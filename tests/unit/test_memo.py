"""What is remembered of words: each computed once, within a bound for the memory."""

from __future__ import annotations

from api.grammar.memo import memo


def test_long_keys_are_never_kept() -> None:
    computed = []
    length = memo(lambda key: computed.append(key) or len(key))
    word, pair = "a" * 49, ("a" * 25, "b" * 24)

    assert [length(word), length(word), length(pair), length(pair)] == [49, 49, 2, 2]
    assert len(computed) == 4


def test_a_key_in_use_outlives_many_others_and_the_others_go() -> None:
    computed = []
    number = memo(lambda word: computed.append(word) or int(word))

    for other in range(20_000):
        number("0"), number(str(other))

    assert computed.count("0") == 1
    assert [number(str(recent)) for recent in range(19_000, 20_000)] == list(range(19_000, 20_000))
    assert len(computed) == 20_000, "the most recent ones are still known"
    assert [number("1"), computed.count("1")] == [1, 2], "the oldest are not"

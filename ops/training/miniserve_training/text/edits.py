"""From mistakes made in a right sentence to the edits that mend them, and back."""

from __future__ import annotations

from collections.abc import Sequence

from api.grammar.edit_script import ScriptEdit
from api.grammar.words import split_pieces
from miniserve_training.text.view import Candidate

MOST_WORDS = 2  # that an edit replaces

Part = tuple[int, int, str]  # the first wrong word, counted in the mistake, how many, and the right text


def apply_edits(sentence: str, edits: Sequence[ScriptEdit]) -> str:
    """The sentence with the edits made; capitals of what is replaced are kept, that of a name goes with it."""
    words = [piece for piece in split_pieces(sentence) if piece.word_number is not None]
    for edit in reversed(edits):
        first, last = words[edit.word], words[edit.word + edit.num_words - 1]
        text = edit.replacement
        is_own = edit.word > 0 and first.text in text.split(" ")[1:]
        replaced = sentence[first.start : last.end]
        if replaced.isupper() and sum(map(str.isalpha, replaced)) > 1:
            text = text.upper()
        elif first.text[0].isupper() and not is_own:
            text = text[0].upper() + text[1:]
        sentence = sentence[: first.start] + text + sentence[last.end :]
    return sentence


def with_mistake(text: str, mistake: Candidate) -> str:
    """The right `text` with this mistake made."""
    return text[: mistake.start] + mistake.wrong + text[mistake.end :]


def edits_of(text: str, chosen: Sequence[Candidate]) -> tuple[ScriptEdit, ...]:
    """What mends these mistakes, made in the right `text`; word numbers are those of the wrong one."""
    edits, shift = [], 0
    for candidate in chosen:
        right = text[candidate.start : candidate.end]
        # A capital is taken over from what is replaced; a name or "I" behind a small word has its own.
        right = right[:1].lower() + right[1:] if candidate.wrong[:1].isupper() else right
        first = candidate.first + shift
        wrongs = candidate.wrong.split(" ")
        for offset, num_words, replacement in parts(wrongs, right.split(" ")):
            edits.append(ScriptEdit(first + offset, num_words, replacement, candidate.reason))
        shift += len(wrongs) - candidate.num_right
    return tuple(edits)


def parts(wrongs: Sequence[str], rights: Sequence[str]) -> list[Part]:
    """One edit where two words at most go, else an edit at either end: "is [usually] getting" > "[usually] gets",
    "is the [new] bank" > "the [new] bank is".

    Raises ValueError where neither does it.
    """
    if len(wrongs) <= MOST_WORDS:
        return [(0, len(wrongs), " ".join(rights))]
    if wrongs[1:-1] == list(rights[1:-1]):
        return [(0, 1, rights[0]), (len(wrongs) - 1, 1, rights[-1])]
    is_negated = wrongs[1] == "not" and wrongs[2:-1] == list(rights[1:-1])  # "am not eating" > "don't eat"
    if is_negated or wrongs[1:-1] == list(rights[:-1]):
        return [(0, 2, rights[0]), (len(wrongs) - 1, 1, rights[-1])]
    if [*wrongs[1:], wrongs[0]] == list(rights):
        return [(0, 2, wrongs[1]), (len(wrongs) - 1, 1, f"{wrongs[-1]} {wrongs[0]}")]
    if [wrongs[-1], *wrongs[:-1]] == list(rights):
        return [(0, 1, f"{wrongs[-1]} {wrongs[0]}"), (len(wrongs) - 2, 2, wrongs[-2])]
    if wrongs[1:-1] == list(rights[1:]) and wrongs[-1] == rights[0].lower():  # "do you can" > "can you"
        return [(0, 1, rights[0]), (len(wrongs) - 2, 2, wrongs[-2])]
    if wrongs[1:] == list(rights[1:-1]):  # "means this word" > "does this word mean"
        return [(0, 1, rights[0]), (len(wrongs) - 1, 1, f"{wrongs[-1]} {rights[-1]}")]
    if wrongs[1:] == list(rights[:-1]):  # (does) "means this word" > "this word mean"
        return [(0, 2, wrongs[1]), (len(wrongs) - 1, 1, f"{wrongs[-1]} {rights[-1]}")]
    raise ValueError(f"{' '.join(wrongs)!r} is more than {MOST_WORDS} words")

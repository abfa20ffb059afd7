"""Are mistakes mended that no example showed? `python -m ops.training.kept_out RUN VERB,VERB,... CORPUS...`

RUN is the folder of a run that kept these irregular verbs out (`miniserve train --keep-out VERB`). Every
over-regularised form of them is put into sentences, one a sentence, held-out ones first, and decoded at the run's bias
of <eos>. The right sentence may have been seen in training; the form, in no sentence.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from safetensors import safe_open

from api.grammar.edit_script import ScriptEdit, parse_script
from api.grammar.reasons import Reason
from api.grammar.tokenizer import Tokenizer
from api.grammar.verbs import VerbTable
from ops.training.corpus import TaggedSentence, is_held_out, read_corpus
from ops.training.corruption import ExampleMaker, Lexicon
from ops.training.decoding import decode
from ops.training.export import read_twin

_OVER_REGULARISED = (Reason.PAST_IRREG, Reason.PART_IRREG)
_MOST_PER_VERB = 40
_OTHER_BIASES = (0.0, 1.0, 1.75, 2.75)


def over_regularised_sentences(
    sentences: Sequence[TaggedSentence], maker: ExampleMaker, verbs: Sequence[str]
) -> Iterator[tuple[str, str, ScriptEdit]]:
    """Verb, wrong sentence and the edit that mends it, for every form the maker can put into a sentence."""
    left = dict.fromkeys(verbs, _MOST_PER_VERB)
    for sentence in sorted(sentences, key=lambda sentence: not is_held_out(sentence.text)):
        if not any(left.values()):
            return
        for candidate in maker.candidates(sentence):
            if candidate.reason in _OVER_REGULARISED and left.get(candidate.lemma):
                left[candidate.lemma] -= 1
                right = sentence.text[candidate.start : candidate.end]
                wrong = sentence.text[: candidate.start] + candidate.wrong + sentence.text[candidate.end :]
                replacement = right[:1].lower() + right[1:]
                yield candidate.lemma, wrong, ScriptEdit(candidate.first, 1, replacement, candidate.reason)


def main() -> None:
    """Print, for each verb and in all, how many of the forms were mended."""
    run, verbs, corpora = Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3:]
    sentences = read_corpus(corpora)
    table = VerbTable.load()
    maker = ExampleMaker(table, (), lexicon=Lexicon.build(table, sentences))
    items = list(over_regularised_sentences(sentences, maker, verbs))
    tokenizer = Tokenizer.load()
    prompts = [tokenizer.encode(wrong) for _, wrong, _ in items]
    weights = run / "mini-gpt.safetensors"
    with safe_open(weights, framework="numpy") as file:
        eos_bias = json.loads(file.metadata()["config"])["eos_bias"]
    totals = Counter(verb for verb, _, _ in items)
    results = decode(read_twin(weights), prompts)

    def count_mended(bias: float) -> Counter[str]:
        return Counter(
            verb
            for (verb, _, edit), prompt, result in zip(items, prompts, results, strict=True)
            if parse_script(tokenizer, result.at(bias), len(prompt.words)).edits == (edit,)
        )

    mended = count_mended(eos_bias)
    for verb in verbs:
        print(f"{verb:<10} {mended[verb]:>4} of {totals[verb]}")
    print(f"{'all':<10} {mended.total():>4} of {totals.total()}, eos_bias {eos_bias}")
    for bias in _OTHER_BIASES:
        print(f"{'all':<10} {count_mended(bias).total():>4} of {totals.total()}, eos_bias {bias}")


if __name__ == "__main__":
    main()

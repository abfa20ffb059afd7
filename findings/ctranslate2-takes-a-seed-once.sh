#!/bin/sh
# ctranslate2 4.8.5: set_random_seed(), by its docstring "Sets the seed of random generators", sets nothing in a model that has
# sampled before: its worker thread keeps the generator that it made at its first sample. The same seed before each request does
# not give the same text again, nor does another seed give another one: the model goes on as if it had not been called. Only a
# model that is loaded after the call, or has not sampled yet, takes the seed. Public as issue 1757 of CTranslate2, open.
# It meets a service that takes a seed with each request, and an evaluation that sets one for each repetition of it.
# set_random_generator_seed() of sentencepiece 0.2.3 starts its samples anew each time.
#
# Seen, five samples of a model to which all letters are alike: seed 5 before each, seeds 5 to 9, and seed 5 before the first
# only: the same five different samples each time; seed 6 before each, in a model that is loaded anew: five others.
# Prints the samples; exit 1 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ctranslate2==4.8.5 numpy==2.4.6
mkdir "$folder/model"
"$folder/venv/bin/python" - "$folder/model" <<'EOF'
import sys

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerDecoderModelSpec

WORDS = ["<unk>", "<s>", "</s>", *"abcdefghijklmnopqrstuvwxyz"]
SIZE = 8


def write_model(folder):
    """A decoder whose weights are all zero, so that the next letter may be any."""
    spec = TransformerDecoderModelSpec.from_config(1, 1, pre_norm=True)
    decoder, layer = spec.decoder, spec.decoder.layer[0]
    into, out = layer.self_attention.linear
    sizes = {into: 3 * SIZE, out: SIZE, layer.ffn.linear_0: SIZE, layer.ffn.linear_1: SIZE, decoder.projection: len(WORDS)}
    for linear, size in sizes.items():
        linear.weight, linear.bias = np.zeros((size, SIZE), np.float32), np.zeros(size, np.float32)
    for norm in (decoder.layer_norm, layer.self_attention.layer_norm, layer.ffn.layer_norm):
        norm.gamma, norm.beta = np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32)
    decoder.embeddings.weight = np.zeros((len(WORDS), SIZE), np.float32)
    decoder.position_encodings.encodings = np.zeros((16, SIZE), np.float32)
    spec.register_vocabulary(WORDS)
    spec.validate()
    spec.optimize()
    spec.save(folder)


def samples(seeds):
    """What a model that is loaded anew gives, with a seed set before each sample, or none."""
    model = ctranslate2.Generator(sys.argv[1], inter_threads=1, intra_threads=1)
    for seed in seeds:
        if seed is not None:
            ctranslate2.set_random_seed(seed)
        result = model.generate_batch([["<s>"]], sampling_topk=0, max_length=12, suppress_sequences=[["<unk>"], ["</s>"]])
        yield "".join(result[0].sequences[0])


write_model(sys.argv[1])
found = []
for seeds in ([5] * 5, [5, 6, 7, 8, 9], [5] + [None] * 4, [6] * 5):
    found.append(list(samples(seeds)))
    print(f"{seeds}: {', '.join(found[-1])}")
each, others, first_only, other = found
sys.exit(not each == others == first_only or len({*each, *other}) != 10)
EOF

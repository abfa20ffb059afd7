"""Whether a sentence has the same answer alone and in a batch, for every kernel of BLAS: `python -m tests.kernel_bits`.

Each kernel and number of threads is a process of its own. It prints what the self-test finds, how many of the sentences
have the same tokens in batches of 64 as alone, and a digest of all tokens and confidences, to compare machines.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np

from ops.run.kernels import check_batch_invariance
from ops.run.offline import OfflineCorrector
from scheduler.settings import Settings
from tests.many_sentences import sentences
from worker.model.weights import load_weights

KERNELS = ("SkylakeX", "Haswell", "Sandybridge", "Nehalem", "Prescott")  # others are aliases of these
NUM_SENTENCES, BATCH = 300, 64


def main() -> None:
    for kernel in KERNELS:
        for threads in ("1", "2"):
            env = os.environ | {"OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": threads}
            subprocess.run([sys.executable, "-m", __spec__.name, kernel, threads], env=env, check=True)


def measure(kernel: str, threads: str) -> None:
    found = check_batch_invariance(load_weights())
    texts = list(islice(sentences(seed=9), NUM_SENTENCES))
    corrector = OfflineCorrector.load(Settings())
    alone = [_facts(corrector.correct_batch([text])[0]) for text in texts]
    batches = [corrector.correct_batch(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
    together = [_facts(one) for batch in batches for one in batch]
    same = sum(one == other for one, other in zip(alone, together, strict=True))
    digest = hashlib.sha256(repr(alone).encode()).hexdigest()[:12]
    print(f"{kernel:12} {threads} {_loaded_kernel():12} {found.value:14} {same} of {len(texts)}  {digest}", flush=True)


def _loaded_kernel() -> str:
    """The kernel that OpenBLAS runs; it takes another where this CPU lacks what a name asks for."""
    library, *_ = (Path(np.__file__).parents[1] / "numpy.libs").glob("libscipy_openblas64*")
    name = ctypes.CDLL(str(library)).scipy_openblas_get_corename64_
    name.restype = ctypes.c_char_p
    return name().decode()


def _facts(correction: object) -> object:
    return correction.corrected, [(edit.start, edit.replacement, edit.confidence) for edit in correction.edits]


if __name__ == "__main__":
    measure(*sys.argv[1:]) if len(sys.argv) > 1 else main()

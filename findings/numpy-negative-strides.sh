#!/bin/sh
# numpy 2.4.6 on an x86-64 processor with AVX-512: the same number has another result in a view that runs backwards.
# exp(x[::-1])[::-1] differs from exp(x) in some 4 % of the float64 elements, cbrt in half of them, by 1 to 3 units in
# the last place: views with a negative stride take the scalar loop, all others (strided, unaligned, masked, big-endian)
# the vector loop, and so equal exp(x). sqrt is correctly rounded in both.
# With NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" both agree, as on processors without AVX-512.
#
# Seen on Zen 4 (4,096 elements): float64 exp 174, log 12, log1p 320, cbrt 2118; float32 log1p 344, cbrt 1476.
# Exit 1 if backwards and forwards agree; exit 0 with a word where the processor has no AVX-512.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
cat > "$folder/count.py" <<'EOF'
import sys

import numpy as np
from numpy._core._multiarray_umath import __cpu_features__

if not __cpu_features__.get("X86_V4"):
    print("without AVX-512 (this processor has none, or it is switched off):")
differing = 0
for dtype in (np.float64, np.float32):
    x = (np.random.default_rng(0).random(4096) * 4 + 0.1).astype(dtype)
    strided = np.repeat(x, 3)[::3]
    for function in (np.exp, np.log, np.log1p, np.cbrt, np.sqrt):
        forwards, backwards = function(x), function(x[::-1])[::-1]
        assert (function(strided) == forwards).all()
        number = int((forwards != backwards).sum())
        print(f"{np.dtype(dtype).name} {function.__name__}: {number} of {len(x)} differ backwards")
        differing += number
sys.exit(bool(differing) != bool(__cpu_features__.get("X86_V4")))
EOF
"$folder/venv/bin/python" "$folder/count.py"
NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" "$folder/venv/bin/python" -W ignore "$folder/count.py"

#!/bin/sh
# safetensors 0.8.0: safetensors.numpy.save and save_file write a transposed array, or one in Fortran's order, as it lies in
# memory, under the shape that it has. Read back, the same numbers stand at other places; nothing raises or warns, and the
# shape, the sum and the file's size are right. 0.5.3 and 0.7.0 write what the array says, as numpy.save does.
# The docstring asks for arrays that are "contiguous and dense". Both are, by numpy's flags (F_CONTIGUOUS); safetensors.torch,
# which has the same words, refuses a tensor that is not. Public as issue 825 of safetensors.
# It meets weights that were turned for a product, w.T, and what scikit-learn's PCA and scipy.linalg.svd and inv return.
#
# Seen, of [[0, 1, 2], [3, 4, 5]]: transposed: 0.7.0 [[0, 3], [1, 4], [2, 5]], 0.8.0 [[0, 1], [2, 3], [4, 5]]; in Fortran's
# order: 0.7.0 [[0, 1, 2], [3, 4, 5]], 0.8.0 [[0, 3, 1], [4, 2, 5]]. Copied by numpy.ascontiguousarray before: right.
# Exit 1 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip="$folder/venv/bin/pip install --quiet --disable-pip-version-check"
$pip numpy==2.4.6
for version in 0.7.0 0.8.0; do
  $pip --no-deps --target "$folder/$version" safetensors==$version
done
cat > "$folder/keep.py" <<'EOF'
import io
import sys
from pathlib import Path

import numpy as np
from safetensors import __version__
from safetensors.numpy import load, load_file, save, save_file

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
ARRAYS = {"transposed": ROWS.T, "Fortran": np.asfortranarray(ROWS)}
SEEN = {
    "0.7.0": {"transposed": [[0, 3], [1, 4], [2, 5]], "Fortran": [[0, 1, 2], [3, 4, 5]]},
    "0.8.0": {"transposed": [[0, 1], [2, 3], [4, 5]], "Fortran": [[0, 3, 1], [4, 2, 5]]},
}
file = Path(sys.argv[1], "weights.safetensors")
found = {}
for name, array in ARRAYS.items():
    assert array.flags.f_contiguous and array.flags.forc
    read = load(save({"x": array}))["x"]
    save_file({"x": array}, file)
    assert np.array_equal(read, load_file(file)["x"])
    assert np.array_equal(array, load(save({"x": np.ascontiguousarray(array)}))["x"])
    by_numpy = io.BytesIO()
    np.save(by_numpy, array)
    by_numpy.seek(0)
    assert np.array_equal(array, np.load(by_numpy))
    found[name] = read.tolist()
    print(f"safetensors {__version__}, {name}: {array.tolist()} becomes {found[name]}")
sys.exit(found != SEEN[__version__])
EOF
for version in 0.7.0 0.8.0; do
  PYTHONPATH="$folder/$version" "$folder/venv/bin/python" "$folder/keep.py" "$folder"
done

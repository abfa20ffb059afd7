#!/bin/sh
# safetensors 0.8.0: what get_slice() returns, "a dummy object you can slice into to get a real tensor", takes slices otherwise
# than a sequence of Python, numpy or PyTorch does. One that goes beyond the end raises a SafetensorError, where they give what
# there is: a loop over parts of 512 rows works for every file whose rows 512 divides, and fails in the last part of the others.
# One that counts from the end raises an OverflowError, though the index -1 works.
# Until 0.7.0 the step of a slice was left out without a word: [::2] gave every row.
#
# Seen, of 5 rows: [-1]: right; [4:6] and [5:7]: SafetensorError; [-2:], [:-1]: OverflowError; [::2]: 3 rows, by 0.7.0 5.
# Prints one line for each version; exit 1 if one of them changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip="$folder/venv/bin/pip install --quiet --disable-pip-version-check"
$pip numpy==2.4.6
for version in 0.7.0 0.8.0; do
  $pip --no-deps --target "$folder/$version" safetensors==$version
done
cat > "$folder/slices.py" <<'EOF'
import sys
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

ROWS = np.arange(15, dtype=np.float32).reshape(5, 3)
KEYS = {
    "[-1]": -1, "[0:2]": slice(0, 2), "[4:6]": slice(4, 6), "[5:7]": slice(5, 7), "[-2:]": slice(-2, None),
    "[:-1]": slice(None, -1), "[::2]": slice(None, None, 2),
}
path = Path(sys.argv[1], "rows.safetensors")
save_file({"rows": ROWS}, path)
found = {}
with safe_open(path, framework="np") as file:
    rows = file.get_slice("rows")
    for name, key in KEYS.items():
        try:
            part = rows[key]
        except Exception as error:
            found[name] = type(error).__name__
        else:
            found[name] = "right" if np.array_equal(part, ROWS[key]) else f"{len(part)} rows"
print(f"safetensors {sys.argv[2]}: {found}")
ends = {
    "[-1]": "right", "[0:2]": "right", "[4:6]": "SafetensorError", "[5:7]": "SafetensorError",
    "[-2:]": "OverflowError", "[:-1]": "OverflowError",
}
sys.exit(found != {**ends, "[::2]": {"0.7.0": "5 rows", "0.8.0": "right"}[sys.argv[2]]})
EOF
for version in 0.7.0 0.8.0; do
  PYTHONPATH="$folder/$version" "$folder/venv/bin/python" "$folder/slices.py" "$folder" $version
done

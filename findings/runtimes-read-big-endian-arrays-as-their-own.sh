#!/bin/sh
# onnxruntime 1.32.0, ctranslate2 4.8.5 and openvino 2026.4.1 take a numpy array whose numbers are big-endian, as ">f4" from
# numpy.frombuffer for a body in network order, from a .npy or an HDF5 file of such a machine, and read its bytes as their own:
# other numbers go into the model, and nothing raises or warns.
# onnxruntime does so in run() and in an OrtValue, though run() raises for other dtypes that are not the model's.
# ctranslate2's StorageView.from_array should raise a ValueError for "an unsupported array specification", by its docstring; the
# array interface says the byte order in the first letter of its typestr. openvino does so in Tensor and constant; where the
# same array is passed to the compiled model itself, it is right. onnx 1.23.2 raises, safetensors 0.8.0 swaps the bytes.
# Public for XGBoost's DMatrix as issue 12433, and for onnxruntime's Java as issue 26408; nothing was found for these three.
#
# Seen, of [1, 2, 3] in >f4 and in >i4: wrong: 4.6e-41, 9.0e-44, 2.3e-41 and 16777216, 33554432, 50331648; right: as they were.
# Prints one line for each; exit 1 if one of them changes. array.astype(array.dtype.newbyteorder("=")) helps.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip="$folder/venv/bin/pip install --quiet --disable-pip-version-check"
$pip onnxruntime==1.32.0 ctranslate2==4.8.5 onnx==1.23.2 safetensors==0.8.0 numpy==2.4.6
$pip --no-deps openvino==2026.4.1  # without openvino-telemetry, which counts each import in the home folder
"$folder/venv/bin/python" - <<'EOF'
import sys

import ctranslate2
import numpy as np
import onnxruntime
import openvino
from onnx import helper, numpy_helper
from openvino import opset13
from safetensors.numpy import load, save


def session(dtype):
    """A model that returns what it is given."""
    ends = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), [3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def by_compiled_model(array):
    given = opset13.parameter([3], array.dtype.newbyteorder("=").type)
    return openvino.Core().compile_model(openvino.Model([opset13.abs(given)], [given]), "CPU")(array)[0]


READERS = {
    "onnxruntime, run": (lambda array: session(array.dtype.newbyteorder("=")).run(None, {"x": array})[0], "wrong"),
    "onnxruntime, OrtValue": (lambda array: onnxruntime.OrtValue.ortvalue_from_numpy(array).numpy(), "wrong"),
    "ctranslate2, StorageView": (lambda array: np.array(ctranslate2.StorageView.from_array(array)), "wrong"),
    "openvino, Tensor": (lambda array: openvino.Tensor(array).data, "wrong"),
    "openvino, constant": (lambda array: opset13.constant(array).data, "wrong"),
    "openvino, compiled model": (by_compiled_model, "right"),
    "onnx, from_array": (lambda array: numpy_helper.to_array(numpy_helper.from_array(array)), "raises"),
    "safetensors": (lambda array: load(save({"x": array}))["x"], "right"),
}
changed = False
for name, (read, seen) in READERS.items():
    for dtype in (">f4", ">i4"):
        array = np.array([1, 2, 3], dtype)
        try:
            got = read(array)
            found = "right" if np.array_equal(got, array) else "wrong" if np.array_equal(got, array.view(dtype[1:])) else "else"
            print(f"{name}: {dtype}: {found}: {', '.join(f'{number:.9g}' for number in got.tolist())}")
        except ValueError as error:
            found = "raises"
            print(f"{name}: {dtype}: {error}")
        changed |= found != seen
sys.exit(changed)
EOF

"""How NumPy's BLAS is set up. Must run before NumPy is imported, so this module imports nothing of the kind.

One thread: two BLAS threads beside an API process lose more than they gain, workers scale by process instead.
AVX-512 kernels: OpenBLAS picks its kernels by a list of CPU models and takes AVX2 ones for a model it does not know
(AMD Zen 5, for example). Told to use its AVX-512 set there, a decode batch runs about 1.6 times as fast, and rows come out
bit-identical whatever else is in the batch (docs/adr/0003-blocked-weights.md).
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
AVX512_FLAGS = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}


def configure_blas(env: MutableMapping[str, str], cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Set the variables OpenBLAS reads when it is loaded. A kernel the user chose stays chosen."""
    for name in THREAD_VARIABLES:
        env[name] = "1"
    if AVX512_FLAGS <= _cpu_flags(cpuinfo):
        env.setdefault("OPENBLAS_CORETYPE", "SKYLAKEX")


def _cpu_flags(cpuinfo: Path) -> set[str]:
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        return set()  # not Linux: OpenBLAS decides
    return set(next((line for line in lines if line.startswith("flags")), "").split())

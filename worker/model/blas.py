"""How NumPy's BLAS is set up. Must run before NumPy is imported, so this module imports nothing of the kind.

One thread: with an API process on the same cores two BLAS threads lose more than they gain. Workers scale by process
instead.
"""

from __future__ import annotations

from collections.abc import MutableMapping

THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def configure_blas(env: MutableMapping[str, str]) -> None:
    """Set the variables a BLAS library reads when it is loaded."""
    for name in THREAD_VARIABLES:
        env[name] = "1"

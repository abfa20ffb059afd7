"""The environment BLAS is started with."""

from __future__ import annotations

from worker.model.blas import configure_blas


def test_every_process_computes_with_one_blas_thread_whatever_the_shell_says():
    env = {"OPENBLAS_NUM_THREADS": "8", "OPENBLAS_CORETYPE": "Haswell"}

    configure_blas(env)

    assert env["OPENBLAS_NUM_THREADS"] == env["OMP_NUM_THREADS"] == "1"
    assert env["OPENBLAS_CORETYPE"] == "Haswell", "a kernel the user chose stays chosen"

"""Warnings of NumPy about infinities and NaN."""

from __future__ import annotations

import subprocess
import sys


def test_infinities_warn_for_numpys_own_arrays_alone() -> None:
    code = """
import numpy as np
import portarray as pa
x = pa.asarray([0.0, -1.0, 1e308], device="numpy")
x / 0, 1 / x, x * 1e308, pa.log(x), np.log(x), pa.exp(x), x % 0, pa.asarray([1, 2]) // 0
pa.grad(lambda x: pa.sum(pa.sqrt(x)))(x)
np.ones(2) / 0
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stderr.count("RuntimeWarning") == 1, done.stderr
    assert "<string>:7" in done.stderr

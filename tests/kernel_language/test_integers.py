"""Inverted and negated integers, the lowest among them, which compilers take for smaller ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_helpers import require_launcher

import portarray as pa
import portarray.kernel_language as kl


@pa.kernel
def combined(y: Any, x: Any, z: Any) -> None:
    i = kl.index()
    y[0, i] = ~min(x[i], z[i])
    y[1, i] = pa.minimum(~z[i], pa.minimum(z[i], x[i]))
    y[2, i] = -(0 - ~max(x[i], z[i]))
    y[3, i] = max(~x[i], z[i])


@pa.kernel
def shifted(y: Any, x: Any, z: Any) -> None:
    i = kl.index()
    y[0, i] = ~((-z[i]) >> 7)
    y[1, i] = (-z[i]) >> 31
    y[2, i] = ~((-z[i] * 1) // 127)
    y[3, i] = 1 if -x[i] >= 0 else 2
    y[4, i] = (0 - z[i]) >> 31
    y[5, i] = (z[i] * -1) >> 31
    y[6, i] = ~((z[i] // -1) >> 7)
    y[7, i] = min(-1 - x[i], x[i] ^ -1)
    y[8, i] = abs(x[i]) >> 31
    y[9, i] = (-max(x[i], x[i])) >> 31


@pa.kernel
def one_by_one(y: Any, x: Any, z: Any) -> None:
    i = kl.index()
    a, b = x[i], z[i]
    for _ in range(2):  # exchanged values keep Intel's compiler from vectorizing
        a, b = b, a
    y[0, i] = ~min(a, b)
    y[1, i] = pa.minimum(~b, pa.minimum(b, a))
    y[2, i] = max(~a, b)
    y[3, i] = ~max(x[i], z[i])


@pa.kernel
def divided(y: Any, x: Any, z: Any) -> None:
    i = kl.index()
    y[0, i] = (-3 - (x[i] - 3)) // 3
    y[1, i] = (x[i] * 2 + x[i] * -3) // 3
    difference = x[i] - z[i] - x[i]
    y[2, i] = difference // 127
    y[3, i] = difference % 127


@pytest.mark.parametrize(
    "kernel", [combined, shifted, one_by_one, divided], ids=lambda kernel: kernel.__name__
)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint64"])
def test_inverted_and_negated_integers(device: str, kernel: Any, dtype: str) -> None:
    require_launcher(device)
    if dtype == "uint64" and kernel in (shifted, divided):
        pytest.skip("unsigned integers are not negated")
    if dtype != "int8" and not device.startswith(("numpy", "clarray")):
        pytest.skip("the programs are those of NumPy's device")
    limits = np.iinfo(dtype)
    edges = [limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1, 2, limits.max // 2]
    x, z = (pairs.ravel().copy() for pairs in np.meshgrid(*[np.array(edges, dtype)] * 2))
    try:
        placed = [pa.asarray(values, device=device, copy=True) for values in (x, z)]
    except TypeError as error:
        pytest.skip(str(error))
    y = pa.zeros((10, x.size), dtype=placed[0].dtype, device=device)
    got = np.asarray(kernel(y.copy(), *placed, ndrange=x.shape))
    want = np.asarray(kernel.interpret(y, *placed, ndrange=x.shape))
    np.testing.assert_array_equal(got, want)
    if kernel is combined:
        np.testing.assert_array_equal(want[0], ~np.minimum(x, z))
        np.testing.assert_array_equal(want[1], np.minimum(~z, np.minimum(z, x)))


@pa.kernel
def halves(y: Any, x: Any) -> None:
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k // 2]
    y[kl.index() // 2] = total


def test_quotients_of_indices_are_known_to_compilers() -> None:
    """Else they gather elements that are neighbours: products with packed weights took 10 times."""
    x = pa.ones(8, device="numpy")
    program = halves.source("opencl", x, x, ndrange=8).partition("__kernel")[2]
    assert program.count("pa_floordiv") == 2
    assert "PA_OPAQUE" not in program

"""Sums of many numbers are accurate on every device, and norms stay within the range."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import portarray as pa

# Long double where it is longer, so that a reference of float64 is one.
REFERENCE = np.longdouble


def test_mean_of_a_million_equal_numbers_is_that_number(device: str) -> None:
    """One after another, they are one percent off."""
    x = pa.full(1_000_003, 0.1, dtype=pa.float32, device=device)
    assert float(pa.mean(x)) == pytest.approx(0.1, rel=1e-6)
    assert float(pa.vecdot(x, x)) == pytest.approx(10000.03, rel=2e-6)
    assert float(pa.linalg.vector_norm(x)) == pytest.approx(100.00015, rel=1e-6)
    ones = pa.ones(5000, dtype=pa.float32, device=device)
    assert float(pa.cumulative_sum(ones)[-1]) == 5000
    assert float(pa.vecdot(ones, ones)) == 5000


KINDS = ["equal", "positive", "signed"]

Function = Callable[[Any], Any]
# A function of an array, its terms, and what becomes of their sum.
SUMS: dict[str, tuple[Function, Function]] = {
    "sum": (lambda x: pa.sum(x, axis=1), lambda x: x),
    "mean": (lambda x: pa.mean(x, axis=1) * x.shape[1], lambda x: x),
    "vecdot": (lambda x: pa.vecdot(x, x, axis=1), lambda x: x * x),
    # The square has twice the error.
    "norm": (lambda x: pa.linalg.vector_norm(x, axis=1) ** 2, lambda x: x * x),
    "matmul": (lambda x: pa.matmul(x, x[0, :]), lambda x: x * x[0]),
}


@pytest.mark.parametrize("layout", ["rows", "columns", "steps", "one row"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(2, 300_000), kind=st.sampled_from(KINDS), seed=st.integers(0, 99))
@example(size=1_000_003, kind="equal", seed=0)
def test_error_of_sums_grows_with_the_logarithm_of_their_length(
    device: str, dtype: str, layout: str, size: int, kind: str, seed: int
) -> None:
    """Within ``(2 + log2 n) * eps * sum(abs(x))``, in every layout of memory."""
    rng = np.random.default_rng(seed)
    rows = 1 if layout == "one row" else 2
    if kind == "equal":
        terms = np.full((rows, size), 0.1)
    else:
        draw = rng.random if kind == "positive" else rng.standard_normal
        terms = draw((rows, size))
    terms = terms.astype(dtype)
    native = getattr(pa, dtype)
    if layout == "columns":
        x = pa.asarray(np.ascontiguousarray(terms.T), dtype=native, device=device).T
    elif layout == "steps":
        x = pa.asarray(np.repeat(terms, 2, axis=1), dtype=native, device=device)[:, ::2]
    else:
        x = pa.asarray(terms, dtype=native, device=device)
    wide = terms.astype(REFERENCE)
    bound = (2 + math.log2(size)) * np.finfo(dtype).eps
    for name, (function, terms_of) in SUMS.items():
        if name == "matmul" and (size <= 512 or pa.device(device).library == "clarray"):
            continue  # left to the library: see docs/where_devices_differ.md
        expected = np.ascontiguousarray(terms_of(wide))
        error = np.abs(np.asarray(pa.to_device(function(x), "numpy")) - expected.sum(axis=1))
        # Products, means and roots are rounded once more or twice.
        allowed = (bound + 4 * np.finfo(dtype).eps) * np.abs(expected).sum(axis=1)
        if name == "norm":
            allowed *= 2
        if pa.device(device).library == "clarray":
            allowed *= 1.25  # sums of 64 numbers
        assert np.all(error <= allowed), (name, layout, kind, size, error / allowed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(2, 100_000), kind=st.sampled_from(KINDS), columns=st.booleans())
@example(size=300_003, kind="equal", columns=True)
def test_error_of_cumulative_sums_grows_with_the_logarithm_of_their_length(
    device: str, dtype: str, size: int, kind: str, columns: bool
) -> None:
    """Each one of k numbers, within ``(2 + log2 k) * eps * sum(abs(x))``."""
    if pa.device(device).library == "clarray" and dtype == "float64":
        pytest.skip("clarray adds thousands of float64 one after another")
    rng = np.random.default_rng(size)
    terms = {
        "equal": np.full(size, 0.1),
        "positive": rng.random(size),
        "signed": rng.standard_normal(size),
    }[kind].astype(dtype)
    if columns:
        x = pa.asarray(np.stack([terms, terms], axis=1), device=device)
        sums = pa.cumulative_sum(x, axis=0, include_initial=True)[1:, 1]
    else:
        sums = pa.cumulative_sum(pa.asarray(terms, device=device))
    error = np.abs(np.asarray(pa.to_device(sums, "numpy")) - _exact_running_sums(terms))
    # Twice the bound: dpnp's blocks of ends are longer.
    bound = 2 * (2 + np.log2(np.arange(1, size + 1))) * np.finfo(dtype).eps
    assert np.all(error <= bound * np.add.accumulate(np.abs(terms), dtype=REFERENCE))


def _exact_running_sums(terms: np.ndarray) -> np.ndarray:
    if len(set(terms.tolist())) == 1:
        return np.arange(1, len(terms) + 1).astype(REFERENCE) * REFERENCE(terms[0])
    return np.add.accumulate(terms, dtype=REFERENCE)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves_are_summed_in_float32(device: str, name: str) -> None:
    """In float16, 2048 + 1 is 2048."""
    dtype = getattr(pa, name, None)
    try:
        x = pa.astype(pa.ones((5000, 2), dtype=pa.float32, device=device), dtype)
    except (TypeError, AttributeError):
        pytest.skip(f"no {name}")
    for total in (
        pa.sum(x, axis=0)[0],
        pa.mean(x, axis=0)[1] * 5000,
        pa.cumulative_sum(x, axis=0)[-1, 0],
        pa.vecdot(x, x, axis=0)[0],
        pa.linalg.vector_norm(x, axis=0)[0] ** 2,
    ):
        assert float(total) == pytest.approx(5000, rel=2**-6 if name == "bfloat16" else 2**-9)
    # Each is rounded once.
    random = np.random.default_rng(0).random(5000)
    terms = pa.astype(pa.asarray(random, dtype=pa.float32, device=device), dtype)
    wide = np.asarray(pa.to_device(pa.astype(terms, pa.float32), "numpy"))
    exact = np.add.accumulate(wide, dtype=np.float64)
    sums = pa.to_device(pa.astype(pa.cumulative_sum(terms), pa.float32), "numpy")
    assert np.asarray(sums) == pytest.approx(exact, rel=2**-7.9 if name == "bfloat16" else 2**-10.9)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("ord", [2, 3])
def test_norms_neither_overflow_nor_underflow(device: str, scale: float, ord: int) -> None:
    """The norm of (3e30, 4e30) is 5e30 in float32, whose largest square root is 1.8e19."""
    x = pa.asarray([[3 * scale, 4 * scale], [3.0, -4.0]], dtype=pa.float32, device=device)
    expected = float(Fraction(3**ord + 4**ord)) ** (1 / ord)
    norms = pa.linalg.vector_norm(x, axis=1, ord=ord, keepdims=True)
    assert norms.shape == (2, 1)
    assert float(norms[0, 0]) == pytest.approx(expected * scale, rel=1e-5)
    assert float(norms[1, 0]) == pytest.approx(expected, rel=1e-5)
    assert float(pa.linalg.vector_norm(x[0], ord=ord)) == pytest.approx(expected * scale, rel=1e-5)
    if ord == 2:
        assert float(pa.linalg.matrix_norm(x[:1])) == pytest.approx(5 * scale, rel=1e-5)


def test_norms_of_zeros_infinities_and_nan(device: str) -> None:
    """They are 0, infinity and NaN."""
    for dtype in (pa.float32, pa.complex64):
        x = pa.asarray([[0, 0], [1, math.inf], [1, math.nan]], dtype=dtype, device=device)
        zero, infinity, nan = pa.linalg.vector_norm(x, axis=1).tolist()
        assert zero == 0
        assert infinity == math.inf
        assert math.isnan(nan)


@pytest.mark.parametrize("ord", [-1, 0, 1, 1.5, 2, 3, math.inf])
@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0, 0)])
def test_norms_of_no_elements_are_those_of_numpy(
    device: str, shape: tuple[int, int], ord: float
) -> None:
    values = np.zeros(shape, np.float32)
    x = pa.asarray(values, device=device)
    for axis in (None, 0, 1, (0, 1)):
        with np.errstate(divide="ignore"):
            expected = np.linalg.vector_norm(values, axis=axis, ord=ord)
            norms = pa.linalg.vector_norm(x, axis=axis, ord=ord)
        np.testing.assert_array_equal(np.asarray(pa.to_device(norms, "numpy")), expected)
    with pytest.raises(ValueError):
        pa.linalg.vector_norm(pa.zeros((0,), device=device), ord=-math.inf)

"""Compare calls of NumPy's functions on portarray arrays with calls on NumPy arrays."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy_cases import CASES, UFUNCS

import portarray as pa
from portarray._array import host_access

LINES = [
    line for text in (CASES, UFUNCS) for line in text.splitlines() if line[:1] not in ("", "#")
]
FILE = __file__

READS = {"trim_zeros", "bincount", "array2string", "array_str", "array_repr"}
"""The functions of which the shape of the result, or the text, needs values on the host."""

WIDER = {"eig", "eigvals"}
"""Whose results are complex on every device, and in NumPy where they have to be."""


@cache
def inputs(wide: bool) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of the cases, in double precision or in single."""
    real, whole = (np.float64, np.int64) if wide else (np.float32, np.int32)
    draw = np.random.default_rng(7)
    x, y = draw.normal(size=(2, 3, 4))
    n = np.where(draw.random((3, 4)) < 0.3, np.nan, x)
    square = draw.normal(size=(3, 3))
    samples = {
        "x": x,
        "y": y,
        "v": draw.normal(size=4),
        "w": draw.normal(size=4),
        "n": n,
        "p": np.abs(y) + 0.1,
        "t": draw.normal(size=(2, 3, 4)),
        "s": np.sort(draw.normal(size=5)),
        "m": square @ square.T + np.eye(3),
    }
    arrays = {name: values.astype(real) for name, values in samples.items()}
    arrays["z"] = (x + 1j * y).astype(np.complex128 if wide else np.complex64)
    arrays["i"] = draw.integers(-3, 4, (3, 4)).astype(whole)
    arrays["j"] = draw.integers(-3, 3, 4).astype(whole)
    arrays["k"] = draw.integers(0, 9, 11).astype(whole)
    arrays["b"], arrays["c"] = draw.random((2, 3, 4)) < 0.6
    return arrays


def changed(x: Any, change: Callable[[Any], object]) -> Any:
    """Return an array after a function changed it."""
    mine = x.copy()
    assert change(mine) is None
    return mine


def into_out(
    function: Any, *args: Any, shape: tuple[int, ...], dtype: Any = None, **options: Any
) -> Any:
    """Return the ``out=`` array of a function, which it must return."""
    out = np.zeros_like(args[0], shape=shape, dtype=dtype)
    if type(args[0]) is np.ndarray:
        out = np.zeros(shape, dtype=dtype or args[0].dtype)
    assert function(*args, out=out, **options) is out
    return out


def evaluated(line: str, arrays: dict[str, Any]) -> Any:
    names = {"np": np, "FILE": FILE, "CHANGED": changed, "OUT": into_out}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return eval(line, {**names, **arrays})


@contextmanager
def copies_to_host() -> Iterator[list[str]]:
    """Record the copies to the host in a block."""
    copies: list[str] = []

    def listen(transfer: host_access.Transfer) -> None:
        if transfer.to_host:
            copies.append(transfer.kind)

    with host_access.listening(listen):
        yield copies


def agree(actual: Any, expected: Any, device: str, *, exact_dtype: bool) -> None:
    """Check a result against NumPy's: an array of its dtype and values, on the device."""
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for x, y in zip(actual, expected, strict=True):
            agree(x, y, device, exact_dtype=exact_dtype)
    elif isinstance(actual, pa.Array):
        dtype = np.asarray(expected)
        assert str(actual.device) == device
        assert actual.shape == dtype.shape
        values = actual.to_device("numpy").native
        if dtype.dtype.kind in "fc" and exact_dtype:
            # Of integers the device's default dtype is made.
            default = pa.__array_namespace_info__().default_dtypes(device=device)["real floating"]
            assert actual.dtype in (dtype.dtype, default)
        elif exact_dtype:
            assert actual.dtype.kind == dtype.dtype.kind
        close = 1e-9 if actual.dtype in (np.float64, np.complex128) else 2e-3
        np.testing.assert_allclose(values, dtype, rtol=close, atol=close)
    else:
        assert not isinstance(expected, np.ndarray), f"{type(actual)} for an array"
        assert actual == expected


def compare(line: str, device: str) -> str:
    """Compare a line's results; return why it was not run, or an empty string."""
    has = pa.__array_namespace_info__().dtypes(device=device)
    wide = "float64" in has and "int64" in has
    complex_ok = ("complex128" if wide else "complex64") in has
    if not complex_ok and re.search(r"\bz\b|fft|eig\(|eigvals\(", line):
        wide = False
        if "complex64" not in has:
            return f"{device} has no complex numbers"
    values = inputs(wide)
    arrays = {
        name: pa.asarray(x, device=device) for name, x in values.items() if str(x.dtype) in has
    }
    expected = evaluated(line, dict(values))
    with copies_to_host() as to_host, pa.config(host_access="error"):
        actual = evaluated(line, arrays)
    used = set(re.findall(r"[a-z_0-9]+(?=\()", line))
    assert not to_host or used & READS, to_host
    agree(actual, expected, device, exact_dtype=not used & WIDER)
    return ""

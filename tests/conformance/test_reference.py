"""The reference of programs passes the independent suite, and tracks undefined values and noise.

Programs on devices are compared with the reference, so its undefined values are tested too.
"""

from __future__ import annotations

import ast
import operator
from pathlib import Path
from typing import Any

import numpy as np
import portarray_conformance.reference as package
import pytest
from portarray_conformance import Target, all_cases, run
from portarray_conformance.bounds import ELEMENTWISE
from portarray_conformance.reference import (
    AxisError,
    DTypeNotSupportedError,
    LinAlgError,
    Reference,
    Undefined,
)
from portarray_conformance.reference.elementwise import IMPLEMENTATIONS, UNARY
from portarray_conformance.ulp import error

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
EXACT = Reference(DTYPES, views=True)
TARGET = Target("reference", EXACT.xp, fetch=EXACT.to_numpy)
xp = EXACT.xp


@pytest.mark.parametrize("case", list(all_cases()), ids=lambda c: f"{c.function}-{c.aspect}")
def test_suite(case: Any) -> None:
    for result in run(TARGET, [case], quick=True):
        assert not result.bad, f"{result.message}\n{result.example}"


def test_the_reference_does_not_import_portarray() -> None:
    for path in Path(package.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [n for n in names if n.split(".")[0] == "portarray"], path


# What portarray promises where NumPy or the standard do otherwise, or say nothing.
ERRORS = {
    "xp.arange(0, 2, 0.5, dtype=xp.int32)": ValueError,
    "xp.arange(0.5, 3, dtype=xp.int32)": ValueError,
    "xp.arange(0, 300, dtype=xp.uint8)": OverflowError,
    "xp.linspace(0, 300, 3, dtype=xp.uint8)": OverflowError,
    "xp.sum(c, dtype=xp.float64)": TypeError,
    "xp.cumulative_prod(c, dtype=xp.float32)": TypeError,
    "xp.pow(i, -1)": ValueError,
    "xp.pow(2, xp.asarray([1, -1]))": ValueError,
    "xp.repeat(i, -1)": ValueError,
    "xp.repeat(i, xp.asarray([1, -1, 1]))": ValueError,
    "xp.fft.irfft(xp.zeros((0,)))": ValueError,
    "xp.fft.irfft(xp.zeros((0,)), n=4)": ValueError,
    "xp.zeros((0, 3))[0:0, xp.asarray([9])]": IndexError,
    "m[xp.asarray([], dtype=xp.int64), xp.asarray([2])]": IndexError,
    "i[xp.asarray([2**64 - 1], dtype=xp.uint64)]": IndexError,
    "xp.take(xp.zeros((0,)), xp.asarray([0]))": IndexError,
    "xp.clip(i, 0.5, 2)": TypeError,
    "xp.clip(i, xp.asarray(0.5), None)": TypeError,
    "xp.clip(xp.asarray([1], dtype=xp.uint8), 300, None)": OverflowError,
    "xp.sum(i, axis=1)": AxisError,
    "xp.linalg.solve(m * 0, m)": LinAlgError,
    "xp.linalg.inv(m * 0)": LinAlgError,
    "xp.linalg.cholesky(xp.asarray([[1.0, 0.0], [0.0, -1.0]]))": LinAlgError,
    "xp.linalg.inv(i)": LinAlgError,
    "xp.tril(i)": LinAlgError,
    "xp.linalg.det(xp.ones((2, 3)))": LinAlgError,
    "xp.asarray([1], dtype='bfloat16')": DTypeNotSupportedError,
    "xp.where(True, 1, 2)": TypeError,
    "xp.reshape(m, (10**30,))": ValueError,
    "xp.zeros((10**12,))": MemoryError,
    "xp.add(xp.asarray([1], dtype=xp.uint64), i)": TypeError,
    "xp.add(i, 10**30)": OverflowError,
}


def _names() -> dict[str, Any]:
    return {
        "xp": xp,
        "i": xp.asarray([1, 2, 3]),
        "c": xp.asarray([1j, 2.0]),
        "m": xp.asarray([[1.0, 2.0], [3.0, 4.0]]),
    }


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text: str) -> None:
    with pytest.raises(ERRORS[text]) as raised:
        eval(text, _names())
    assert raised.type is ERRORS[text]


VALUES = {
    "xp.clip(xp.asarray([1, 200], dtype=xp.uint8), -1, 300)": [1, 200],
    "xp.clip(xp.asarray([1.0, 2.0]), 3, 1)": [1, 1],
    "xp.asarray([1, 200], dtype=xp.uint8) < 10**30": [True, True],
    "xp.arange(2.0, 4.5, 2, dtype=xp.int8)": [2, 4],
    "xp.arange(1, 8, 2)": [1, 3, 5, 7],
    "i + 0.5": [1.5, 2.5, 3.5],
    "xp.linspace(3, -7, 5, dtype=xp.int64)": [3, 0, -2, -5, -7],
    "xp.diff(i, n=10**30)": [],
    "xp.linalg.svdvals(m * xp.nan)": [np.nan, np.nan],
    "xp.linalg.matrix_rank(xp.stack([m, m * xp.inf]))": [2, 0],
    "xp.linalg.eigvalsh(xp.stack([xp.eye(2), m * xp.inf]))": [[1, 1], [np.nan, np.nan]],
    "xp.asarray([np.float32(1)])": np.ones(1, "float32"),
    "xp.reshape(xp.arange(12), (1, 3, 4))[:, [0, 1], ..., [0, 1]]": [[0], [5]],
}


@pytest.mark.parametrize("text", VALUES)
def test_values(text: str) -> None:
    out = EXACT.to_numpy(eval(text, {**_names(), "np": np}))
    expected = np.asarray(VALUES[text])
    np.testing.assert_array_equal(out, expected)
    assert expected.dtype.name != "float32" or out.dtype == expected.dtype


@pytest.mark.parametrize("op", ["ipow", "itruediv", "iadd", "imatmul"])
def test_a_refused_operation_in_place_changes_nothing(op: str) -> None:
    x = xp.asarray([4, 5, 6])
    with pytest.raises((TypeError, ValueError)):
        getattr(operator, op)(x, xp.asarray([[1, -1, 0], [0, 0, 0]]))
    assert x.tolist() == [4, 5, 6]


# Marks

MARKS = {
    "xp.astype(xp.asarray([1.5, 300.0, xp.nan]), xp.int8)": [0, 1, 1],
    "i // xp.asarray([1, 0, 2])": [0, 1, 0],
    "i << xp.asarray([1, 64, -1])": [0, 1, 1],
    "xp.argsort(xp.asarray([2, 1, 2, 0]), stable=False)": [0, 0, 1, 1],
    "xp.sort(xp.empty((2,)))": [1, 1],
    "xp.empty_like(i)": [1, 1, 1],
    "xp.fft.fft(xp.asarray([1.0, xp.inf]))": [1, 1],
    "xp.fft.fft(xp.asarray([[1.0, xp.inf], [1.0, 2.0]]))[:, 0]": [1, 0],
    "xp.cos(xp.asarray([complex(xp.inf, 0.0), complex(1.0, 0.0)]))": [1, 0],
    "xp.unique_all(xp.asarray([xp.nan, 1.0, xp.nan])).indices": [0, 1, 1],
    "xp.flip(bad)": [0, 1, 0],
    "xp.concat([i, bad])": [0, 0, 0, 0, 1, 0],
    "bad[1:]": [1, 0],
    "xp.sum(xp.stack([bad, bad]), axis=0)": [0, 1, 0],
    "xp.sum(bad)": 1,
    "xp.linalg.det(xp.stack([m, m * xp.nan]))": [0, 1],
    "xp.linalg.solve(xp.stack([m, m * xp.nan]), m)[:, 0, 0]": [0, 1],
    "bad + 1": [0, 1, 0],
    "xp.where(bad > 0, 1, 2)": [0, 1, 0],
    "xp.where(xp.asarray([True, False, True]), bad, 2)": None,
}


@pytest.mark.parametrize("text", MARKS)
def test_marks(text: str) -> None:
    out = eval(text, {**_names(), "bad": xp.asarray([1, 2, 3]) // xp.asarray([1, 0, 1])})
    if MARKS[text] is None:
        assert out.undefined is None
    else:
        assert out.undefined.tolist() == np.asarray(MARKS[text], dtype=bool).tolist()


@pytest.mark.parametrize(
    "text", ["xp.nonzero(bad)", "i[bad - bad]", "int(bad[1])", "i[bad > 1]", "xp.unique_all(bad)"]
)
def test_results_that_depend_on_a_marked_value_are_undefined(text: str) -> None:
    with pytest.raises(Undefined):
        eval(text, {**_names(), "bad": xp.asarray([1, 2, 3]) // xp.asarray([1, 0, 1])})


@pytest.mark.parametrize("views", [True, False, "either"])
def test_writing_through_views(views: Any) -> None:
    x = Reference(DTYPES, views=views).xp.asarray([1, 2, 3])
    y = x[1:]
    y[0] = 7
    assert y.tolist() == [7, 3]
    assert y.undefined is None
    assert x.tolist() == ([1, 2, 3] if views is False else [1, 7, 3])
    assert (None if x.undefined is None else x.undefined.tolist()) == (
        [False, True, False] if views == "either" else None
    )


def test_writing_one_element_twice() -> None:
    x = xp.asarray([1, 2, 3])
    x[[0, 0]] = xp.asarray([5, 6])
    assert x.undefined.tolist() == [True, False, False]


# Noise


COMPUTED = [
    (name, dtype)
    for name, row in sorted(IMPLEMENTATIONS.items())
    for kind, dtype in (("f", "float32"), ("c", "complex64"))
    if kind in row.accepts.kinds and row.result != "bool"
]


@pytest.mark.parametrize(("name", "dtype"), COMPUTED)
def test_noise_keeps_to_the_bounds(name: str, dtype: str) -> None:
    kind = np.dtype(dtype).kind
    arrays = (np.linspace(0.6, 0.95, 40) + (0.3j if kind == "c" else 0)).astype(dtype)
    noisy = Reference(DTYPES, noise=1)
    outs = [
        getattr(ref.xp, name)(*[ref.xp.asarray(arrays)] * (1 if name in UNARY else 2))
        for ref in (EXACT, noisy)
    ]
    plain, perturbed = EXACT.to_numpy(outs[0]), noisy.to_numpy(outs[1])
    bounds = ELEMENTWISE[name]
    bound = bounds.complex if kind == "c" else bounds.real
    distance = error(
        perturbed, plain.astype("complex128" if plain.dtype.kind == "c" else "float64")
    )
    assert np.max(distance) <= 2 * bound + 1  # below a power of two a unit is half of that above
    if bound == 0:
        np.testing.assert_array_equal(plain, perturbed)


def test_noise_leaves_the_ends_of_linspace() -> None:
    for seed in range(6):
        noisy = Reference(DTYPES, noise=seed).xp
        for first in (0.1, 1e10, 1e20):
            out = noisy.linspace(first, 0.7, 7).tolist()
            assert (out[0], out[-1]) == (first, 0.7)


def test_noise_of_sums() -> None:
    x = np.linspace(0, 1, 100, dtype="float32")
    whole = np.arange(100, dtype="float32")
    sums = [Reference(DTYPES, noise=seed).xp for seed in range(20)]
    assert len({float(sample.sum(sample.asarray(x))) for sample in sums}) > 1
    assert {float(sample.sum(sample.asarray(whole))) for sample in sums} == {
        4950.0
    }  # exact in any order

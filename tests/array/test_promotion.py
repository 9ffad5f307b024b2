"""Dtypes of results follow one table on every device, with scalars of Python and NumPy."""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from drawn import DType, drawing, dtypes_of, same, small
from hypothesis import assume, given
from hypothesis import strategies as st
from portarray_conformance.promotion import PAIRS

import portarray as pa
from portarray._array import dtypes
from portarray._dispatch import native_functions
from portarray._dtypes import promotion
from portarray.errors import DTypeNotSupportedError

ORDER = "biufc".replace("u", "")  # bool, integer, real, complex


def _level(dtype: DType) -> int:
    return ORDER.index("i" if dtype.kind == "u" else dtype.kind)


def _promoted(first: DType, second: DType) -> DType | None:
    """Return the promoted dtype of two by the documented rules, or None if they refuse."""
    if _level(first) != _level(second):
        low, high = sorted((first, second), key=_level)
        if low.kind == "f" and low.itemsize == 8:  # the standard keeps the precision of both
            return np.dtype("complex128")
        return high
    if "uint64" in (first, second) and {first.kind, second.kind} == {"u", "i"}:
        return None
    return np.promote_types(first, second)


@given(data=st.data())
@drawing
def test_pairs_of_arrays(anywhere: str, data: st.DataObject) -> None:
    mine = dtypes_of(anywhere)
    first, second = data.draw(st.sampled_from(mine)), data.draw(st.sampled_from(mine))
    a, b = data.draw(small(first, (3,))), data.draw(small(second, (3,)))
    x, y = pa.asarray(a, device=anywhere), pa.asarray(b, device=anywhere)
    expected = _promoted(first, second)
    if expected is None:
        for mixed in (operator.add, pa.multiply, pa.result_type, pa.maximum):
            with pytest.raises(
                TypeError, match=r"uint64 and int\d+ do not promote.*\n.*pa\.astype"
            ):
                mixed(x, y)
    elif expected not in mine:
        with pytest.raises(DTypeNotSupportedError, match=f"does not support {expected}\nHint: use"):
            x + y
    else:
        same(x + y, np.add(a.astype(expected), b.astype(expected)))
        same(pa.where(x == y, x, y), np.where(a == b, a.astype(expected), b.astype(expected)))
        same(pa.concat([x, y]), np.concatenate([a.astype(expected), b.astype(expected)]))
        assert pa.result_type(x, y) == pa.result_type(first, y) == expected
        assert pa.result_type(first, second) == expected


BEYOND = {
    # float16 and bfloat16, which the standard has not.
    ("float16", "bfloat16"): "float32",
    ("float16", "float32"): "float32",
    ("bfloat16", "float64"): "float64",
    ("float16", "int64"): "float16",
    ("bfloat16", "uint8"): "bfloat16",
    ("float16", "complex64"): "complex64",
    ("bfloat16", "complex64"): "complex64",
    ("float16", "complex128"): "complex128",
    ("float32", "complex64"): "complex64",
    ("float64", "complex64"): "complex128",
}


def test_the_table_of_promotions() -> None:
    """One table covers all dtypes, including those that no device here supports."""
    for first, second, expected in [*PAIRS, *((*pair, dtype) for pair, dtype in BEYOND.items())]:
        dtype1, dtype2 = dtypes.canonical(first), dtypes.canonical(second)
        assert promotion.promote(dtype1, dtype2) == promotion.promote(dtype2, dtype1) == expected
        assert promotion.promote(dtype1, dtype2, dtype1) == expected


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_a_complex_scalar_keeps_the_precision(dtype: str) -> None:
    expected = "complex128" if dtype == "float64" else "complex64"
    result = promotion.scalar_dtype(1j, dtypes.canonical(dtype), lambda kind: np.dtype(object))
    assert result == expected


def test_the_real_default_matches_the_complex_one() -> None:
    names = {"float32", "float64", "complex64", "complex128"}
    for lacking, expected in (
        ((), "float64"),
        (("complex128",), "float32"),
        (("float64", "complex128"), "float32"),
        (("complex64", "complex128"), "float64"),
    ):
        available = {np.dtype(name): name for name in names.difference(lacking)}
        assert native_functions.default_dtype(available, "f") == expected


def test_in_place_scalars_are_within_the_range(device: str) -> None:
    for dtype in dtypes_of(device, "integral"):
        limits = np.iinfo(dtype)
        for beyond in (limits.max + 1, limits.min - 1, 10**30):
            x = pa.ones(2, dtype=dtype, device=device)
            for change in (operator.iadd, operator.imul, operator.isub, operator.ifloordiv):
                with pytest.raises(OverflowError, match=f"{beyond} is out of bounds for {dtype}"):
                    change(x, beyond)
            same(x, np.ones(2, dtype))
        y = pa.zeros(2, dtype=dtype, device=device)
        y += limits.max
        same(y, np.full(2, limits.max, dtype))


@given(data=st.data())
@drawing
def test_order_of_three_does_not_matter(anywhere: str, data: st.DataObject) -> None:
    mine = dtypes_of(anywhere)
    three = [data.draw(st.sampled_from(mine)) for _ in range(3)]
    # An integer pair that meets uint64 only after it was widened may refuse in one order.
    assume(np.dtype("uint64") not in three)
    results = {pa.result_type(*data.draw(st.permutations(three))) for _ in range(4)}
    assert len(results) == 1


NUMBERS: st.SearchStrategy[Any] = st.one_of(
    st.booleans(),
    st.integers(0, 9),
    st.integers(0, 9).map(float),
    st.builds(complex, st.integers(0, 9), st.integers(0, 9)),
)
SCALARS = st.one_of(
    NUMBERS,
    st.builds(lambda value, dtype: dtype(value), st.booleans(), st.just(np.bool_)),
    st.builds(
        lambda value, dtype: dtype(value),
        st.integers(0, 9),
        st.sampled_from(
            [np.int8, np.uint16, np.int64, np.uint64, np.float16, np.float64, np.complex64]
        ),
    ),
)


def _beside(dtype: DType, scalar: Any, device: str) -> DType:
    """Return the dtype of an array combined with a scalar by the documented rules."""
    kind = np.asarray(scalar).dtype.kind
    kind = "i" if kind == "u" else kind
    if ORDER.index(kind) <= _level(dtype):
        return dtype
    if kind == "c" and dtype.kind == "f":
        return np.dtype("complex128" if dtype == np.float64 else "complex64")
    names = {"i": "integral", "f": "real floating", "c": "complex floating"}
    return pa.__array_namespace_info__().default_dtypes(device=device)[names[kind]]


@given(data=st.data(), scalar=SCALARS)
@drawing
def test_scalars(anywhere: str, data: st.DataObject, scalar: Any) -> None:
    dtype = data.draw(st.sampled_from(dtypes_of(anywhere)))
    a = data.draw(small(dtype))
    x = pa.asarray(a, device=anywhere)
    expected = _beside(dtype, scalar, anywhere)
    if expected not in dtypes_of(anywhere):
        for multiply in (operator.mul, pa.multiply, lambda x, y: y * x):
            with pytest.raises(
                DTypeNotSupportedError, match=f"does not support {expected}\nHint: use"
            ):
                multiply(x, scalar)
        return
    right = np.multiply(a.astype(expected), expected.type(scalar))
    # NumPy's scalars are on the left through __array_ufunc__, Python's through __rmul__.
    for result in (x * scalar, scalar * x, pa.multiply(x, scalar), pa.multiply(scalar, x)):
        same(result, np.asarray(right))
    assert pa.result_type(x, scalar) == expected


class Level(IntEnum):
    HIGH = 3


def test_subclasses_of_numbers_count_as_their_base(anywhere: str) -> None:
    x = pa.asarray([1, 2], dtype=pa.int16, device=anywhere)
    same(x + Level.HIGH, np.asarray([4, 5], dtype=np.int16))
    same(Level.HIGH * x, np.asarray([3, 6], dtype=np.int16))


INTEGERS = ("signed integer", "unsigned integer")
COMPARISONS: list[Callable[[Any, Any], Any]] = [
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


@given(data=st.data(), beyond=st.integers(1, 2**70), below=st.booleans())
@drawing
def test_integers_that_do_not_fit(
    anywhere: str, data: st.DataObject, beyond: int, below: bool
) -> None:
    dtype = data.draw(st.sampled_from(dtypes_of(anywhere, *INTEGERS)))
    limits = np.iinfo(dtype)
    value = int(limits.min) - beyond if below else int(limits.max) + beyond
    a = data.draw(small(dtype))
    x = pa.asarray(a, device=anywhere)
    for function in (operator.add, operator.and_, pa.maximum):
        with pytest.raises(OverflowError, match=f"{value} is out of bounds for {dtype}"):
            function(x, value)
    same(x, a)
    # Comparisons have an answer for every integer.
    for compare in COMPARISONS:
        expected = np.full(a.shape, compare(0, value))
        same(compare(x, value), expected)
        same(compare(value, x), np.full(a.shape, compare(value, 0)))


@given(data=st.data())
@drawing
def test_comparisons_at_the_limits(anywhere: str, data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(dtypes_of(anywhere, *INTEGERS)))
    limits = np.iinfo(dtype)
    ends = [int(limits.min), int(limits.max)]
    value = data.draw(st.sampled_from([*ends, ends[0] - 1, ends[1] + 1, 0, 1]))
    x = pa.asarray(np.asarray(ends, dtype=dtype), device=anywhere)
    for compare in COMPARISONS:
        same(compare(x, value), np.asarray([compare(end, value) for end in ends]))


def test_default_dtypes(anywhere: str) -> None:
    info = pa.__array_namespace_info__()
    kinds = {"real floating": 1.0, "complex floating": 1j, "integral": 1}
    defaults = info.default_dtypes(device=anywhere)
    for kind, value in kinds.items():
        widest = max(
            dtypes_of(anywhere, "signed integer" if kind == "integral" else kind), key=_bits
        )
        if kind == "real floating" and defaults["complex floating"] == pa.complex64:
            widest = pa.float32  # the two match, says the standard
        assert defaults[kind] == widest
        assert pa.asarray(value, device=anywhere).dtype == widest
        assert pa.asarray([[value]], device=anywhere).dtype == widest
    assert pa.asarray(True, device=anywhere).dtype == pa.bool
    assert defaults["indexing"] == defaults["integral"]
    assert pa.zeros(2, device=anywhere).dtype == defaults["real floating"]
    whole = pa.asarray([1, 2], device=anywhere)
    assert (whole / 2).dtype == (whole * 0.5).dtype == defaults["real floating"]
    assert pa.sin(whole).dtype == defaults["real floating"]


def _bits(dtype: DType) -> int:
    return dtype.itemsize


def test_bool_operators_follow_logic(anywhere: str) -> None:
    a, b = np.asarray([True, True, False]), np.asarray([True, False, False])
    x, y = pa.asarray(a, device=anywhere), pa.asarray(b, device=anywhere)
    same(x & y, a & b)
    same(x | True, a | True)
    same(~x, ~a)
    same(x + y, a | b)
    same(x * y, a & b)
    for refused in (operator.sub, operator.floordiv, operator.lshift):
        with pytest.raises(TypeError, match="unsupported dtype bool"):
            refused(x, y)
    with pytest.raises(TypeError, match=r"logical_not"):
        operator.neg(x)

"""Operands of arrays: scalars, operators, conversions, and refusals."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from portarray._opencl.device import Device
from portarray.clarray import arithmetic, bitwise, comparison, logical, rounding
from portarray.clarray.array import Array
from portarray.clarray.dtypes import bfloat16
from portarray.clarray.engine.transfer import from_numpy, to_numpy

pytestmark = pytest.mark.drawn_devices(1)

Numpy = np.ndarray[Any, Any]
SIGNED = ("int8", "int16", "int32", "int64")
INTEGERS = (*SIGNED, "uint8", "uint16", "uint32", "uint64")

_DRAWN = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def put(values: object, dtype: str, device: Device) -> Array:
    return from_numpy(np.asarray(values, dtype), device)


@pytest.mark.parametrize(
    ("scalar", "dtype", "result"),
    [
        (True, "bool", "bool"),
        (True, "int8", "int8"),
        (True, "float32", "float32"),
        (False, "complex64", "complex64"),
        (3, "uint8", "uint8"),
        (-3, "int64", "int64"),
        (3, "float16", "float16"),
        (3, "complex64", "complex64"),
        (2.5, "float32", "float32"),
        (1e300, "float32", "float32"),
        (float("nan"), "float16", "float16"),
        (-float("inf"), "complex64", "complex64"),
        (1 + 2j, "complex64", "complex64"),
        (1 + 2j, "float32", "complex64"),
        (np.float64(2.5), "float32", "float32"),
        (np.int64(7), "int8", "int8"),
        (np.bool_(True), "bool", "bool"),
        (np.float32(2), "complex64", "complex64"),
        (ml_dtypes.bfloat16(2), "float32", "float32"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_scalars_take_the_dtype_of_the_array(
    device: Device, scalar: Any, dtype: str, result: str
) -> None:
    a = np.asarray([1, 0, 1, 1], dtype)
    x = from_numpy(a, device)
    beside = np.asarray(scalar).astype(result)
    for got, want in (
        (comparison.where(x == x, x, scalar), a.astype(result)),
        (comparison.where(x != x, scalar, x), a.astype(result)),
        (comparison.where(x != x, x, scalar), np.broadcast_to(beside, a.shape)),
        (comparison.where(x == x, scalar, x), np.broadcast_to(beside, a.shape)),
    ):
        assert got.dtype == result
        np.testing.assert_array_equal(to_numpy(got), want)
    same = x == scalar
    np.testing.assert_array_equal(to_numpy(same), a.astype(result) == beside)


@pytest.mark.parametrize(
    ("scalar", "dtype", "error", "says"),
    [
        (256, "uint8", OverflowError, "256 is out of bounds for uint8, which holds 0 to 255"),
        (-1, "uint64", OverflowError, "-1 is out of bounds for uint64"),
        (2**63, "int64", OverflowError, "out of bounds for int64"),
        (1.5, "int32", TypeError, "(?s)Python float does not combine with .* int32.*astype"),
        (1, "bool", TypeError, "Python int does not combine with .* bool"),
        (1j, "int32", TypeError, "Python complex"),
        ([1], "int32", TypeError, r"got list\nHint: convert it with clarray.asarray"),
        (np.ones(1), "float32", TypeError, "got ndarray"),
        ("1", "float32", TypeError, "got str"),
        (None, "float32", TypeError, "got NoneType"),
        (np.datetime64(1, "s"), "float32", TypeError, "got datetime64"),
    ],
)
def test_refused_beside_an_array(
    device: Device, scalar: Any, dtype: str, error: type[Exception], says: str
) -> None:
    x = put([1, 0], dtype, device)
    for first, second in ((x, scalar), (scalar, x)):
        with pytest.raises(error, match=says):
            comparison.equal(first, second)


def test_refused_altogether(device: Device) -> None:
    x = put([1, 0], "float32", device)
    with pytest.raises(TypeError, match="add needs at least one array, got 1 and 2"):
        arithmetic.add(1, 2)
    with pytest.raises(TypeError, match="bitwise_and takes arrays of a bool or signed integer"):
        bitwise.bitwise_and(x, x)
    with pytest.raises(TypeError, match="logical_not takes arrays of a bool dtype, got float32"):
        logical.logical_not(x)
    with pytest.raises(TypeError, match=r"floor takes .* got complex64"):
        rounding.floor(put([1], "complex64", device))
    with pytest.raises(TypeError, match="abs takes a clarray array, got int"):
        arithmetic.abs(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no dtype holds all values of uint64 and int8"):
        arithmetic.add(put([1], "uint64", device), put([1], "int8", device))
    with pytest.raises(TypeError, match=r"(?s)the condition is of dtype float32.*x != 0"):
        comparison.where(x, x, x)
    with pytest.raises(TypeError, match="where needs at least one array"):
        comparison.where(x == x, 1, 2)
    with pytest.raises(TypeError, match=r"a bound of dtype float32 does not fit .* int8"):
        comparison.clip(put([1], "int8", device), x)
    with pytest.raises(TypeError, match="clip takes"):
        comparison.clip(put([True], "bool", device), False)
    with pytest.raises(TypeError, match=r"complex64 does not fit .* float32"):
        comparison.clip(x, 1j)  # type: ignore[arg-type]


@_DRAWN
@given(data=st.data())
def test_integers_never_trap(device: Device, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(INTEGERS))
    limits = np.iinfo(name)
    corners = [0, 1, limits.max, limits.min, limits.min + 1, max(limits.min, -1), 7]
    index = st.one_of(st.sampled_from(corners), st.integers(limits.min, limits.max))
    pairs = data.draw(st.lists(st.tuples(index, index), min_size=1, max_size=8))
    x, y = (put(list(side), name, device) for side in zip(*pairs, strict=True))

    def wrapped(value: int) -> int:
        return (value - limits.min) % (limits.max - limits.min + 1) + limits.min

    bits = limits.bits
    expected: dict[Callable[[Any, Any], Any], Callable[[int, int], int]] = {
        operator.floordiv: lambda a, b: a // b if b else 0,
        operator.mod: lambda a, b: a % b if b else 0,
        operator.mul: lambda a, b: a * b,
        operator.sub: lambda a, b: a - b,
        operator.lshift: lambda a, b: a << b if 0 <= b < bits else 0,
        operator.rshift: lambda a, b: a >> b if 0 <= b < bits else -(a < 0),
    }
    for function, reference in expected.items():
        want = [wrapped(reference(a, b)) for a, b in pairs]
        assert to_numpy(function(x, y)).tolist() == want, function
    assert to_numpy(abs(x)).tolist() == [wrapped(abs(a)) for a, _ in pairs]
    assert to_numpy(-x).tolist() == [wrapped(-a) for a, _ in pairs]
    assert to_numpy(~x).tolist() == [wrapped(~a) for a, _ in pairs]


@_DRAWN
@given(data=st.data())
def test_division_of_real_numbers_is_pythons(device: Device, data: st.DataObject) -> None:
    index = st.floats(-1e6, 1e6, width=32).filter(lambda value: value == 0 or abs(value) > 1e-6)
    pairs = data.draw(st.lists(st.tuples(index, index.filter(bool)), min_size=1, max_size=8))
    first, second = (np.array(side, "float32") for side in zip(*pairs, strict=True))
    x, y = from_numpy(first, device), from_numpy(second, device)
    exact = [float(a) // float(b) for a, b in zip(first, second, strict=True)]
    np.testing.assert_array_equal(to_numpy(x // y), np.array(exact, "float32"))
    remainder = to_numpy(x % y)
    np.testing.assert_array_equal(remainder, first % second)
    np.testing.assert_array_equal(np.signbit(remainder), np.signbit(second))


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex64"])
def test_operators(device: Device, dtype: str) -> None:
    a, b = np.array([[3, 4], [5, 6]], dtype), np.array([2, 1], dtype)
    x, y = from_numpy(a, device), from_numpy(b, device)
    functions = [operator.add, operator.sub, operator.mul, operator.eq, operator.ne]
    if dtype != "complex64":
        functions += [operator.floordiv, operator.mod, operator.lt, operator.le, operator.gt]
        functions += [operator.ge]
    if dtype == "int16":
        functions += [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
    else:
        functions += [operator.truediv]
    for function in functions:
        for got, want in (
            (function(x, y), function(a, b)),
            (function(x, 2), function(a, 2)),
            (function(7, x), function(7, a)),
        ):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(to_numpy(got), want, rtol=1e-6)
        changed, expected = from_numpy(a, device), a.copy()
        try:
            inplace = getattr(operator, f"i{function.__name__.strip('_')}")
        except AttributeError:
            continue
        result = inplace(changed, y)
        np.testing.assert_allclose(to_numpy(changed), inplace(expected, b), rtol=1e-6)
        assert result is changed


def test_foreign_operands_have_their_say(device: Device) -> None:
    class Foreign:
        def __radd__(self, other: object) -> str:
            return "mine"

        __array_ufunc__ = None

    x = put([1, 2], "float32", device)
    assert x + Foreign() == "mine"
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    with pytest.raises(TypeError, match="unsupported operand"):
        x - Foreign()
    with pytest.raises(TypeError, match="asarray"):
        np.ones(2) + x
    np.testing.assert_array_equal(to_numpy(np.float64(2) * x), [2, 4])
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_conversions(device: Device) -> None:
    assert int(put(5, "uint8", device)) == 5
    assert float(put(2.5, "float32", device)) == 2.5
    assert complex(put(1 + 2j, "complex64", device)) == 1 + 2j
    assert bool(put(0.0, "float32", device)) is False
    assert [10, 20, 30][put(2, "int64", device)] == 30
    assert float(from_numpy(np.asarray(2.5, bfloat16), device)) == 2.5
    with pytest.raises(
        TypeError, match=r"float: only 0-d arrays convert to a scalar, got shape \(1,\)"
    ):
        float(put([1], "float32", device))
    with pytest.raises(TypeError, match="only 0-d integer arrays are indices"):
        operator.index(put(1.0, "float32", device))
    with pytest.raises(TypeError, match="complex"):
        float(put(1j, "complex64", device))


def test_text_transposes_and_namespace(device: Device) -> None:
    from portarray import clarray

    x = put([[1, 2, 3], [4, 5, 6]], "float32", device)
    assert repr(x.T) == "Array([[1., 4.],\n       [2., 5.],\n       [3., 6.]], dtype=float32)"
    assert repr(x[0, 0]) == "Array(1., dtype=float32)"
    assert repr(x[:0]) == "Array([], shape=(0, 3), dtype=float32)"
    assert x.mT.shape == (3, 2)
    with pytest.raises(ValueError, match=r"x.T needs two axes, got shape \(3,\)"):
        _ = x[0].T
    with pytest.raises(ValueError, match=r"x.mT needs two or more axes"):
        _ = x[0].mT
    assert x.__array_namespace__() is clarray
    assert x.__array_namespace__(api_version="2024.12") is clarray
    with pytest.raises(ValueError, match=r"2025\.12, not '1999.01'"):
        x.__array_namespace__(api_version="1999.01")

"""uint16, uint32 and uint64 against NumPy, on values near their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, mutually_broadcastable_shapes

torch = pytest.importorskip("torch")

from portarray._dispatch import native_functions  # noqa: E402
from portarray.backends import registry  # noqa: E402

XP = native_functions.NativeFunctions(registry.load_backend("torch"), torch.device("cpu")).namespace
DTYPES = [np.dtype(name) for name in ("uint16", "uint32", "uint64")]

with_dtypes = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def elements(dtype: np.dtype[Any]) -> st.SearchStrategy[int]:
    top = int(np.iinfo(dtype).max)
    middle = top // 2
    edges = [0, 1, 2, 3, middle - 1, middle, middle + 1, middle + 2, top - 1, top]
    return st.sampled_from(edges) | st.integers(0, top)


def drawn(data: st.DataObject, dtype: np.dtype[Any], shape: Any = (7,)) -> np.ndarray[Any, Any]:
    return data.draw(arrays(dtype, shape, elements=elements(dtype)))


def native(x: np.ndarray[Any, Any]) -> Any:
    return torch.from_numpy(x.copy())


def check(got: Any, expected: np.ndarray[Any, Any]) -> None:
    got = got.numpy()
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
}


@with_dtypes
@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_binary(name: str, dtype: np.dtype[Any], data: st.DataObject) -> None:
    shapes = data.draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=2)).input_shapes
    x1, x2 = drawn(data, dtype, shapes[0]), drawn(data, dtype, shapes[1])
    with np.errstate(all="ignore"):
        expected = np.asarray(BINARY[name](x1, x2))
    check(getattr(XP, name)(native(x1), native(x2)), expected)


@with_dtypes
@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_binary_with_a_scalar(name: str, dtype: np.dtype[Any], data: st.DataObject) -> None:
    x = drawn(data, dtype)
    scalar = data.draw(elements(dtype))
    with np.errstate(all="ignore"):
        right = BINARY[name](x, dtype.type(scalar))
        result = BINARY[name](dtype.type(scalar), x)
    check(getattr(XP, name)(native(x), scalar), right)
    check(getattr(XP, name)(scalar, native(x)), result)


@with_dtypes
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_shifts(dtype: np.dtype[Any], data: st.DataObject) -> None:
    x = drawn(data, dtype)
    steps = data.draw(arrays(dtype, (7,), elements=st.integers(0, dtype.itemsize * 8 + 2)))
    check(XP.bitwise_left_shift(native(x), native(steps)), np.left_shift(x, steps))
    check(XP.bitwise_right_shift(native(x), native(steps)), np.right_shift(x, steps))


UNARY = {
    "abs": np.abs,
    "negative": np.negative,
    "positive": np.positive,
    "square": np.square,
    "sign": np.sign,
    "bitwise_invert": np.invert,
    "floor": np.floor,
    "round": np.round,
    "isnan": np.isnan,
    "isfinite": np.isfinite,
    "real": np.real,
    "conj": np.conj,
    "unique_values": np.unique,
}


@with_dtypes
@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_unary(name: str, dtype: np.dtype[Any], data: st.DataObject) -> None:
    x = drawn(data, dtype)
    check(getattr(XP, name)(native(x)), np.asarray(UNARY[name](x)))


REDUCTIONS = ("max", "min", "sum", "prod", "all", "any", "argmax", "argmin", "count_nonzero")


@with_dtypes
@pytest.mark.parametrize("name", REDUCTIONS)
@settings(max_examples=20, deadline=None)
@given(data=st.data(), axis=st.sampled_from([None, 0, -1]), keepdims=st.booleans())
def test_reductions(
    name: str, dtype: np.dtype[Any], data: st.DataObject, axis: int | None, keepdims: bool
) -> None:
    x = drawn(data, dtype, (3, 4))
    expected = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
    check(getattr(XP, name)(native(x), axis=axis, keepdims=keepdims), expected)


@with_dtypes
@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@settings(max_examples=20, deadline=None)
@given(data=st.data(), target=st.sampled_from([*DTYPES, np.dtype("int64"), np.dtype("float64")]))
def test_sums_into_another_dtype(
    name: str, dtype: np.dtype[Any], data: st.DataObject, target: np.dtype[Any]
) -> None:
    x = drawn(data, dtype)
    got = getattr(XP, name)(native(x), dtype=getattr(torch, target.name)).numpy()
    expected = getattr(np, name)(x, dtype=target)
    assert got.dtype == target
    if target.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(got, expected)


@with_dtypes
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_sorting_and_searching(dtype: np.dtype[Any], data: st.DataObject) -> None:
    x, values = drawn(data, dtype), drawn(data, dtype, (2, 3))
    check(XP.sort(native(x)), np.sort(x))
    check(XP.sort(native(x), descending=True), np.sort(x)[::-1].copy())
    check(XP.argsort(native(x)), np.argsort(x, stable=True))
    for side in ("left", "right"):
        expected = np.searchsorted(np.sort(x), values, side=side)
        check(XP.searchsorted(native(np.sort(x)), native(values), side=side), expected)
        sorter = np.argsort(x, stable=True)
        check(
            XP.searchsorted(native(x), native(values), side=side, sorter=native(sorter)), expected
        )
    check(XP.isin(native(values), native(x)), np.isin(values, x))
    check(
        XP.clip(native(x), min=5, max=int(x[0]) + 5 if x[0] < 100 else int(x[0])),
        np.clip(x, 5, int(x[0]) + 5 if x[0] < 100 else int(x[0])),
    )


@with_dtypes
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_moving_data(dtype: np.dtype[Any], data: st.DataObject) -> None:
    x = drawn(data, dtype, (3, 4))
    t = native(x)
    check(XP.take(t, torch.tensor([2, 0, -1]), axis=0), np.take(x, [2, 0, -1], axis=0))
    places = np.array([[0, 1, 2, 1]])
    check(XP.take_along_axis(t, native(places), axis=0), np.take_along_axis(x, places, axis=0))
    check(XP.flip(t), np.flip(x).copy())
    check(XP.roll(t, 1, axis=1), np.roll(x, 1, axis=1))
    check(XP.tile(t, (2, 1)), np.tile(x, (2, 1)))
    check(XP.repeat(t, torch.tensor([1, 0, 2]), axis=0), np.repeat(x, [1, 0, 2], axis=0))
    check(XP.concat([t, t], axis=1), np.concat([x, x], axis=1))
    check(XP.stack([t, t]), np.stack([x, x]))
    check(XP.tril(t), np.tril(x))
    check(XP.triu(t, k=1), np.triu(x, k=1))
    check(
        XP.where(t > 3 if dtype.itemsize < 2 else XP.greater(t, 3), t, 7),
        np.where(x > 3, x, dtype.type(7)),
    )
    check(XP.diff(t), np.diff(x))
    for got, expected in zip(XP.nonzero(t), np.nonzero(x), strict=True):
        check(got, expected)


@with_dtypes
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_products(dtype: np.dtype[Any], data: st.DataObject) -> None:
    x, y = drawn(data, dtype, (3, 4)), drawn(data, dtype, (4, 2))
    check(XP.matmul(native(x), native(y)), x @ y)
    check(XP.tensordot(native(x), native(y), axes=1), np.tensordot(x, y, axes=1))
    check(XP.vecdot(native(x), native(x)), np.vecdot(x, x))
    check(XP.linalg.outer(native(x[0]), native(y[:, 0].copy())), np.outer(x[0], y[:, 0]))
    check(
        XP.linalg.cross(native(x[:, 0].copy()), native(x[:, 1].copy())), np.cross(x[:, 0], x[:, 1])
    )
    check(XP.linalg.trace(native(x)), np.asarray(np.trace(x)))


@with_dtypes
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_unique_all(dtype: np.dtype[Any], data: st.DataObject) -> None:
    x = drawn(data, dtype, (2, 5))
    for got, expected in zip(XP.unique_all(native(x)), np.unique_all(x), strict=True):
        check(got, expected)


@with_dtypes
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_writing(dtype: np.dtype[Any], data: st.DataObject) -> None:
    x, value = drawn(data, dtype, (3, 4)), drawn(data, dtype, (4,))
    mask = data.draw(arrays(np.bool_, (3, 4)))
    top = int(np.iinfo(dtype).max)
    keys: list[tuple[Any, Any]] = [
        ((1,), (1,)),
        ((slice(None, None, -1),), (slice(None, None, -1),)),
        ((torch.tensor([0, 2]),), (np.array([0, 2]),)),
        ((Ellipsis, slice(3, None, -1)), (Ellipsis, slice(3, None, -1))),
    ]
    for native_key, key in keys:
        expected, got = x.copy(), native(x)
        expected[key] = value
        assert XP.setitem(got, native_key, native(value)) is got
        check(got, expected)
        check(XP.getitem(got, native_key), expected[key].copy())
    expected, got = x.copy(), native(x)
    expected[mask] = top
    XP.setitem(got, (native(mask),), top)
    check(got, expected)
    check(XP.getitem(got, (native(mask),)), expected[mask])


@with_dtypes
@pytest.mark.parametrize("target", ["float32", "float64", "complex128", "bool", "int64", "uint8"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_converting(dtype: np.dtype[Any], target: str, data: st.DataObject) -> None:
    x = drawn(data, dtype)
    check(XP.astype(native(x), getattr(torch, target)), x.astype(target))


@with_dtypes
@pytest.mark.parametrize("source", ["float32", "float64"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_converting_back(dtype: np.dtype[Any], source: str, data: st.DataObject) -> None:
    # Doubling an odd mantissa keeps it exact; the largest float below 2**n is what fits.
    top = float(np.nextafter(np.dtype(source).type(2.0 ** (dtype.itemsize * 8)), 0))
    x = data.draw(
        arrays(source, (7,), elements=st.floats(0, top, width=np.dtype(source).itemsize * 8))
    )
    check(XP.astype(native(x), getattr(torch, dtype.name)), x.astype(dtype))


@with_dtypes
def test_creation_of_unsigned_tensors(dtype: np.dtype[Any]) -> None:
    t = getattr(torch, dtype.name)
    top = int(np.iinfo(dtype).max)
    check(XP.arange(top - 4, top, 3, dtype=t), np.arange(top - 4, top, 3, dtype=dtype))
    check(
        XP.arange(top, 0, -(top // 3), dtype=t),
        np.array([top, top - top // 3, top - 2 * (top // 3)], dtype=dtype),
    )
    check(XP.full((2,), top, dtype=t), np.full((2,), top, dtype=dtype))
    check(XP.eye(2, 3, k=1, dtype=t), np.eye(2, 3, k=1, dtype=dtype))
    check(XP.asarray([0, top], dtype=t), np.asarray([0, top], dtype=dtype))
    with pytest.raises(OverflowError, match="range"):
        XP.arange(0, top + 3, top + 2, dtype=t)


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        ("uint16", "int16", "int32"),
        ("uint32", "int8", "int64"),
        ("uint16", "uint64", "uint64"),
        ("uint64", "float32", "float32"),
        ("bool", "uint32", "uint32"),
    ],
)
def test_meeting_other_dtypes(a: str, b: str, common: str) -> None:
    x, y = torch.ones(2, dtype=getattr(torch, a)), torch.ones((), dtype=getattr(torch, b))
    assert XP.add(x, y).dtype is getattr(torch, common)
    assert XP.add(y, x).dtype is getattr(torch, common)


def test_uint64_does_not_meet_signed() -> None:
    with pytest.raises(TypeError, match="astype"):
        XP.add(torch.ones(2, dtype=torch.uint64), torch.ones(2, dtype=torch.int8))
    assert not XP.can_cast(torch.uint64, torch.int64)


def test_in_place_is_left_to_the_caller() -> None:
    functions = native_functions.NativeFunctions(
        registry.load_backend("torch"), torch.device("cpu")
    )
    assert functions.inplace("add", np.dtype("uint64")) is None
    assert functions.inplace("floor_divide", np.dtype("float16")) is None
    x = torch.ones(2)
    add = functions.inplace("add", np.dtype("float32"))
    assert add is not None
    assert add(x, 1) is x
    assert x.tolist() == [2.0, 2.0]

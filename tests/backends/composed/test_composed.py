"""Shared compositions on two libraries' native arrays, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from portarray._dispatch import native_functions
from portarray.backends import registry
from portarray.backends.composed import (
    indexing,
    manipulation,
    searching,
    sets,
    statistical,
    utility,
)

few = settings(max_examples=20, deadline=None)

ELEMENTS: dict[str, Any] = {
    "int8": st.integers(-3, 3),
    "uint16": st.sampled_from([0, 1, 2, 40000, 65535]),
    "float32": st.sampled_from([0.0, -0.0, 1.0, -2.0, float("inf"), float("-inf"), float("nan")]),
    "complex64": st.sampled_from([0j, 1j, -1j, 1 + 1j, complex("nan"), complex(1, float("nan"))]),
    "bool": st.booleans(),
}


class Side:
    """A library's namespace and its conversions."""

    def __init__(self, library: str) -> None:
        backend = registry.load_backend(library)
        self.device = backend.native_device("cpu", 0)
        self.transfer = backend
        self.xp = native_functions.NativeFunctions(backend, self.device).namespace

    def of(self, x: np.ndarray[Any, Any]) -> Any:
        return self.transfer.from_host(x.copy(), self.device, copy=None)

    def check(self, got: Any, expected: Any) -> None:
        host = self.transfer.to_host(got, copy=None) if hasattr(got, "dtype") else np.asarray(got)
        assert host.dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(host, expected)


@pytest.fixture(scope="module", params=["numpy", "torch"])
def side(request: pytest.FixtureRequest) -> Side:
    pytest.importorskip(request.param)
    return Side(request.param)


with_dtypes = pytest.mark.parametrize("dtype", ELEMENTS)
real_dtypes = pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "bool"])


@with_dtypes
@few
@given(data=st.data())
def test_unique(side: Side, dtype: str, data: st.DataObject) -> None:
    x = data.draw(
        arrays(dtype, st.sampled_from([(), (0,), (7,), (2, 3)]), elements=ELEMENTS[dtype])
    )
    values, indices, inverse, counts = sets.unique_all(side.xp, side.of(x))
    host = side.transfer.to_host
    side.check(values, np.unique(x, equal_nan=False))
    side.check(counts, np.unique(x, equal_nan=False, return_counts=True)[1].astype(np.int64))
    assert inverse.shape == x.shape
    side.check(values[inverse], x)
    direct = x.reshape(-1)[host(indices, copy=None)]
    side.check(values, direct)
    side.check(sets.unique_values(side.xp, side.of(x)), direct)
    side.check(sets.unique_counts(side.xp, side.of(x)).counts, host(counts, copy=None))
    side.check(sets.unique_inverse(side.xp, side.of(x)).inverse_indices, host(inverse, copy=None))


@with_dtypes
@few
@given(data=st.data(), invert=st.booleans())
def test_isin(side: Side, dtype: str, data: st.DataObject, invert: bool) -> None:
    x1, x2 = (data.draw(arrays(dtype, shape, elements=ELEMENTS[dtype])) for shape in ((2, 3), (4,)))
    expected = np.isin(x1, x2, invert=invert)
    side.check(sets.isin(side.xp, side.of(x1), side.of(x2), invert=invert), expected)
    if dtype == "int8":
        side.check(sets.isin(side.xp, side.of(x1), 2), np.isin(x1, 2))
        side.check(sets.isin(side.xp, 2, side.of(x2)), np.isin(np.int8(2), x2))


@real_dtypes
@few
@given(data=st.data(), right=st.booleans(), size=st.integers(0, 9))
def test_searchsorted(side: Side, dtype: str, data: st.DataObject, right: bool, size: int) -> None:
    x1, x2 = (
        data.draw(arrays(dtype, shape, elements=ELEMENTS[dtype])) for shape in ((size,), (2, 3))
    )
    side_name: Any = "right" if right else "left"
    order = np.argsort(x1, stable=True)
    expected = np.searchsorted(x1[order], x2, side=side_name)
    got = searching.searchsorted(side.xp, side.of(x1[order]), side.of(x2), side=side_name)
    side.check(got, expected)
    got = searching.searchsorted(
        side.xp, side.of(x1), side.of(x2), side=side_name, sorter=side.of(order)
    )
    side.check(got, expected)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", ["int8", "uint16"])
@few
@given(
    data=st.data(),
    axis=st.sampled_from([0, 1, -1]),
    size=st.integers(0, 9),
    include_initial=st.booleans(),
)
def test_running(
    side: Side,
    name: str,
    dtype: str,
    data: st.DataObject,
    axis: int,
    size: int,
    include_initial: bool,
) -> None:
    x = data.draw(arrays(dtype, (size, size), elements=ELEMENTS[dtype]))
    got = getattr(statistical, name)(
        side.xp, side.of(x), axis=axis, include_initial=include_initial
    )
    expected = getattr(np, name)(x, axis=axis, include_initial=include_initial)
    side.check(got, expected)


@real_dtypes
@few
@given(data=st.data(), n=st.integers(0, 3), axis=st.sampled_from([0, -1]), more=st.booleans())
def test_diff(side: Side, dtype: str, data: st.DataObject, n: int, axis: int, more: bool) -> None:
    x = data.draw(arrays(dtype, (2, 2), elements=ELEMENTS[dtype]))
    options = {"prepend": x, "append": x[::-1, ::-1]} if more else {}
    with np.errstate(invalid="ignore"):
        expected = np.diff(x, n=n, axis=axis, **options)
        got = utility.diff(
            side.xp, side.of(x), n=n, axis=axis, **{k: side.of(v) for k, v in options.items()}
        )
    side.check(got, expected)


@few
@given(data=st.data(), axis=st.sampled_from([None, 0, 1, -1]))
def test_repeat(side: Side, data: st.DataObject, axis: int | None) -> None:
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    size = 6 if axis is None else x.shape[axis]
    counts = data.draw(arrays(np.int64, (size,), elements=st.integers(0, 3)))
    for repeats in (counts, 2):
        native = side.of(repeats) if isinstance(repeats, np.ndarray) else repeats
        got = manipulation.repeat(side.xp, side.of(x), native, axis=axis)
        side.check(got, np.repeat(x, repeats, axis=axis))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("broadcast", ["none", "x", "indices"])
def test_take_along_axis(side: Side, axis: int, broadcast: str) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    indices = (np.arange(24).reshape(2, 3, 4) * 7) % x.shape[axis] - x.shape[axis] // 2
    first = tuple(slice(None) if dim == axis % 3 else slice(0, 1) for dim in range(3))
    x = x[first] if broadcast == "x" else x
    indices = indices[first] if broadcast == "indices" else indices
    got = indexing.take_along_axis(side.xp, side.of(x), side.of(indices), axis=axis)
    side.check(got, np.take_along_axis(x, indices, axis=axis))
    flat = indices.reshape(-1)[:5]
    got = indexing.take(side.xp, side.of(x), side.of(flat), axis=axis)
    side.check(got, np.take(x, flat, axis=axis))


@pytest.mark.parametrize(
    ("shapes", "common"),
    [
        ([], ()),
        ([(2, 1), (3,)], (2, 3)),
        ([(None, 1), (1, 3)], (None, 3)),
        ([(None,), (3,)], (3,)),
        ([(0,), (1,)], (0,)),
    ],
)
def test_broadcast_shapes(shapes: Any, common: Any) -> None:
    assert manipulation.broadcast_shapes(None, *shapes) == common


def test_broadcast_shapes_refuses() -> None:
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\).*axis -1"):
        manipulation.broadcast_shapes(None, (2,), (3,))

"""Indexing and assignment: NumPy's rules on every device, against NumPy itself."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import DType, as_numpy, drawing, dtypes_of, same, small
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import portarray as pa
from portarray.errors import DeviceMismatchError

Key = Any


def _kind_of_index(device: str) -> st.SearchStrategy[DType]:
    return st.sampled_from(dtypes_of(device, "integral"))


@st.composite
def _keys(draw: st.DrawFn, shape: tuple[int, ...], device: str) -> Key:
    """Draw a NumPy key of integers, slices, new axes, integer arrays of one shape, or a mask."""
    if draw(st.booleans()):
        return draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    if shape and draw(st.integers(0, 3)) == 0:
        count = draw(st.integers(1, len(shape)))
        return draw(hnp.arrays(bool, shape[:count]))
    common = draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3))
    parts: list[Any] = []
    for length in shape:
        kind = draw(st.sampled_from(["array", "slice", "integer"]))
        if kind == "slice" or length == 0:
            parts.append(draw(st.slices(length)))
        elif kind == "integer":
            parts.append(draw(st.integers(-length, length - 1)))
        else:
            dtype = draw(_kind_of_index(device))
            low = 0 if dtype.kind == "u" else -length
            parts.append(draw(hnp.arrays(dtype, common, elements=st.integers(low, length - 1))))
    if parts and draw(st.booleans()):
        parts = parts[: draw(st.integers(1, len(parts)))]
    if draw(st.booleans()):
        parts.append(Ellipsis)
    return tuple(parts)


def _ours(key: Key, device: str, native: bool) -> Key:
    """Return a key with portarray's arrays in place of NumPy's, or unchanged."""
    if isinstance(key, tuple):
        return tuple(_ours(part, device, native) for part in key)
    return key if native or not isinstance(key, np.ndarray) else pa.asarray(key, device=device)


@given(data=st.data(), numpy_key=st.booleans())
@drawing
def test_getitem(anywhere: str, data: st.DataObject, numpy_key: bool) -> None:
    a = data.draw(small(data.draw(st.sampled_from(dtypes_of(anywhere)))))
    key = data.draw(_keys(a.shape, anywhere))
    x = pa.asarray(a, device=anywhere)
    same(x[_ours(key, anywhere, numpy_key)], np.asarray(a[key]))
    same(x, a)


@given(data=st.data(), numpy_key=st.booleans())
@drawing
def test_setitem_of_arrays(anywhere: str, data: st.DataObject, numpy_key: bool) -> None:
    """A value broadcasts and is cast to the array's dtype unless its kind is higher."""
    mine = dtypes_of(anywhere)
    a = data.draw(small(data.draw(st.sampled_from(mine))))
    key = data.draw(_keys(a.shape, anywhere))
    target = a[key]
    sources = [d for d in mine if d.kind != "c" or a.dtype.kind == "c"]
    shape = data.draw(hnp.broadcastable_shapes(target.shape, max_dims=target.ndim, max_side=4))
    assume(np.broadcast_shapes(shape, target.shape) == target.shape)
    value = data.draw(small(data.draw(st.sampled_from(sources)), shape))
    assume(_has_no_duplicates(key, a.shape))
    x = pa.asarray(a, device=anywhere)
    y = pa.asarray(value, device=anywhere)
    expected = a.copy()
    expected[key] = value
    x[_ours(key, anywhere, numpy_key)] = y
    same(x, expected)
    same(y, value)


def _has_no_duplicates(key: Key, shape: tuple[int, ...]) -> bool:
    """Return whether a key selects every element at most once, so that writes are defined."""
    indices = np.arange(int(np.prod(shape))).reshape(shape)[key]
    return len(np.unique(indices)) == indices.size


@given(data=st.data(), value=st.one_of(st.booleans(), st.integers(0, 9), st.floats(0, 9)))
@drawing
def test_setitem_of_scalars(anywhere: str, data: st.DataObject, value: float) -> None:
    a = data.draw(small(data.draw(st.sampled_from(dtypes_of(anywhere)))))
    key = data.draw(_keys(a.shape, anywhere))
    x = pa.asarray(a, device=anywhere)
    for scalar in (value, np.asarray(value)[()], np.asarray(value)):
        expected = a.copy()
        expected[key] = value
        x[_ours(key, anywhere, False)] = scalar
        same(x, expected)


@given(data=st.data())
@drawing
def test_views(viewing: str, data: st.DataObject) -> None:
    """On mutable arrays basic indexing returns views: assignments are seen in both."""
    a = data.draw(small(np.dtype(np.float64)))
    key = data.draw(hnp.basic_indices(a.shape, allow_newaxis=True, allow_ellipsis=True))
    steps = [part.step for part in (key if isinstance(key, tuple) else (key,)) if _is_slice(part)]
    assume(all(step is None or step > 0 for step in steps))  # PyTorch has no negative strides
    x = pa.asarray(a, device=viewing, copy=True)
    view = x[key]
    view[...] = 77
    expected = a.copy()
    expected[key] = 77
    same(x, expected)


def _is_slice(part: object) -> bool:
    return isinstance(part, slice)


def test_indices_of_scalars_and_lists(anywhere: str) -> None:
    a = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    x = pa.asarray(a, device=anywhere)
    same(x[np.int64(1)], a[1])
    same(x[pa.asarray(1, device=anywhere)], a[1])
    same(x[pa.asarray(1, device=anywhere), pa.asarray(2, device=anywhere)], np.asarray(a[1, 2]))
    same(x[[2, 0]], a[[2, 0]])
    same(x[[]], a[[]])
    same(x[[True, False, True]], a[[True, False, True]])
    same(x[True], a[True])
    same(x[np.int64(0) : np.uint8(2)], a[:2])
    same(x[:, ::-1], a[:, ::-1])
    same(x[::-2, ...], a[::-2])


# Key, the kind of the error, and what its message must name.
WRONG: list[tuple[Key, type[Exception], str]] = [
    (3, IndexError, "index 3 is out of bounds for axis 0 with length 3"),
    (-4, IndexError, "index -4 is out of bounds for axis 0 with length 3"),
    ((0, 4), IndexError, "index 4 is out of bounds for axis 1 with length 4"),
    ((..., -5), IndexError, "index -5 is out of bounds for axis 1 with length 4"),
    ((0, 0, 0), IndexError, "too many indices: the array has 2 axes, and 3 were indexed"),
    ((..., ...), IndexError, "only one ellipsis"),
    (1.0, IndexError, "float is not an index"),
    ("row", IndexError, "str is not an index"),
    (slice(None, None, 0), ValueError, "slice step cannot be zero"),
    (slice(0, 1.5), TypeError, "float"),
    (np.asarray([0.5]), IndexError, "integer or boolean dtype, not float64"),
    (np.asarray([True, False]), IndexError, r"shape \(2,\) does not fit axes of lengths \(3,\)"),
    (np.ones((3, 3), bool), IndexError, r"shape \(3, 3\) does not fit axes of lengths \(3, 4\)"),
    (np.asarray([0, 3]), IndexError, "index 3 is out of bounds"),
    (np.asarray([-4]), IndexError, "index -4 is out of bounds"),
    (np.asarray(["a"]), IndexError, "integer or boolean dtype"),
]


def test_two_ellipses_are_refused(device: str) -> None:
    """PyTorch takes the second one for a slice."""
    for shape in ((), (2, 3)):
        x = pa.zeros(shape, device=device)
        for value in (1.0, x):
            with pytest.raises(IndexError, match="only one ellipsis"):
                x[..., ...] = value
        with pytest.raises(IndexError, match="only one ellipsis"):
            x[..., ...]


@pytest.mark.one_device
@pytest.mark.parametrize(("key", "error", "message"), WRONG, ids=repr)
def test_wrong_keys(anywhere: str, key: Key, error: type[Exception], message: str) -> None:
    a = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    x = pa.asarray(a, device=anywhere, copy=True)
    with pytest.raises(error, match=message):
        x[key]
    with pytest.raises(error, match=message):
        x[key] = 1.0
    same(x, a)


# PyTorch warns of what it then does right.
@pytest.mark.filterwarnings("ignore:Truncating the start/stop/step of slice:UserWarning")
@pytest.mark.parametrize("huge", [2**63 - 1, 2**63, 2**64 + 1, 1 - 2**63, -(2**63), -(2**80)])
def test_slices_beyond_64_bits(anywhere: str, huge: int) -> None:
    a = np.arange(5.0, dtype=np.float32)
    for key in (slice(huge), slice(huge, None), slice(1, huge, 2)):
        x = pa.asarray(a, device=anywhere, copy=True)
        same(x[key], a[key])
        b = a.copy()
        b[key] = x[key] = 7.0
        same(x, b)


@pytest.mark.parametrize("index", [3, -4, 2**31 - 1])
def test_index_arrays_out_of_bounds(anywhere: str, index: int) -> None:
    x = pa.reshape(pa.arange(12, dtype=pa.float32, device=anywhere), (4, 3))
    bad = pa.asarray([0, index, 1], device=anywhere)
    good = pa.asarray([0, 1, 2], device=anywhere)
    for pick in (
        lambda: x[:, bad],
        lambda: x[..., bad],
        lambda: x[None, good, bad],
        lambda: pa.take(x, bad, axis=1),
        lambda: pa.take_along_axis(x, bad[None, :], axis=1),
        lambda: x.__setitem__((good, bad), 1.0),
    ):
        with pytest.raises(IndexError):
            pick()
    same(x, np.arange(12, dtype=np.float32).reshape(4, 3))


def test_no_index_of_an_array_without_axes(anywhere: str) -> None:
    x = pa.asarray(1, device=anywhere)
    for key in (0, [0]):
        with pytest.raises(IndexError, match="too many indices"):
            x[key]
    same(x[()], np.asarray(1, dtype=x.dtype))
    same(x[...], np.asarray(1, dtype=x.dtype))
    same(x[None], np.asarray([1], dtype=x.dtype))


@pytest.mark.one_device
def test_float_arrays_are_no_indices(anywhere: str) -> None:
    x = pa.asarray([1, 2], device=anywhere)
    with pytest.raises(IndexError, match=r"not float32\nHint: convert with pa\.astype"):
        x[pa.asarray([0.0], dtype=pa.float32, device=anywhere)]


REFUSED: list[tuple[str, Any, type[Exception], str]] = [
    ("float32", 1j, TypeError, r"the complex number 1j does not fit a float32 array"),
    ("int16", 1j, TypeError, r"the complex number 1j does not fit a int16 array"),
    ("int8", 128, OverflowError, r"128 is out of bounds for int8 \(-128 to 127\)"),
    ("uint8", -1, OverflowError, r"-1 is out of bounds for uint8 \(0 to 255\)"),
    ("int32", float("nan"), ValueError, "nan does not fit a int32 array"),
    ("int32", float("-inf"), ValueError, "-inf does not fit a int32 array"),
    ("float32", [1.0, 2.0], TypeError, r"got list\nHint: make an array of it first: pa\.asarray"),
    ("float32", "1", TypeError, "got str"),
    ("float32", None, TypeError, "got NoneType"),
]


@pytest.mark.one_device
@pytest.mark.parametrize(("name", "value", "error", "message"), REFUSED, ids=repr)
def test_refused_assignments(
    anywhere: str, name: str, value: Any, error: type[Exception], message: str
) -> None:
    a = np.asarray([5, 6], dtype=name)
    x = pa.asarray(a, device=anywhere, copy=True)
    for key in (0, slice(None), np.asarray([0, 1]), np.asarray([True, False])):
        with pytest.raises(error, match=message):
            x[key] = value
        same(x, a)


def test_refused_arrays(anywhere: str) -> None:
    a = np.asarray([[1, 2], [3, 4]], dtype=np.float32)
    x = pa.asarray(a, device=anywhere, copy=True)
    with pytest.raises(TypeError, match=r"(?s)complex values do not fit a float32 .*pa\.real"):
        x[0] = pa.asarray([1j, 2], dtype=pa.complex64, device=anywhere)
    with pytest.raises(ValueError):
        x[0] = pa.asarray([1.0, 2.0, 3.0], device=anywhere)
    with pytest.raises(ValueError):
        x[:, :] = pa.ones((3, 2, 2), device=anywhere)
    if anywhere != "numpy:cpu:0":
        with pytest.raises(DeviceMismatchError, match="assignment"):
            x[0] = pa.ones(2, device="numpy")
        with pytest.raises(DeviceMismatchError, match="indexing"):
            x[pa.asarray([0], device="numpy")]
    same(x, a)


def test_floats_are_cut_off_in_integer_arrays(anywhere: str) -> None:
    x = pa.asarray([0, 0, 0], dtype=pa.int32, device=anywhere)
    x[:2] = pa.asarray([2.7, -2.7], device=anywhere)
    x[2] = 9.9
    assert as_numpy(x).tolist() == [2, -2, 9]


def test_assigned_scalars_are_cast_to_bool(anywhere: str) -> None:
    x = pa.asarray([True, False], device=anywhere)
    x[1] = 2
    x[0] = 0.0
    same(x, np.asarray([False, True]))


def test_arrays_are_integers_and_conditions(anywhere: str) -> None:
    five = pa.asarray(5, device=anywhere)
    assert operator.index(five) == int(five) == 5
    assert float(five) == complex(five) == 5.0
    assert list(range(10))[five] == 5
    assert bool(five)
    assert not bool(pa.asarray(0.0, device=anywhere))
    with pytest.raises(TypeError, match=r"(?s)float32.*convert it with int\(x\)"):
        operator.index(pa.asarray(5.0, dtype=pa.float32, device=anywhere))
    with pytest.raises(TypeError, match=r"pa\.real\(x\)"):
        float(pa.asarray(1j, device=anywhere))
    two = pa.asarray([1, 2], device=anywhere)
    with pytest.raises(
        ValueError, match=r"the truth value of an array of shape \(2,\) is ambiguous"
    ):
        bool(two)
    for convert in (int, float, complex, operator.index):
        with pytest.raises(TypeError, match=r"shape \(2,\)"):
            convert(two)


def test_assigning_views_of_the_array_itself(anywhere: str) -> None:
    """Values and index arrays are read before elements are written."""

    def both(assign: Callable[[Any, Any], None], *shape: int) -> None:
        x = np.arange(6, dtype=np.int32).reshape(shape)
        y = pa.asarray(x.copy(), device=anywhere)
        assign(x, np.asarray)
        assign(y, lambda indices: pa.asarray(np.asarray(indices, np.int32), device=anywhere))
        same(y, x)

    def through_a_mask(x: Any, array: Any) -> None:
        x[x > 2] = x[:3]

    def through_indices(x: Any, array: Any) -> None:
        x[array([5, 4, 3, 2, 1, 0])] = x

    def through_the_array_itself(x: Any, array: Any) -> None:
        x[x[::2]] = x[3:]

    def through_an_axis(x: Any, array: Any) -> None:
        x[array([1, 0]), :] = x

    def beside_an_integer(x: Any, array: Any) -> None:
        x[0, array([1, 0])] = x[1, :2]

    def through_slices(x: Any, array: Any) -> None:
        x[1:] = x[:-1]

    for assign in (through_a_mask, through_indices, through_the_array_itself, through_slices):
        both(assign, 6)
    for assign in (through_an_axis, beside_an_integer, through_slices):
        both(assign, 2, 3)


@pytest.mark.parametrize("index", [-4, 3, 100, -100])
def test_index_arrays_of_the_host_are_within_bounds(anywhere: str, index: int) -> None:
    x = pa.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=anywhere)
    columns = (slice(None), [index, 0]), (slice(None), np.asarray([index, 0]))
    for key in ([0, index], np.asarray([index, 1]), *columns):
        size, axis = (2, 1) if isinstance(key, tuple) else (3, 0)
        text = f"index {index} is out of bounds for axis {axis} with length {size}"
        with pytest.raises(IndexError, match=text):
            x[key]
        with pytest.raises(IndexError, match=text):
            x[key] = 0.0
    same(x, np.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], x.dtype))


def test_one_element_arrays_of_other_libraries_are_not_indices(anywhere: str) -> None:
    """``__index__`` of such arrays would drop their axes and masks."""
    torch = pytest.importorskip("torch")
    x = pa.reshape(pa.arange(12, device=anywhere), (3, 4))
    for key in ([0], [True], True, [[1]]):
        for wrong in (torch.tensor(key), (0, torch.tensor(key))):
            with pytest.raises(IndexError, match="Tensor is not an index"):
                x[wrong]
            with pytest.raises(IndexError, match="Tensor is not an index"):
                x[wrong] = 0
    assert x[torch.tensor(1)].tolist() == [4, 5, 6, 7]


def test_lists_of_arrays_stay_on_their_device(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=anywhere)
    for rows in ([x, x], [x[0], x[1]], [[x[0]], [x[1]]], (x.native, x.native)):
        stacked = pa.asarray(rows)
        moved = stacked.device is not x.device and type(rows[0]) is np.ndarray
        assert stacked.device is (pa.asarray(1.0).device if moved else x.device)
        assert stacked.dtype == pa.float32
    assert pa.asarray([x, x], device="numpy").device is pa.device("numpy")
    assert pa.asarray([np.ones(2, np.float32), x]).device is x.device

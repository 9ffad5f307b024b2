"""Keys of every form read and write like NumPy's, and raise like them, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn import library_of, same

import portarray as pa

KEYS = {"jax": 40}  # which compiles each
MOST = 300
SHAPE = (3, 2, 4)
# Shapes of the index arrays of one key; they broadcast, or do not.
INDICES: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((2,), (2,), (2,)),
    ((2, 1), (2,), ()),
    ((), (), ()),
    ((1,), (2, 2), (1, 1)),
    ((0,), (1,), (0,)),
)

Key = tuple[Any, ...]


def _key(rng: np.random.Generator) -> Key:
    """Draw a key of arrays, masks, integers, slices, None and ``...``."""
    shapes = INDICES[rng.integers(len(INDICES))]
    parts: list[Any] = []
    for length, shape in zip(SHAPE, shapes, strict=True):
        kind = rng.choice(["array", "array", "slice", "slice", "integer", "mask"])
        if kind == "array":
            parts.append(rng.integers(-length, length, shape))
        elif kind == "slice":
            starts = [None, *range(-length - 1, length + 2)]
            start, stop = (starts[rng.integers(len(starts))] for _ in "ab")
            parts.append(slice(start, stop, [None, 1, 2, -1, -2][rng.integers(5)]))
        elif kind == "integer":
            parts.append(int(rng.integers(-length, length)))
        else:
            mask = np.zeros(length, bool)
            mask[rng.permutation(length)[:2]] = True
            parts.append(mask)
    parts = parts[: rng.integers(1, len(parts) + 1)]
    if rng.integers(4):
        position = int(rng.integers(len(parts) + 1))
        keep = parts[position:]
        if rng.integers(3) == 0:  # of fewer axes than there are
            keep = keep[1:]
        # The axes behind an ellipsis are the last ones.
        behind = SHAPE[len(SHAPE) - len(keep) :]
        if all(_fits(part, n) for part, n in zip(keep, behind, strict=True)):
            parts = [*parts[:position], Ellipsis, *keep]
    for _ in range(rng.integers(3)):
        parts.insert(int(rng.integers(len(parts) + 1)), None)
    return tuple(parts)


def _fits(part: Any, length: int) -> bool:
    if isinstance(part, np.ndarray):
        return len(part) == length if part.dtype == bool else bool(np.all(abs(part) < length))
    return isinstance(part, slice) or -length <= part < length


def _ours(key: Key, device: str) -> Key:
    return tuple(
        pa.asarray(part, device=device, narrow=True) if isinstance(part, np.ndarray) else part
        for part in key
    )


def _outcome(action: Any) -> Any:
    try:
        return action()
    except IndexError:
        return IndexError


def test_getitem(device: str) -> None:
    rng = np.random.default_rng(5)
    a = np.arange(24, dtype=np.float32).reshape(SHAPE)
    x = pa.asarray(a, device=device)
    for _ in range(KEYS.get(library_of(device), MOST)):
        key = _key(rng)
        expected = _outcome(lambda key=key: np.asarray(a[key]))
        result = _outcome(lambda key=key: x[_ours(key, device)])
        if expected is IndexError or result is IndexError:
            assert result is expected, key
        else:
            assert result.shape == expected.shape, key
            same(result, expected)


def test_setitem(device: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(KEYS.get(library_of(device), MOST)):
        key = _key(rng)
        a = np.arange(24, dtype=np.float32).reshape(SHAPE)
        x = pa.asarray(a, device=device, copy=True)
        places = _outcome(lambda key=key: np.arange(24).reshape(SHAPE)[key])
        if places is IndexError:
            with pytest.raises(IndexError):
                x[_ours(key, device)] = 1.0
            same(x, a)
            continue
        if np.unique(places).size < np.size(places):
            continue  # the last writer is not defined
        shape = np.shape(places)
        # Leading axes may be left out, and any axis be 1 long; a few leading ones may be added.
        shape = tuple(n if rng.integers(4) else 1 for n in shape[rng.integers(2) :])
        value = -np.arange(1.0, 1 + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
        a[key] = value
        x[_ours(key, device)] = pa.asarray(value, device=device)
        np.testing.assert_array_equal(np.asarray(x.to_device("numpy")), a, err_msg=repr(key))


# Key into shape (3, 2), and shapes of values of which it takes the first ones and refuses the rest.
VALUES: list[tuple[Any, list[tuple[int, ...]], list[tuple[int, ...]]]] = [
    (slice(None), [(1, 3, 2), (1, 1, 1), (2,)], [(3,), (2, 3, 2), (3, 3), (0,)]),
    (slice(0, 0), [(1, 0, 2), (2,), (1,)], [(2, 2), (3,), (3, 2)]),
    (slice(None, None, -1), [(1, 3, 2), (3, 1)], [(2, 3, 2), (2, 2)]),
    ((0, 1), [(1,), (1, 1)], [(2,), (0,)]),
    ((None, 0), [(1, 1, 2)], [(3,), (2, 1)]),
    (np.asarray([2, 0]), [(1, 2, 2), (2, 1)], [(3, 2), (3,), (2, 2, 1)]),
    (np.asarray([], np.int64), [(1, 0, 2), (2,)], [(2, 2), (3,)]),
    ((slice(None), np.asarray([1, 0, 0])), [(1, 1, 3)], [(2,), (2, 3)]),
    (np.ones((3, 2), bool), [(1, 6), (1,)], [(3, 2), (5,)]),
    (np.zeros((3, 2), bool), [(0,), (1, 1)], [(2,), (6,)]),
]


@pytest.mark.parametrize(("key", "fitting", "others"), VALUES, ids=lambda part: repr(part)[:40])
def test_shapes_of_values(
    anywhere: str, key: Any, fitting: list[tuple[int, ...]], others: list[tuple[int, ...]]
) -> None:
    a = np.arange(6, dtype=np.float32).reshape(3, 2)
    selected = a[key].shape
    for x_key in (key, _ours(key if isinstance(key, tuple) else (key,), anywhere)):
        for shape in fitting:
            x = pa.asarray(a, device=anywhere, copy=True)
            x[x_key] = pa.ones(shape, dtype=pa.float32, device=anywhere) * 7
            expected = a.copy()
            expected[key] = 7.0
            same(x, expected)
        for shape in others:
            x = pa.asarray(a, device=anywhere, copy=True)
            with pytest.raises(ValueError, match="assignment on") as caught:
                x[x_key] = pa.ones(shape, dtype=pa.float32, device=anywhere)
            assert (
                f"values of shape {shape} cannot be broadcast to the selected shape {selected}"
                in str(caught.value)
            )
            same(x, a)


def test_indices_out_of_bounds_where_nothing_is_selected(device: str) -> None:
    a = np.arange(4, dtype=np.float32).reshape(2, 2)
    x = pa.asarray(a, device=device, copy=True)
    nine = pa.asarray([9], device=device)
    no_indices = pa.asarray([], dtype=pa.int64, device=device)
    empty = pa.ones((0, 3), device=device)
    xp = pa.namespace(device)
    for pick in (
        lambda: x[0:0, nine],
        lambda: x[nine, no_indices],
        lambda: x[nine, ..., no_indices],
        lambda: pa.take(empty, nine, axis=1),
        lambda: pa.take(no_indices, nine),
        lambda: pa.take_along_axis(empty, nine[None], axis=1),
        lambda: xp.take(empty.native, nine.native, axis=1),
        lambda: xp.take_along_axis(empty.native, nine[None].native, axis=1),
        lambda: x.__setitem__((slice(0, 0), nine), 1.0),
        lambda: x.__setitem__((nine, no_indices), 1.0),
    ):
        with pytest.raises(IndexError, match="out of bounds"):
            pick()
    same(x, a)


def test_unsigned_indices_are_never_negative(device: str) -> None:
    a = np.asarray([1, 2], dtype=np.float32)
    x = pa.asarray(a, device=device, copy=True)
    xp = pa.namespace(device)
    for last in (2**64 - 1, 2**64 - 2, 2**63, 2):
        index = pa.asarray([0, last], dtype=pa.uint64, device=device)
        for pick in (
            lambda index=index: x[index],
            lambda index=index: x[None, index],
            lambda index=index: pa.take(x, index),
            lambda index=index: pa.take_along_axis(x, index),
            lambda index=index: xp.take(x.native, index.native),
            lambda index=index: xp.take_along_axis(x.native, index.native),
            lambda index=index: x.__setitem__(index, 7.0),
        ):
            with pytest.raises(IndexError, match="out of bounds"):
                pick()
    same(x, a)
    for name in ("uint8", "uint16", "uint32", "uint64"):
        same(x[pa.asarray([1, 0], dtype=name, device=device)], a[[1, 0]])


def test_index_arrays_that_do_not_broadcast(anywhere: str) -> None:
    x = pa.ones((3, 2), device=anywhere)
    two, three = (pa.asarray([0] * n, device=anywhere) for n in (2, 3))
    mask = pa.asarray([True, True, False], device=anywhere)
    for key, shapes in (((two, three), r"\(2,\), \(3,\)"), ((mask, three), r"\(2,\), \(3,\)")):
        with pytest.raises(
            IndexError, match=f"index arrays of shapes {shapes} cannot be broadcast"
        ):
            x[key]
        with pytest.raises(
            IndexError, match=f"index arrays of shapes {shapes} cannot be broadcast"
        ):
            x[key] = 1.0

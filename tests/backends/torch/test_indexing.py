"""Tensors are indexed like NumPy's arrays where PyTorch differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import basic_indices

torch = pytest.importorskip("torch")

from portarray._dispatch import native_functions  # noqa: E402
from portarray.backends import registry  # noqa: E402

xp = native_functions.NativeFunctions(registry.load_backend("torch"), torch.device("cpu")).namespace

SHAPE = (3, 4, 2)


def source() -> np.ndarray[Any, Any]:
    return np.arange(24).reshape(SHAPE)


def as_native(key: Any) -> tuple[Any, ...]:
    key = key if isinstance(key, tuple) else (key,)
    return tuple(
        torch.from_numpy(index) if isinstance(index, np.ndarray) else index for index in key
    )


def both_agree(key: Any) -> None:
    x, t = source(), torch.from_numpy(source())
    expected = x[key]
    np.testing.assert_array_equal(xp.getitem(t, as_native(key)).numpy(), expected)
    value = np.asarray(-1 - np.arange(expected.size).reshape(expected.shape))
    x[key] = value
    assert xp.setitem(t, as_native(key), torch.from_numpy(value)) is t
    np.testing.assert_array_equal(t.numpy(), x)
    x[key] = 7
    xp.setitem(t, as_native(key), 7)
    np.testing.assert_array_equal(t.numpy(), x)


@settings(max_examples=100, deadline=None)
@given(key=basic_indices(SHAPE, allow_newaxis=True))
def test_basic(key: Any) -> None:
    both_agree(key)


I3 = np.array([0, 2, -1])


@pytest.mark.parametrize(
    "key",
    [
        (I3,),
        (I3, I3),
        (0, slice(None), I3[:2] % 2),
        (I3, slice(None), 1),
        (slice(None), I3, 1),
        (I3[:, None], I3, 0),
        (slice(None, None, -1), I3),
        (I3, slice(None, None, -2)),
        (Ellipsis, np.array([1, 0])),
        (None, I3, Ellipsis),
        (np.array(1), 2),
        (np.array(1), I3),
        (source() % 2 == 0,),
        (source()[:, :, 0] > 9,),
        (source()[:, 0, 0] > 4, slice(None, None, -1)),
        (slice(None), np.array([True, False, True, True])),
        (np.array(True),),
        (np.array(False),),
        (np.zeros((3, 4), dtype=bool),),
    ],
    ids=str,
)
def test_arrays_and_masks(key: Any) -> None:
    both_agree(key)


def test_masks_of_another_shape() -> None:
    t = torch.ones(3, 4)
    empty = xp.getitem(t, (torch.zeros((3, 0), dtype=torch.bool),))
    assert empty.shape == (0,)
    with pytest.raises(IndexError):
        xp.getitem(t, (torch.ones((2, 4), dtype=torch.bool),))


def test_views_and_copies() -> None:
    t = torch.zeros(3, 4)
    xp.setitem(xp.getitem(t, (1, slice(1, 3))), (), 5)
    assert t.sum() == 10
    xp.setitem(xp.getitem(t, (torch.tensor(1),)), (), 7)
    assert t.sum() == 10


def test_overlapping_assignment() -> None:
    t = torch.arange(6)
    xp.setitem(t, (slice(1, None),), t[:-1])
    assert t.tolist() == [0, 0, 1, 2, 3, 4]
    xp.setitem(t, (slice(None, None, -1),), t)
    assert t.tolist() == [4, 3, 2, 1, 0, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint64"])
def test_index_dtypes(dtype: str) -> None:
    index = torch.tensor([2, 0], dtype=getattr(torch, dtype))
    t = torch.arange(12).reshape(4, 3)
    assert xp.getitem(t, (index,)).tolist() == [[6, 7, 8], [0, 1, 2]]
    assert xp.take(t, index, axis=1).shape == (4, 2)
    assert xp.take_along_axis(t, index[None, :], axis=1).tolist() == t[:, [2, 0]].tolist()

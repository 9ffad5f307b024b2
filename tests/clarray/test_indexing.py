"""Indexing: views, assignment and its casts, overlaps, and refusals."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.exceptions import AxisError

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray.array import Array
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.indexing import take, take_along_axis

pytestmark = pytest.mark.drawn_devices(1)


def _range(device: Device, shape: tuple[int, ...], dtype: str = "float32") -> Array:
    return from_numpy(np.arange(np.prod(shape)).astype(dtype).reshape(shape), device)


def test_basic_keys_are_views(device: Device) -> None:
    x = _range(device, (4, 6))
    for key in (1, (slice(None, None, -2), 3), (..., None), (slice(1, 3), slice(5, None, -1)), ()):
        view = x[key]
        assert view.storage is x.storage
    x[1:3][:, ::2][0] = -1
    expected = np.arange(24.0).reshape(4, 6)
    expected[1, ::2] = -1
    np.testing.assert_array_equal(to_numpy(x), expected)


def test_views_without_elements_lie_inside_the_array(device: Device) -> None:
    x = _range(device, (3, 0, 5))
    assert to_numpy(x[2]).shape == (0, 5)
    assert to_numpy(x[:, :, 4]).shape == (3, 0)
    assert to_numpy(_range(device, (4,))[4:]).shape == (0,)
    x[2] = 1.0
    x[:, :, 4] = from_numpy(np.zeros((3, 0), np.float32), device)


def test_integers_that_are_not_pythons(device: Device) -> None:
    x = _range(device, (3, 4))
    index = from_numpy(np.array(-1, np.int8), device)
    assert x[index].storage is x.storage
    assert x[index, np.int64(1)].item() == 9
    assert x[np.array(2), from_numpy(np.array(3, np.uint64), device)].item() == 11


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, "index 3 is out of bounds for axis 0 with size 3"),
        ((0, -5), "index -5 is out of bounds for axis 1 with size 4"),
        ((0, 0, 0), "too many indices: the array has 2 axes, and 3 were indexed"),
        ((..., ...), "only one ellipsis"),
        (1.0, "float is not an index"),
        ("a", "str is not an index"),
        (np.array([0.0]), "integer or boolean dtype, got float64"),
        (np.array([True, False]), "along axis 0 it has size 2 and the array 3"),
        ((slice(None), np.ones((3,), bool)), "along axis 1 it has size 3 and the array 4"),
        (np.ones((3, 4, 1), bool), "too many indices"),
        ((np.zeros(2, int), np.zeros(3, int)), "shapes (2,), (3,) cannot be broadcast"),
        (np.array([0, 3]), "index 3 is out of bounds for axis 0 with size 3"),
        ((slice(None), np.array([-5])), "index -5 is out of bounds for axis 1 with size 4"),
        ((np.array([0]), np.array([4])), "index 4 is out of bounds for axis 1 with size 4"),
    ],
)
def test_keys_that_are_refused(device: Device, key: Any, message: str) -> None:
    x = _range(device, (3, 4))
    initial = to_numpy(x).copy()
    with pytest.raises(IndexError) as caught:
        x[key]
    assert message in str(caught.value)
    with pytest.raises(IndexError) as caught:
        x[key] = 1.0
    assert message in str(caught.value)
    np.testing.assert_array_equal(to_numpy(x), initial)


def test_a_step_of_zero_is_refused(device: Device) -> None:
    with pytest.raises(ValueError, match=r"step of .* is zero"):
        _range(device, (3,))[::0]


def test_a_zero_dimensional_array(device: Device) -> None:
    x = _range(device, ())
    assert x[()].shape == x[...].shape == ()
    assert x[None].shape == (1,)
    assert x[True].shape == (1,)
    assert x[from_numpy(np.array(False), device)].shape == (0,)
    x[...] = 3
    assert x.item() == 3
    x[True] = 4
    assert x.item() == 4
    x[from_numpy(np.array(False), device)] = 5
    assert x.item() == 4
    with pytest.raises(IndexError, match="too many indices"):
        x[0]
    with pytest.raises(TypeError, match="no length"):
        len(x)
    with pytest.raises(TypeError, match="cannot be iterated"):
        iter(x)


def test_masks_may_be_empty_along_an_axis(device: Device) -> None:
    x = _range(device, (3, 4))
    assert x[from_numpy(np.ones((0,), bool), device)].shape == (0, 4)
    assert x[from_numpy(np.ones((3, 0), bool), device)].shape == (0,)
    x[from_numpy(np.ones((0, 4), bool), device)] = 9
    np.testing.assert_array_equal(to_numpy(x).ravel(), np.arange(12))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "float32", "complex64"])
def test_assigned_numbers_take_the_dtype(device: Device, dtype: str) -> None:
    x = _range(device, (4,), dtype)
    expected = np.arange(4).astype(dtype)
    for position, value in enumerate((True, 3, 2.75)):
        x[position] = value
        expected[position] = value
    x[from_numpy(np.array([3]), device)] = np.float64(1.5)
    expected[3] = 1.5
    np.testing.assert_array_equal(to_numpy(x), expected)
    assert x.dtype == expected.dtype


def test_assigned_numbers_too_large_for_the_dtype_are_infinite(device: Device) -> None:
    x = _range(device, (4,), "float16")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x[0] = 1e10
        x[from_numpy(np.array([1, 2]), device)] = -1e10
    np.testing.assert_array_equal(to_numpy(x), [np.inf, -np.inf, -np.inf, 3])


def test_assigned_arrays_are_cast(device: Device) -> None:
    x = _range(device, (2, 3), "int16")
    x[0] = from_numpy(np.array([1.9, -1.9, 7], np.float32), device)
    x[from_numpy(np.array([1, 1]), device)] = from_numpy(np.array([True, False, True]), device)
    np.testing.assert_array_equal(to_numpy(x), [[1, -1, 7], [1, 0, 1]])
    y = from_numpy(np.zeros(2, ml_dtypes.bfloat16), device)
    y[:] = from_numpy(np.array([1.5, 2.5]), device)
    y[from_numpy(np.array([True, False]), device)] = 0.25
    assert y.tolist() == [0.25, 2.5]


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("float32", 1j, TypeError),
        ("int8", 200, OverflowError),
        ("uint8", -1, OverflowError),
        ("int64", 2**63, OverflowError),
        ("int32", float("nan"), ValueError),
        ("int32", float("inf"), OverflowError),
        ("float32", [1.0], TypeError),
        ("float32", np.ones(2), TypeError),
        ("float32", "1", TypeError),
    ],
)
def test_values_that_are_refused(device: Device, dtype: str, value: Any, error: type) -> None:
    x = _range(device, (3,), dtype)
    mask = from_numpy(np.ones(3, bool), device)
    for key in (slice(None), mask, from_numpy(np.array([0]), device)):
        with pytest.raises(error):
            x[key] = value
    np.testing.assert_array_equal(to_numpy(x), np.arange(3))


def test_shapes_that_do_not_broadcast_are_refused(device: Device) -> None:
    x = _range(device, (3, 4))
    value = from_numpy(np.zeros((3,), np.float32), device)
    for key in (slice(None), from_numpy(np.array([0, 1]), device), np.ones((3, 4), bool)):
        with pytest.raises(ValueError, match="broadcast"):
            x[key] = value
    with pytest.raises(TypeError, match=r"real\(value\)"):
        x[0] = from_numpy(np.zeros(4, np.complex64), device)
    x[0] = from_numpy(np.ones((1, 1, 4), np.float32), device)
    assert x[0].tolist() == [1, 1, 1, 1]


def test_source_and_target_may_overlap(device: Device) -> None:
    values = np.arange(3000, dtype=np.int64)
    for key in (slice(None), np.arange(2999), np.ones(2999, bool)):
        x = from_numpy(values, device)
        x[1:][key] = x[:-1]
        assert to_numpy(x).tolist() == [0, *range(2999)]
        x = from_numpy(values, device)
        x[:][::-1][:-1][key] = x[:-1]
        expected = values.copy()
        expected[::-1][:-1] = values[:-1]
        np.testing.assert_array_equal(to_numpy(x), expected)


def test_memory_borrowed_twice_overlaps_too(device: Device) -> None:
    if not device.host_memory:
        pytest.skip("memory is not shared")
    memory = np.arange(3000)
    x, y = from_numpy(memory, device, copy=False), from_numpy(memory, device, copy=False)
    x[1:][from_numpy(np.arange(2999), device)] = y[:-1]
    assert memory.tolist() == [0, *range(2999)]
    memory[:] = np.random.default_rng(0).permutation(3000)
    expected = memory.copy()
    expected[memory] = memory[::-1].copy()
    x[y] = y[::-1]
    np.testing.assert_array_equal(memory, expected)


def test_a_mask_alone_in_a_tuple(device: Device) -> None:
    values = np.arange(12.0).reshape(3, 4)
    x, mask = from_numpy(values, device), values % 3 == 0
    np.testing.assert_array_equal(to_numpy(x[(mask,)]), values[mask])
    x[(from_numpy(mask, device),)] = -1
    values[mask] = -1
    np.testing.assert_array_equal(to_numpy(x), values)


def test_an_array_may_index_itself(device: Device) -> None:
    values = np.random.default_rng(0).permutation(5000)
    x = from_numpy(values, device)
    np.testing.assert_array_equal(to_numpy(x[x]), values[values])
    x[x] = x[::-1]
    expected = values.copy()
    expected[values] = values[::-1]
    np.testing.assert_array_equal(to_numpy(x), expected)
    m = from_numpy(values > 2000, device)
    m[m] = False
    assert not to_numpy(m).any()


def test_repeated_indices_keep_one_of_the_values(device: Device) -> None:
    x = _range(device, (3,))
    x[np.array([1, 1, 1, 1])] = _range(device, (4,))
    assert x[1].item() in (0, 1, 2, 3)
    assert x[::2].tolist() == [0, 2]


def test_iteration_items_and_lists(device: Device) -> None:
    x = _range(device, (2, 3), "int16")
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[0, 1, 2], [3, 4, 5]]
    assert x[1, 2].item() == 5
    assert type(x[1, 2].item()) is int
    assert type(from_numpy(np.ones((1, 1)), device).item()) is float
    assert type(from_numpy(np.ones(1, ml_dtypes.bfloat16), device).item()) is float
    with pytest.raises(ValueError, match="one element"):
        x.item()


def test_take_refuses(device: Device) -> None:
    x = _range(device, (2, 3))
    index = from_numpy(np.array([0]), device)
    with pytest.raises(ValueError, match="name the axis"):
        take(x, index)
    with pytest.raises(AxisError):
        take(x, index, axis=2)
    with pytest.raises(TypeError, match="integer dtype"):
        take(x, x, axis=0)
    with pytest.raises(TypeError, match="asarray"):
        take(x, np.array([0]), axis=0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be equal"):
        take_along_axis(x, index)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        take_along_axis(x, from_numpy(np.array([[3]]), device))


def test_arrays_of_two_devices_are_refused() -> None:
    if len(devices()) < 2:
        pytest.skip("one OpenCL device")
    x, second = (from_numpy(np.arange(3), device) for device in devices()[:2])
    for use in (
        lambda: x[second],
        lambda: take(x, second),
        lambda: x.__setitem__(second, 1),
        lambda: x.__setitem__(0, second[0]),
    ):
        with pytest.raises(ValueError, match="two devices"):
            use()


@pytest.mark.parametrize("keys", [2, 3])
def test_an_ellipsis_for_no_axis_separates_index_arrays(device: Device, keys: int) -> None:
    values = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)
    x = from_numpy(values, device)
    rows = np.array([0, 3, 1])
    places = [
        (slice(None), rows, Ellipsis, rows),
        (rows, Ellipsis, rows, slice(None)),
        (slice(None), rows, Ellipsis, 2),
        (rows, Ellipsis, 1, rows),
    ]
    for key in places[: keys + 1]:
        on_device = tuple(
            from_numpy(part, device) if isinstance(part, np.ndarray) else part for part in key
        )
        np.testing.assert_array_equal(to_numpy(x[on_device]), values[key])

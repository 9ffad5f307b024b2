"""Values combined at indices, which may repeat: ``scatter_*``, ``x.at`` and ``np.add.at``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa

UFUNCS = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}
SCATTER = {name: getattr(pa, f"scatter_{name}") for name in UFUNCS}


def placed(values: Any, device: str) -> pa.Array:
    return pa.asarray(np.asarray(values), device=device)


def host(x: pa.Array) -> np.ndarray[Any, Any]:
    return np.asarray(pa.to_device(x, "numpy"))


def test_drawn_calls_are_numpys(device: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(12 if device.startswith(("numpy", "torch")) else 5):
        shape = tuple(rng.integers(1, 5, rng.integers(1, 4)).tolist())
        axis = int(rng.integers(-len(shape), len(shape)))
        length, outer = shape[axis], axis % len(shape)
        counts = tuple(rng.integers(0, 6, rng.integers(0, 3)).tolist())
        indices = rng.integers(-length, length, counts).astype(rng.choice(["int32", "int64"]))
        dtype = rng.choice(["float32", "int32", "uint8"])
        x = rng.integers(0, 9, shape).astype(dtype)
        values = rng.integers(0, 5, (*shape[:outer], *counts, *shape[outer + 1 :])).astype(dtype)
        key = (slice(None),) * outer + (indices,)
        for name, ufunc in UFUNCS.items():
            expected = x.copy()
            ufunc.at(expected, key, values)
            args = [placed(part, device) for part in (x, indices, values)]
            actual = SCATTER[name](*args, axis=axis)
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(host(actual), expected)
            assert (host(args[0]) == x).all()
            places = args[0].at[(slice(None),) * outer + (args[1],)]
            np.testing.assert_array_equal(host(getattr(places, name)(args[2])), expected)
            ufunc.at(args[0], (*key[:-1], args[1]), args[2])
            np.testing.assert_array_equal(host(args[0]), expected)


def test_unsigned_integers_wrap_around_as_numpys(device: str) -> None:
    rng = np.random.default_rng(0)
    dtypes = pa.__array_namespace_info__().dtypes(device=device, kind="unsigned integer")
    for dtype in map(np.dtype, dtypes):
        limits = np.iinfo(dtype)
        x, values = (rng.integers(limits.min, limits.max, n, dtype, True) for n in (4, 12))
        indices = rng.integers(-4, 4, 12).astype(np.int32)
        for name, ufunc in UFUNCS.items():
            expected = x.copy()
            ufunc.at(expected, indices, values)
            args = [placed(part, device) for part in (x, indices, values)]
            np.testing.assert_array_equal(host(SCATTER[name](*args)), expected, f"{name} {dtype}")


def test_odd_values_and_other_indices(device: str) -> None:
    x = placed(np.asarray([1.0, np.nan, 3.0], "f4"), device)
    repeated = placed([2, 2, 0], device)
    odd = placed(np.asarray([np.inf, -np.inf, np.nan], "f4"), device)
    for name, ufunc in UFUNCS.items():
        expected = host(x).copy()
        with np.errstate(invalid="ignore"):
            ufunc.at(expected, host(repeated), host(odd))
            actual = SCATTER[name](x, repeated, odd)
        np.testing.assert_array_equal(host(actual), expected)
    grid = placed(np.zeros((3, 4), "f4"), device)
    np.testing.assert_array_equal(host(grid.at[1, ::2].add(2)), [[0] * 4, [2, 0, 2, 0], [0] * 4])
    pairs = grid.at[placed([0, 0], device), placed([1, 1], device)].add(1.0)
    assert host(pairs)[0, 1] == host(pairs).sum() == 2
    np.testing.assert_array_equal(host(grid.at[0].set(5.0))[0], [5] * 4)
    np.subtract.at(grid, [2, 2], 1.0)
    np.testing.assert_array_equal(host(grid)[2], [-2] * 4)
    sums = pa.zeros((2,), device=device)
    np.add.at(sums, [1, 1], (3.0, 4.0))
    assert sums.tolist() == [0, 7]
    weights = np.bincount(placed([0, 2, 2], device), weights=placed(np.ones(3, "f4"), device))
    np.testing.assert_array_equal(host(weights), [1, 0, 2])


@pytest.mark.parametrize("name", UFUNCS)
def test_gradients(name: str, device: str) -> None:
    """Of the array and of the values, with zeros among factors and ties among extremes."""
    indices = placed([0, 2, 2, 2], device)
    x = placed(np.asarray([2.0, 1.0, 0.5], "f4"), device)
    values = placed(np.asarray([3.0, 0.0 if name == "multiply" else -1.0, 4.0, 1.5], "f4"), device)
    scale = placed(np.asarray([1.0, 10.0, 100.0], "f4"), device)

    def loss(x: Any, values: Any) -> Any:
        return pa.sum(SCATTER[name](x, indices, values) * scale)

    of_x, of_values = pa.grad(loss, (0, 1))(x, values)
    expected = {
        "add": ([1, 10, 100], [1, 100, 100, 100]),
        "multiply": ([3, 10, 0], [2, 300, 0, 0]),
        "max": ([0, 10, 0], [1, 0, 100, 0]),
        "min": ([1, 10, 0], [0, 100, 0, 0]),
    }[name]
    np.testing.assert_allclose(host(of_x), expected[0], rtol=1e-6)
    np.testing.assert_allclose(host(of_values), expected[1], rtol=1e-6)
    np.testing.assert_allclose(host(pa.compile(pa.grad(loss))(x, values)), expected[0], rtol=1e-6)
    tied = pa.grad(lambda v: pa.sum(pa.scatter_max(x, indices, v) * scale))(
        placed([2, 9, 9, 1.0], device).astype("f4")
    )
    np.testing.assert_allclose(host(tied), [0.5, 50, 50, 0])


@pytest.mark.one_device
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x, i: pa.scatter_add(x, i, x[:1], axis=3), IndexError, "axis 3"),
        (lambda x, i: pa.scatter_add(x, x, 1.0), TypeError, "indices"),
        (lambda x, i: pa.scatter_add(x, pa.asarray([7]), 1.0), IndexError, "7 is out of bounds"),
        (lambda x, i: pa.scatter_add(x.astype(pa.int32), i, 0.5), TypeError, "0.5 do not fit"),
        (
            lambda x, i: pa.scatter_max(x.astype(pa.complex64), i, 1),
            TypeError,
            "has dtype comp",
        ),
        (lambda x, i: pa.scatter_add(x, i, pa.ones((5,))), ValueError, "broadcast"),
        (lambda x, i: pa.scatter_add([1.0], i, 1.0), TypeError, "arrays, got list"),
        (lambda x, i: np.divide.at(x, i, 2.0), TypeError, "numpy.divide.at: not supported"),
    ],
)
def test_refusals(call: Any, error: type[Exception], message: str, device: str) -> None:
    with pytest.raises(error, match=message):
        call(pa.asarray([1.0, 2.0], device=device), pa.asarray([0, 1], device=device))

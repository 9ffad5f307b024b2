"""Lazy evaluation of MLX: errors, operators and writes behave as on other devices."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402

DEVICE = "mlx:cpu"


def failing() -> pa.Array:
    """Return a 0-d array whose evaluation fails."""
    return pa.asarray(mx.sum(mx.linalg.inv(mx.zeros((2, 2)), stream=mx.cpu)))


@pytest.mark.parametrize(
    "read",
    [
        float,
        int,
        bool,
        complex,
        np.asarray,
        np.from_dlpack,
        pickle.dumps,
        pa.Array.item,
        pa.Array.tolist,
        lambda x: x.to_device("numpy"),
        lambda x: pa.nonzero(pa.reshape(x, (1,))),
        lambda x: pa.ones(1, device=DEVICE)[pa.reshape(x, (1,)) > 0],
        lambda x: pa.take(pa.ones(3, device=DEVICE), pa.astype(pa.reshape(x, (1,)), pa.int64)),
    ],
)
def test_late_errors_are_the_users(read: Callable[[pa.Array], object]) -> None:
    with pytest.raises(ValueError, match="LU factorization failed"):
        read(failing())


def test_errors_come_at_once_from_functions_of_portarray() -> None:
    singular = pa.zeros((3, 3), device=DEVICE)
    with pytest.raises((ValueError, np.linalg.LinAlgError)):
        pa.linalg.inv(singular)


def test_elementwise_calls_compute_nothing() -> None:
    """Elementwise calls allocate no result, only some bytes for scalars."""
    x = pa.ones((1 << 20,), dtype="float32", device=DEVICE)
    mx.eval(x.native)
    memory = mx.get_active_memory()
    y = pa.sin(x) * 2 + x
    assert mx.get_active_memory() < memory + (1 << 20)
    np.asarray(y)
    assert mx.get_active_memory() >= memory + (1 << 22)


def test_results_requested_before_a_write_have_the_old_values() -> None:
    x = pa.asarray([1.0, 2.0, 3.0], device=DEVICE)
    doubled, total = x * 2, pa.sum(x)
    x[1] = 100
    x += 1
    assert doubled.tolist() == [2, 4, 6]
    assert float(total) == 6
    assert x.tolist() == [2, 101, 4]


def test_in_place_operators_keep_the_native_array() -> None:
    native = mx.array([4, 9], dtype=mx.int32)
    x = pa.asarray(native)
    x += 1
    x *= pa.asarray([2, 3], dtype="int32", device=DEVICE)
    x -= 1
    x //= 2
    x **= 2
    x %= 7
    x <<= 2
    x >>= 1
    x |= 1
    x ^= 2
    x &= 7
    expected = []
    for start, factor in ((4, 2), (9, 3)):
        value = ((((start + 1) * factor - 1) // 2) ** 2) % 7
        expected.append((((value << 2) >> 1 | 1) ^ 2) & 7)
    assert x.native is native
    assert native.dtype == mx.int32
    assert native.tolist() == expected


def test_long_chains_of_writes() -> None:
    x = pa.zeros(4, dtype="int64", device=DEVICE)
    for step in range(300):
        x[step % 4] += step
    assert x.tolist() == [sum(range(position, 300, 4)) for position in range(4)]


def test_synchronize() -> None:
    x = pa.ones(8, device=DEVICE) + 1
    pa.synchronize(DEVICE)
    assert x.tolist() == [2] * 8

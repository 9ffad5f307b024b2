"""Layouts, views, errors and 16-bit dtypes of linear algebra and Fourier transforms.

The conformance suite tests the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray import fft, linalg
from portarray.clarray.array import Array
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.linear_algebra import matrix_transpose, tensordot, vecdot

pytestmark = pytest.mark.drawn_devices(1)

Values = np.ndarray[Any, Any]


def drawn(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Values:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(np.dtype(dtype))


def strided(values: Values, device: Device) -> Array:
    """Return an array of given elements with a stride of two."""
    wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
    wide[..., ::2] = values
    x = from_numpy(wide, device)
    return x.view(values.shape, (*x.strides[:-1], 2), x.offset)


def test_functions_say_where_they_are_computed() -> None:
    for function in (linalg.svd, linalg.solve, fft.rfft):
        assert function.__dict__["__portarray_served__"] == "host"
    for device_function in (linalg.matmul, linalg.vector_norm, linalg.cross, fft.fftfreq):
        assert "__portarray_served__" not in device_function.__dict__


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_sixteen_bits_compute_in_single_precision(device: Device, dtype: Any) -> None:
    values = (drawn((3, 3), "float64") + 3 * np.eye(3)).astype(dtype)
    x = from_numpy(values, device)
    eps = float(ml_dtypes.finfo(dtype).eps)
    wide = values.astype(np.float64)
    assert linalg.inv(x).dtype == linalg.solve(x, x).dtype == np.dtype(dtype)
    result = to_numpy(linalg.inv(x)).astype(np.float64)
    assert np.allclose(result, np.linalg.inv(wide), rtol=4 * eps, atol=eps)
    norm = linalg.vector_norm(x)
    assert norm.dtype == np.dtype(dtype)
    assert math.isclose(float(to_numpy(norm)), np.linalg.norm(wide), rel_tol=eps)
    assert linalg.eigvals(x).dtype == fft.fft(x).dtype == np.complex64
    assert linalg.matrix_rank(x).item() == 3


def test_norms_do_not_overflow_in_sixteen_bits(device: Device) -> None:
    x = from_numpy(np.full((4,), 300, np.float16), device)
    assert to_numpy(linalg.vector_norm(x)) == 600


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, -2, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_vector_norms_of_any_layout(device: Device, order: float, dtype: str) -> None:
    values = drawn((3, 4, 5), dtype)
    x = strided(values, device)
    axes: tuple[Any, ...] = (None, 1, (0, 2), (-1, 0, 1))
    for axis in axes:
        for keepdims in (False, True):
            result = to_numpy(linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=order))
            expected = np.linalg.vector_norm(
                values.astype(np.complex128), axis=axis, keepdims=keepdims, ord=order
            )
            assert result.dtype == np.float32
            np.testing.assert_allclose(result, expected, rtol=2e-5)
            assert result.shape == np.shape(expected)


def test_views_share_memory(device: Device) -> None:
    x = from_numpy(np.arange(24.0, dtype=np.float32).reshape(2, 3, 4), device)
    values = to_numpy(x)
    for offset in range(-4, 6):
        visible = linalg.diagonal(x, offset=offset)
        assert visible.storage is x.storage
        expected = np.diagonal(values, offset, -2, -1)
        assert visible.shape == expected.shape
        assert np.array_equal(to_numpy(visible), expected)
        trace = linalg.trace(x, offset=offset)
        assert np.array_equal(to_numpy(trace), expected.sum(-1))
    turned = matrix_transpose(x)
    assert turned.storage is x.storage
    assert np.array_equal(to_numpy(turned), np.swapaxes(values, -1, -2))


def test_tensordot_and_vecdot_of_strided_arrays(device: Device) -> None:
    a, b = drawn((3, 4, 5), "complex64"), drawn((5, 3, 2), "complex64", 1)
    x, y = strided(a, device), strided(b, device)
    for axes in (0, ((2, 0), (0, 1)), ((-1,), (0,)), ((0,), (1,))):
        result = to_numpy(tensordot(x, y, axes=axes))
        expected = np.tensordot(a.astype(np.complex128), b.astype(np.complex128), axes)
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    result = to_numpy(vecdot(x, strided(drawn((4, 1), "complex64", 2), device), axis=-2))
    expected = np.vecdot(a, drawn((4, 1), "complex64", 2), axis=-2)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_powers_are_new_arrays(device: Device) -> None:
    values = drawn((2, 3, 3), "float32")
    x = from_numpy(values, device)
    for n in (-2, -1, 0, 1, 2, 7):
        result = linalg.matrix_power(x, n)
        assert result.storage is not x.storage
        expected = np.linalg.matrix_power(values.astype(np.float64), n)
        np.testing.assert_allclose(to_numpy(result), expected, rtol=1e-3, atol=1e-3)


def test_refusals_of_linear_algebra(device: Device) -> None:
    oblong = from_numpy(np.ones((2, 3), np.float32), device)
    whole = from_numpy(np.ones((2, 2), np.int32), device)
    singular = from_numpy(np.zeros((2, 2), np.float32), device)
    vector = from_numpy(np.ones((3,), np.float32), device)
    cases: tuple[tuple[Callable[[], Any], type[Exception], str], ...] = (
        (lambda: linalg.inv(oblong), ValueError, "square"),
        (lambda: linalg.det(whole), TypeError, "astype"),
        (lambda: linalg.inv(singular), np.linalg.LinAlgError, "[Ss]ingular"),
        (lambda: linalg.cholesky(singular), np.linalg.LinAlgError, "positive definite"),
        (lambda: linalg.svd(vector), ValueError, "two or more axes"),
        (lambda: linalg.qr(oblong, mode="raw"), ValueError, "mode"),  # type: ignore[arg-type]
        (lambda: linalg.solve(singular, vector), ValueError, "rows"),
        (lambda: linalg.matrix_norm(oblong, ord=3), ValueError, "ord is 3"),
        (lambda: linalg.cross(oblong, vector, axis=0), ValueError, "size 3"),
        (lambda: linalg.outer(oblong, vector), ValueError, "one axis"),
        (lambda: vecdot(vector, oblong, axis=-2), ValueError, "axis"),
        (lambda: tensordot(oblong, oblong, axes=3), ValueError, "from 0 to 2"),
        (lambda: tensordot(oblong, oblong, axes=1), ValueError, "sizes differ"),
        (lambda: fft.rfft(from_numpy(np.ones(3, np.complex64), device)), TypeError, "use fft"),
        (lambda: fft.fft(vector, n=0), ValueError, "at least one sample"),
        (lambda: fft.fft(whole), TypeError, "astype"),
        (lambda: fft.fftn(oblong, s=(2, 3)), ValueError, "axes is None"),
        (lambda: fft.fft(vector, norm="unit"), ValueError, "norm"),  # type: ignore[arg-type]
        (lambda: fft.fftfreq(0, device=device), ValueError, "at least one sample"),
    )
    for call, error, message in cases:
        with pytest.raises(error, match=message):
            call()

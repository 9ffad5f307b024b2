"""Products with weights against NumPy in float64: few rows and many, strides, dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray.array import Array
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.linear_algebra import matmul, matrix_transpose
from portarray.clarray.neural import linear

Values = np.ndarray[Any, Any]

DTYPES = ("float32", "float64", "float16", "bfloat16")


def drawn(rng: np.random.Generator, dtype: str, *shape: int) -> Values:
    result: Values = rng.standard_normal(shape).astype(np.dtype(dtype))
    return result


def laid(values: Values, layout: str, device: Device) -> Array:
    """Return a matrix in a layout: dense, transposed or part of a wider matrix."""
    if layout == "plain":
        return from_numpy(values, device)
    if layout == "turned":
        return matrix_transpose(from_numpy(np.ascontiguousarray(values.T), device))
    wide = np.full((values.shape[0], values.shape[1] + 5), np.nan, values.dtype)
    wide[:, 2:-3] = values
    x = from_numpy(wide, device)
    return x.view(values.shape, x.strides, x.offset + 2)


def check(x: Values, weight: Values, bias: Values | None, got: Values) -> None:
    """Check products to rounding."""
    a, b, c = (
        np.asarray(0 if operand is None else operand, np.float64) for operand in (x, weight, bias)
    )
    wide, size = a @ b.T + c, np.abs(a) @ np.abs(b).T + np.abs(c)
    assert got.dtype == x.dtype
    assert got.shape == wide.shape
    computed = np.float64 if x.dtype.itemsize == 8 else np.float32
    bound = 16 * float(np.finfo(computed).eps) * size
    stored = float(ml_dtypes.finfo(x.dtype).eps)
    bound += np.abs(wide) * stored
    assert np.all(np.abs(got.astype(np.float64) - wide) <= bound)


@pytest.mark.parametrize("dtype", DTYPES)
def test_drawn_shapes_and_layouts(device: Device, dtype: str) -> None:
    if np.dtype(dtype) not in device.dtypes:
        pytest.skip(f"{device} has no {dtype}")
    rng = np.random.default_rng(DTYPES.index(dtype))
    # PoCL builds a kernel for each number of rows.
    leads = [(), (1,), (3,), (2, 4), (20,), (0,)]
    if "Intel" in device.platform_name:
        leads += [(2,), (4,), (5,), (6,), (7,), (2, 1, 1), (100,)]
    for lead in leads * 2:
        n, depth = int(rng.integers(1, 150)), int(2 ** rng.uniform(0, 9))
        x, weight = drawn(rng, dtype, *lead, depth), drawn(rng, dtype, n, depth)
        bias = drawn(rng, dtype, n) if rng.random() < 0.5 else None
        layout = ("plain", "wide", "turned")[rng.integers(3)]
        of_x, of_weight = from_numpy(x, device), laid(weight, layout, device)
        if lead == (3,):
            of_x = laid(x, "turned", device)
        bias_argument = () if bias is None else (from_numpy(bias, device),)
        check(x, weight, bias, to_numpy(linear(of_x, of_weight, *bias_argument)))
        check(x, weight, None, to_numpy(matmul(of_x, matrix_transpose(of_weight))))


def test_weights_are_divided_evenly(device: Device) -> None:
    rng = np.random.default_rng(4)
    for n, depth in ((1000, 576), (1001, 576), (17, 9000)):
        x, weight = drawn(rng, "float32", 1, depth), drawn(rng, "float32", n, depth)
        check(x, weight, None, to_numpy(linear(from_numpy(x, device), from_numpy(weight, device))))


def test_every_number_of_16_bits_is_widened(device: Device) -> None:
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        weight = np.arange(1 << 16, dtype=np.uint16).view(dtype).reshape(-1, 1)
        # Rows of 64 times one at another place each, so that vectors are what is widened.
        rows = np.zeros((len(weight), 64), dtype)
        at = np.arange(len(weight)) % 64
        rows[np.arange(len(weight)), at] = weight[:, 0]
        result = to_numpy(linear(from_numpy(np.ones((1, 64), dtype), device),
                                from_numpy(rows, device)))[0]  # fmt: skip
        np.testing.assert_array_equal(result.astype(np.float32), weight[:, 0].astype(np.float32))


def test_bias_is_added_before_rounding(device: Device) -> None:
    # 2048 + 1 rounds to 2048 in float16; less 2048 it must still be 1.
    for rows in (1, 20):
        x = from_numpy(np.ones((rows, 2049), np.float16), device)
        weight = from_numpy(np.ones((3, 2049), np.float16), device)
        bias = from_numpy(np.full(3, -2048, np.float16), device)
        np.testing.assert_array_equal(to_numpy(linear(x, weight, bias)), 1)


def test_other_dtypes_use_the_matmul_engine(device: Device) -> None:
    x, weight = np.arange(6).reshape(2, 3), np.arange(12).reshape(4, 3)
    for dtype in (np.int32, np.complex64):
        a, b = x.astype(dtype), weight.astype(dtype)
        result = linear(from_numpy(a, device), from_numpy(b, device), from_numpy(b[:, 0], device))
        np.testing.assert_array_equal(to_numpy(result), a @ b.T + b[:, 0])


def test_shapes_that_do_not_fit_are_refused(device: Device) -> None:
    x = from_numpy(np.ones((2, 3), np.float32), device)
    halves = from_numpy(np.ones((2, 3), np.float16), device)
    four = from_numpy(np.ones(4, np.float32), device)
    yes = from_numpy(np.ones((2, 3), np.bool_), device)
    for arguments, error, message in (
        ((x, halves), TypeError, "float16"),
        ((yes, yes), TypeError, "bool"),
        ((x, np.ones((2, 3))), TypeError, "weight is of type ndarray"),
        ((x, x, np.ones(2)), TypeError, "bias is of type ndarray"),
        ((x, matrix_transpose(x)), ValueError, r"\(3, 2\)"),
        ((x, four), ValueError, r"\(4,\)"),
        ((x, x, four), ValueError, r"\(4,\)"),
    ):
        with pytest.raises(error, match=message):
            linear(*arguments)

"""Products of matrices against NumPy's in float64: every kernel, layout and dtype."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray.array import Array
from portarray.clarray.engine import matmul_launch, matmul_packed
from portarray.clarray.engine.tiles import tile_of
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.linear_algebra import matmul

pytestmark = pytest.mark.drawn_devices(1)

Values = np.ndarray[Any, Any]

SHAPES = {
    "small": ((3, 4), (4, 5)),
    "one": ((1, 1), (1, 1)),
    "row by matrix": ((1, 300), (300, 200)),
    "matrix by column": ((200, 300), (300, 1)),
    "row by column": ((1, 300), (300, 1)),
    "few rows": ((3, 300), (300, 130)),
    "few columns": ((130, 300), (300, 5)),
    "tens of rows": ((21, 300), (300, 130)),
    "few rows in a batch": ((3, 2, 5, 300), (3, 1, 300, 70)),
    "in registers": ((37, 50), (50, 45)),
    "packed": ((100, 120), (120, 110)),
    "packed, large": ((290, 260), (260, 250)),
    "packed, deep": ((130, 1100), (1100, 150)),
    "one matrix for all": ((5, 3, 4), (4, 5)),
    "broadcast": ((5, 3, 4), (2, 1, 4, 6)),
    "four batch axes": ((2, 2, 1, 2, 5, 6), (1, 2, 2, 2, 6, 3)),
    "packed batch": ((3, 100, 100), (100, 100)),
    "packed broadcast": ((2, 1, 100, 100), (3, 100, 100)),
    "batch of vectors": ((3, 1, 300), (3, 300, 1)),
    "long sums": ((2, 9000), (9000, 3)),
    "long sums with a rest": ((20, 9001), (9001, 30)),
    "long sums in a batch": ((2, 3, 9001), (9001, 3)),
    "no rows": ((0, 3), (3, 2)),
    "nothing to sum": ((2, 0), (0, 3)),
    "no matrices": ((0, 3, 4), (4, 5)),
}
DTYPES = (
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
LAYOUTS = ("plain", "transposed", "strided", "reversed")


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Values:
    """Draw numbers whose sums of products reveal every wrong term."""
    if dtype.kind in "iu":
        return rng.integers(0, 200, shape).astype(dtype)
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        return (values + 1j * rng.standard_normal(shape)).astype(dtype)
    return values.astype(dtype)


def laid(values: Values, layout: str, device: Device) -> Array:
    """Return an array of given elements in some layout."""
    if layout == "transposed":
        x = from_numpy(np.ascontiguousarray(np.swapaxes(values, -1, -2)), device)
        return x.view(values.shape, (*x.strides[:-2], x.strides[-1], x.strides[-2]), x.offset)
    if layout == "strided":
        wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1] + 1), values.dtype)
        wide[..., 1::2] = values
        x = from_numpy(wide, device)
        return x.view(values.shape, (*x.strides[:-1], 2), x.offset + bool(values.size))
    if layout == "reversed":
        x = from_numpy(np.ascontiguousarray(values[..., ::-1]), device)
        return x.view(values.shape, (*x.strides[:-1], -1), max(values.shape[-1] - 1, 0))
    return from_numpy(values, device)


def check(a: Values, b: Values, got: Values) -> None:
    """Check a product, to rounding or exactly for integers."""
    assert got.dtype == a.dtype
    if a.dtype.kind in "iu":  # two's complement: the low bits are right whatever overflowed
        expected = np.matmul(a.astype(np.uint64), b.astype(np.uint64)).astype(a.dtype)
        np.testing.assert_array_equal(got, expected)
        return
    kind = np.complex128 if a.dtype.kind == "c" else np.float64
    wide = np.matmul(a.astype(kind), b.astype(kind))
    size = np.matmul(np.abs(a.astype(kind)), np.abs(b.astype(kind)))
    computed = np.float32 if a.dtype.itemsize == 2 else a.dtype
    eps = float(np.finfo(computed).eps)
    # Sums are off by few roundings at the scale of the magnitudes, then stored in the dtype.
    bound = 16 * eps * size + np.abs(wide) * float(ml_dtypes.finfo(a.dtype).eps)
    assert got.shape == wide.shape
    assert np.all(np.abs(got.astype(kind) - wide) <= bound)


@pytest.mark.parametrize("shapes", SHAPES)
def test_shapes_and_layouts(device: Device, shapes: str) -> None:
    rng = np.random.default_rng(0)
    first, second = SHAPES[shapes]
    for index, layout in enumerate(LAYOUTS):
        for second_layout in (layout, LAYOUTS[index - 1]):
            a = drawn(rng, first, np.dtype(np.float32))
            b = drawn(rng, second, np.dtype(np.float32))
            result = matmul(laid(a, layout, device), laid(b, second_layout, device))
            assert result.contiguous
            check(a, b, to_numpy(result))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(device: Device, dtype: str) -> None:
    result = np.dtype(dtype)
    if result not in device.dtypes:
        pytest.skip(f"{device} has no {dtype}")
    rng = np.random.default_rng(1)
    # Building a program of register tiles takes PoCL seconds for each dtype.
    names = ("small", "row by matrix", "matrix by column", "long sums", "four batch axes")
    if "Intel" in device.platform_name or dtype in ("float64", "complex64"):
        names += ("packed", "packed, large", "packed, deep", "few rows in a batch")
    for name in names:
        a, b = (drawn(rng, shape, result) for shape in SHAPES[name])
        check(a, b, to_numpy(matmul(laid(a, "plain", device), laid(b, "transposed", device))))


def test_drawn_shapes_and_layouts(device: Device) -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        m, k, n = (int(2 ** rng.uniform(0, 7.5)) for _ in range(3))
        batch = ((), (2,), (2, 3))[rng.integers(3)]
        a = drawn(rng, (*batch[rng.integers(len(batch) + 1) :], m, k), np.dtype(np.float32))
        b = drawn(rng, (*batch, k, n), np.dtype(np.float32))
        first_layout, second_layout = LAYOUTS[rng.integers(4)], LAYOUTS[rng.integers(4)]
        check(a, b, to_numpy(matmul(laid(a, first_layout, device), laid(b, second_layout, device))))


def test_broadcast_operands_are_packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    device = devices()[0]
    if device.traits.local_memory:
        pytest.skip("no device that computes in host memory")
    taken: list[int] = []
    take = device.pool.take
    monkeypatch.setattr(device.pool, "take", lambda size: taken.append(size) or take(size))
    rng = np.random.default_rng(3)
    a = drawn(rng, (8, 128, 512), np.dtype(np.float32))
    b = drawn(rng, (512, 512), np.dtype(np.float32))
    every = laid(b, "plain", device).view((8, 512, 512), (0, 512, 1), 0)
    x = laid(a, "plain", device)
    taken.clear()
    result = matmul(x, every)
    assert sum(taken) < result.size * 4 + 2 * (a.nbytes + b.nbytes)
    check(a, np.broadcast_to(b, (8, 512, 512)), to_numpy(result))


def test_large_products_are_cut_into_blocks(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matmul_packed, "_BLOCK_ROWS", 64)
    monkeypatch.setattr(matmul_packed, "_BLOCK_COLUMNS", 64)
    monkeypatch.setattr(matmul_packed, "_SCRATCH", 1 << 15)
    monkeypatch.setattr(matmul_launch, "_DIRECT", 0)
    rng = np.random.default_rng(4)
    a = drawn(rng, (3, 150, 90), np.dtype(np.float32))
    b = drawn(rng, (3, 90, 170), np.dtype(np.float32))
    check(a, b, to_numpy(matmul(laid(a, "plain", device), laid(b, "transposed", device))))


def test_sixteen_bits_are_summed_in_single_precision(device: Device) -> None:
    # In float16 the sum of ones would stay at 2048; two blocks of the summed axis must not meet
    # in float16 either.
    depth = 3000
    x = from_numpy(np.ones((100, depth), np.float16), device)
    y = from_numpy(np.ones((depth, 110), np.float16), device)
    result = to_numpy(matmul(x, y))
    assert np.all(result == np.float16(3000))


def test_infinities_and_nan_stay_in_their_rows(device: Device) -> None:
    a = np.ones((100, 100), np.float32)
    a[3, 5], a[7, 9] = np.inf, np.nan
    result = to_numpy(
        matmul(from_numpy(a, device), from_numpy(np.ones((100, 99), np.float32), device))
    )
    assert np.all(np.isinf(result[3]))
    assert np.all(np.isnan(result[7]))
    finite_rows = np.delete(result, (3, 7), axis=0)
    assert np.all(finite_rows == 100)


def test_tiles_divide_their_blocks(device: Device) -> None:
    for dtype in device.dtypes:
        if dtype.kind != "b":
            tile = tile_of(device, dtype)
            assert tile.block_rows % tile.rows == 0
            assert tile.block_columns % tile.wide == 0


def test_operands_without_a_product_are_refused(device: Device) -> None:
    x = from_numpy(np.ones((2, 3), np.float32), device)
    for y, error, message in (
        (from_numpy(np.ones((2, 3), np.float32), device), ValueError, "sizes differ"),
        (from_numpy(np.ones((), np.float32), device), ValueError, "at least one axis"),
        (from_numpy(np.ones((3, 2), np.bool_), device), TypeError, "bool"),
        (np.ones((3, 2), np.float32), TypeError, "asarray"),
    ):
        with pytest.raises(error, match=message):
            matmul(x, y)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="broadcast"):
        matmul(
            from_numpy(np.ones((2, 2, 3), np.float32), device),
            from_numpy(np.ones((3, 3, 2), np.float32), device),
        )

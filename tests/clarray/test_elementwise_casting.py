"""Conversions between dtypes, alone and within operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray import arithmetic, comparison
from portarray.clarray.dtypes import ALL, bfloat16, cl_type, kind_of
from portarray.clarray.engine import copy, launch_cache, plans
from portarray.clarray.engine.transfer import from_numpy, to_numpy

pytestmark = pytest.mark.drawn_devices(1)

Numpy = np.ndarray[Any, Any]
DType = np.dtype[Any]
RANK = {"bool": 0, "signed": 1, "unsigned": 1, "real": 2, "complex": 3}


@pytest.fixture(autouse=True)
def fresh_plans() -> Iterator[None]:
    """Forget plans made under another limit."""
    yield
    launch_cache.clear()


def set_large(monkeypatch: pytest.MonkeyPatch, elements: int) -> None:
    """Set the size from which arrays have programs for their layout."""
    launch_cache.clear()
    monkeypatch.setattr(plans, "LARGE", elements)


def on(device: Device) -> list[DType]:
    return [dtype for dtype in ALL if dtype in device.dtypes]


def telling(dtype: DType) -> Numpy:
    """Return values of a dtype at which conversions may go wrong."""
    kind = kind_of(dtype)
    if kind == "bool":
        return np.array([True, False])
    if kind in ("signed", "unsigned"):
        limits = np.iinfo(dtype)
        powers = [2**bits + more for bits in range(limits.bits) for more in (-1, 0, 1)]
        halves = [2**bits + 2 ** (bits - 24) for bits in range(24, limits.bits)]
        halves += [2**n + 2 ** (n - 8) + low for n in range(9, limits.bits) for low in (0, 1)]
        every = [*powers, *halves, limits.min, limits.max, limits.min + 1, limits.max - 1]
        every += [-value for value in every]
        return np.array([value for value in every if limits.min <= value <= limits.max], dtype)
    near = [1 + 2.0**-bits + more for bits in range(7, 50) for more in (0, 2.0**-50, -(2.0**-51))]
    tiny = [m * 2.0**e for e in (-16, -24, -25, -26, -133, -126) for m in (1, 1.5, 1.0000001)]
    huge = [65504.0, 65519.0, 65520.0, 1e6, 3.4e38, 3.3961775e38, 3.40282357e38]
    plain = [0.0, 0.4, 0.5, 0.9, 1.5, 2.5, 100.7, 126.9]
    every_real = [*plain, *near, *tiny, *huge, np.inf, np.nan]
    with np.errstate(over="ignore"):
        values = np.array([*every_real, *(-value for value in every_real)])
        if kind != "complex":
            return values.astype(dtype)
        both = np.empty(values.shape, dtype)
        both.real, both.imag = values, values[::-1]
        return both


def expected(x: Numpy, dtype: DType) -> Numpy:
    """Return NumPy's conversion; to bfloat16 without an intermediate rounding to float32."""
    with np.errstate(all="ignore"):
        if dtype != bfloat16:
            return x.astype(dtype)
        if x.dtype.kind == "b" or x.dtype in (np.float32, np.float16):
            return x.astype(dtype)
        near = x.astype(np.float32)
        exact = x.astype(object)
        # Back towards zero where it was rounded away, and then odd.
        for i, (rounded, value) in enumerate(zip(near.tolist(), exact.tolist(), strict=True)):
            if np.isfinite(value) and (np.isinf(rounded) or rounded != value):
                if np.isinf(rounded) or abs(rounded) > abs(value):
                    near[i] = np.nextafter(near[i], np.float32(0))
                near[i : i + 1].view(np.uint32)[...] |= 1
        return near.astype(bfloat16)


@pytest.mark.parametrize("source", ALL, ids=str)
def test_every_pair(device: Device, source: DType) -> None:
    if source not in device.dtypes:
        pytest.skip(f"{device} has no {source}")
    x = telling(source)
    moved = from_numpy(x, device)
    for target in on(device):
        if RANK[kind_of(source)] == 3 and RANK[kind_of(target)] < 3 and target.kind != "b":
            continue
        got = to_numpy(copy.cast(moved, target))
        retained = np.ones(x.shape, bool)
        if RANK[kind_of(source)] == 2 and RANK[kind_of(target)] == 1:  # else NumPy does not say
            limits = np.iinfo(target)
            wide = x.astype(np.float64)
            retained = (np.trunc(wide) >= limits.min) & (wide < float(limits.max) + 1)
            retained &= np.isfinite(wide)
        want = expected(x, target)
        assert got.dtype == want.dtype
        wrong = retained & (got != want) & ((got == got) | (want == want))
        assert not wrong.any(), f"to {target}: {x[wrong][:3]} gave {got[wrong]}, not {want[wrong]}"


def test_out_of_range_is_no_accident(device: Device) -> None:
    """Conversions out of range give the same values in every layout."""
    x = from_numpy(np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -1.0, 300.0], "float32"), device)
    for dtype in on(device):
        if dtype.kind in "iu":
            result = to_numpy(copy.cast(x, dtype))
            assert result[-2] == np.array(-1).astype(dtype)


@pytest.mark.parametrize("large", [False, True])
def test_operands_are_rounded_before_the_operation(
    device: Device, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operands are rounded both when cast beforehand and when cast on reading."""
    set_large(monkeypatch, 1 if large else 1 << 15)
    for dtype in (np.dtype(np.float16), bfloat16):
        x = from_numpy(np.array([1, 1, 1], dtype), device)
        whole = np.array([2049, 4097, 257], "int32")
        got = to_numpy(arithmetic.subtract(from_numpy(whole, device), x))
        want = whole.astype(dtype).astype("float32") - 1
        np.testing.assert_array_equal(got, want.astype(dtype))
        got = to_numpy(arithmetic.subtract(x, 0.1))
        tenth = np.float32(dtype.type(0.1))
        np.testing.assert_array_equal(got, (np.float32(1) - tenth).astype(dtype))


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ("int8", "uint8", "int16"),
        ("int8", "uint32", "int64"),
        ("int64", "float32", "float32"),
        ("bool", "int16", "int16"),
        ("float16", "complex64", "complex64"),
        ("float16", "float32", "float32"),
        ("float16", "bfloat16", "float32"),
        ("int32", "complex64", "complex64"),
        ("float32", "float64", "float64"),
        ("float64", "complex64", "complex128"),
    ],
)
def test_promotion(
    device: Device,
    first: str,
    second: str,
    result: str,
    large: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_large(monkeypatch, 1 if large else 1 << 15)
    kinds = [bfloat16 if name == "bfloat16" else np.dtype(name) for name in (first, second, result)]
    if not set(kinds) <= device.dtypes:
        pytest.skip(f"{device} has not all of {first}, {second}, {result}")
    a, b = np.arange(40).astype(kinds[0]), (np.arange(40) % 7).astype(kinds[1])
    want = a.astype(kinds[2]) + b.astype(kinds[2])
    for x, y in ((a, b), (b, a)):
        got = to_numpy(arithmetic.add(from_numpy(x, device), from_numpy(y, device)))
        assert got.dtype == kinds[2]
        np.testing.assert_array_equal(got, want)
    got = comparison.less(from_numpy(a.real, device), from_numpy(b.real, device))
    np.testing.assert_array_equal(to_numpy(got), a.real < b.real)


def test_sixteen_bits_round_once(device: Device) -> None:
    rng = np.random.default_rng(3)
    for dtype in (np.dtype(np.float16), bfloat16):
        a, b = (rng.standard_normal(500).astype(dtype) for _ in range(2))
        x, y = from_numpy(a, device), from_numpy(b, device)
        wide = a.astype("float32"), b.astype("float32")
        for function, reference in (
            (arithmetic.add, np.add),
            (arithmetic.multiply, np.multiply),
            (arithmetic.divide, np.divide),
        ):
            np.testing.assert_array_equal(
                to_numpy(function(x, y)), reference(*wide).astype(dtype), reference.__name__
            )


def test_next_numbers_of_sixteen_bits(device: Device) -> None:
    for dtype, smallest in ((np.dtype(np.float16), 2.0**-24), (bfloat16, 2.0**-133)):
        above = 1 + float(ml_dtypes.finfo(dtype).eps)
        a = np.array([1, 1, 0, -0.0, 0, np.inf, float(ml_dtypes.finfo(dtype).max)], dtype)
        b = np.array([2, 0, 1, -1, 0, 0, np.inf], dtype)
        want = [above, 1 - (above - 1) / 2, smallest, -smallest, 0]
        got = to_numpy(arithmetic.nextafter(from_numpy(a, device), from_numpy(b, device)))
        assert got.astype("float64").tolist()[:5] == want
        assert got[5] == ml_dtypes.finfo(dtype).max
        assert np.isinf(got[6].astype("float32"))


@pytest.mark.skipif(not devices(), reason="no OpenCL device")
def test_devices_without_double_never_see_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program for a device without float64 contains double; the disk cache is off."""
    bare = Device(devices()[0].native, 90)
    bare.dtypes = frozenset(dtype for dtype in ALL if not cl_type(dtype).needs_double)
    build = bare.programs._build

    def refusing(text: str, name: str, flags: str) -> Any:
        plain = flags.replace("-DHAS_DOUBLE", "")
        return build("#define double no_double_on_this_device\n" + text, name, plain)

    monkeypatch.setattr(bare.programs, "_build", refusing)
    monkeypatch.setattr(bare.programs._disk, "load", lambda *args: None)
    monkeypatch.setattr(bare.programs._disk, "store", lambda *args: None)
    for name in ("bool", "int64", "float16", "float32", "complex64"):
        dtype = np.dtype(name)
        x = from_numpy(np.ones(3).astype(dtype), bare)
        copy.cast(x, np.dtype(np.float16))
        copy.cast(from_numpy(np.ones(3, np.int64), bare), dtype)
        comparison.where(comparison.equal(x, x), x, x)
        if dtype.kind != "b":
            arithmetic.multiply(x, 2)
            arithmetic.abs(arithmetic.sign(x))
        if dtype.kind not in "bc":
            arithmetic.remainder(arithmetic.floor_divide(x, x), x)
        if dtype.kind in "fc":
            arithmetic.divide(x, x)
    bare.finish()

"""Row-wise kernels of neural networks in any layout and dtype, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, log_softmax, ndtr, softmax

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray import neural
from portarray.clarray.array import Array
from portarray.clarray.dtypes import dtype_of
from portarray.clarray.engine.transfer import from_numpy, to_numpy

pytestmark = pytest.mark.drawn_devices(1)

Values = np.ndarray[Any, Any]

DTYPES = ["float32", "float64", "float16", "bfloat16"]
EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
SHAPES = [(7, 100), (3, 4, 33), (513,), (2, 5, 300, 3), (40, 1000), (1, 16), (6, 1), (9, 2000)]


def skip_without(device: Device, dtype: str) -> None:
    if dtype_of(dtype) not in device.dtypes:
        pytest.skip(f"{device} has no {dtype}")


def drawn(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, device: Device, size: float = 3.0
) -> tuple[Values, Array]:
    """Return numbers rounded to a dtype, in float64 and as an array of a random layout."""
    order = rng.permutation(len(shape)) if rng.random() < 0.3 else np.arange(len(shape))
    steps = [int(rng.choice([1, 1, 1, 2, -1])) for _ in shape]
    offset = int(rng.integers(0, 3)) if shape else 0
    # A larger array, of which the one that is meant is a view.
    whole = [0] * len(shape)
    for axis, position in enumerate(order):
        whole[position] = shape[axis] * abs(steps[axis]) + offset
    base = (rng.normal(size=whole) * size).astype(dtype_of(dtype))
    x = from_numpy(base, device)
    view = base.transpose(order) if shape else base
    x = x.view(view.shape, tuple(step // base.itemsize for step in view.strides), x.offset)
    key = tuple(
        slice(offset, offset + n * step, step)
        if step > 0
        else slice(offset + n - 1, offset - 1 if offset else None, step)
        for n, step in zip(shape, steps, strict=True)
    )
    result, x = view[key], x[key]
    assert result.shape == x.shape == shape
    return result.astype(np.float64), x


def check(got: Array, want: Values, bound: Values | float, dtype: str) -> None:
    """Compare within a bound plus the rounding to the dtype."""
    assert got.dtype == dtype_of(dtype)
    assert got.shape == want.shape
    assert got.contiguous
    values = to_numpy(got).astype(np.float64)
    tiny = {"float16": 2.0**-24, "bfloat16": 1e-38}.get(dtype, 1e-37)
    limit = bound + EPS[dtype] * np.abs(want) + tiny
    worst = np.abs(values - want) - limit
    assert (worst <= 0).all(), (values.ravel()[worst.argmax()], want.ravel()[worst.argmax()])


def computed(dtype: str) -> float:
    """Return the rounding unit of the dtype in which kernels compute."""
    return max(EPS["float64"], EPS["float32"] if dtype != "float64" else 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_along_any_axis(device: Device, dtype: str) -> None:
    skip_without(device, dtype)
    rng = np.random.default_rng(1)
    eps = computed(dtype)
    for shape in SHAPES:
        for axis in range(-len(shape), len(shape)):
            values, x = drawn(rng, shape, dtype, device, size=float(rng.choice([1, 20])))
            # An exponential is as wrong as its argument is large.
            scale = np.ptp(values, axis=axis, keepdims=True) + 8
            want = softmax(values, axis=axis)
            check(neural.softmax(x, axis=axis), want, eps * scale * want, dtype)
            want = log_softmax(values, axis=axis)
            check(neural.log_softmax(x, axis=axis), want, 4 * eps * scale, dtype)


def test_softmax_of_special_values(device: Device) -> None:
    inf, nan = np.inf, np.nan
    rows = [[-inf] * 20, [1.0] * 19 + [nan], [inf] + [0.0] * 19, [-inf] * 19 + [3.0]]
    rows += [[3e38] * 10 + [-3e38] * 10, [nan] * 20]
    values = np.array(rows, np.float32)
    want = [[nan] * 20, [nan] * 20, [nan] * 20, [0.0] * 19 + [1.0], [0.1] * 10 + [0.0] * 10]
    want += [[nan] * 20]
    for x, axis, expected in ((values, -1, np.array(want)), (values.T, 0, np.array(want).T)):
        held = from_numpy(np.ascontiguousarray(x), device)
        np.testing.assert_allclose(to_numpy(neural.softmax(held, axis=axis)), expected, 1e-6)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(expected)
        logs[expected == 0] = np.where(x[expected == 0] == -inf, -inf, -6e38)
        result = to_numpy(neural.log_softmax(held, axis=axis)).astype(np.float64)
        logs[logs < -3.5e38] = -inf  # float32 ends before
        np.testing.assert_allclose(result, logs, 1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms(device: Device, dtype: str) -> None:
    skip_without(device, dtype)
    rng = np.random.default_rng(2)
    eps = computed(dtype)
    for shape in SHAPES:
        values, x = drawn(rng, shape, dtype, device)
        weight, w = drawn(rng, shape[-1:], dtype, device)
        bias, b = drawn(rng, shape[-1:], dtype, device)
        plain = values / np.sqrt((values**2).mean(-1, keepdims=True) + 1e-6)
        check(neural.rms_norm(x), plain, 8 * eps * np.abs(plain), dtype)
        plain = values / np.sqrt((values**2).mean(-1, keepdims=True) + 0.5)
        want = plain * weight
        check(neural.rms_norm(x, w, eps=0.5), want, 8 * eps * np.abs(want), dtype)
        # The mean is as wrong as the elements are large.
        deviation = np.sqrt(values.var(-1, keepdims=True) + 1e-5)
        plain = (values - values.mean(-1, keepdims=True)) / deviation
        wrong = 8 * eps * (1 + (np.abs(values).max(-1, keepdims=True) + 1e-9) / deviation)
        check(neural.layer_norm(x), plain, wrong, dtype)
        check(neural.layer_norm(x, None, b), plain + bias, wrong + eps * np.abs(bias), dtype)
        wrong = wrong * np.abs(weight) + eps * np.abs(bias)
        check(neural.layer_norm(x, w, b), plain * weight + bias, wrong, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_activations(device: Device, dtype: str) -> None:
    skip_without(device, dtype)
    rng = np.random.default_rng(3)
    eps = computed(dtype)
    for shape, size in (((), 1.0), ((7, 100), 3.0), ((3, 5, 33), 10.0), ((20_001,), 2.0)):
        values, x = drawn(rng, shape, dtype, device, size)
        for got, want in (
            (neural.silu(x), values * expit(values)),
            (neural.relu(x), np.maximum(values, 0)),
        ):
            check(got, want, 8 * eps * np.abs(want), dtype)
        want = values * ndtr(values)
        # In float64 the argument of the driver's erfc is rounded, which counts in the tail.
        wrong = 8 * eps * np.abs(want) * (1 + values**2 * (dtype == "float64"))
        check(neural.gelu(x), want, wrong, dtype)
        slope = np.sqrt(8 / np.pi) * (values + 0.044715 * values**3)
        want = values * expit(slope)
        wrong = 4 * eps * np.abs(want) * (2 + np.abs(slope))
        check(neural.gelu(x, approximate="tanh"), want, wrong, dtype)


def test_activations_far_from_0(device: Device) -> None:
    sizes = np.logspace(-30, 38, 3001).astype(np.float32)
    values = np.concatenate([sizes, -sizes, [0.0, np.inf, np.nan]]).astype(np.float32)
    x, wide = from_numpy(values, device), values.astype(np.float64)
    for function, want in (
        (neural.silu, wide * expit(wide)),
        (neural.gelu, wide * ndtr(wide)),
        (neural.relu, np.where(wide < 0, 0, wide)),
        (lambda a: neural.gelu(a, approximate="tanh"), None),
    ):
        got = to_numpy(function(x)).astype(np.float64)
        assert np.isnan(got[-1])
        assert got[-2] == np.inf
        assert got[-3] == 0
        if want is not None:
            np.testing.assert_allclose(got[:-3], want[:-3], rtol=8 * 2.0**-23, atol=4e-37)
        else:
            assert (got[: sizes.size] >= sizes * 0.5).all()
            assert (np.abs(got[sizes.size : -3]) <= 0.2).all()


def turned(values: Values, cos: Values, sin: Values, interleaved: bool) -> Values:
    half = cos.shape[-1]
    result = values.copy()
    first, second = (
        (np.s_[..., 0 : 2 * half : 2], np.s_[..., 1 : 2 * half : 2])
        if interleaved
        else (np.s_[..., :half], np.s_[..., half : 2 * half])
    )
    a, b = values[first], values[second]
    result[first], result[second] = a * cos - b * sin, b * cos + a * sin
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("interleaved", [False, True])
def test_rope(device: Device, dtype: str, interleaved: bool) -> None:
    skip_without(device, dtype)
    rng = np.random.default_rng(4)
    for shape, half, lead in (
        ((9, 17, 64), 32, ()),
        ((9, 1, 64), 20, ()),
        ((2, 3, 11, 36), 18, (2, 1)),
        ((5, 8), 3, ()),
        ((2, 1, 3, 2, 5, 34), 16, (3, 2)),
        ((1, 1), 0, ()),
    ):
        for _ in range(2):
            values, x = drawn(rng, shape, dtype, device)
            cos, c = drawn(rng, (*lead, shape[-2], half), dtype, device, 0.5)
            sin, s = drawn(rng, (*lead, shape[-2], half), dtype, device, 0.5)
            want = turned(values, cos, sin, interleaved)
            size = np.abs(turned(np.abs(values), np.abs(cos), -np.abs(sin), interleaved))
            size += turned(np.abs(values), np.abs(cos), np.abs(sin), interleaved)
            got = neural.rope(x, tables=(c, s), interleaved=interleaved)
            check(got, want, 2 * computed(dtype) * np.abs(size), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_rope_at_positions(device: Device, dtype: str) -> None:
    skip_without(device, dtype)
    rng = np.random.default_rng(5)
    for shape, places in (
        ((3, 40, 64), None),
        ((3, 40, 64), rng.integers(0, 8000, (40,))),
        ((2, 3, 7, 10), rng.integers(-5, 300, (2, 1, 7)).astype(np.int32)),
        ((4, 6), np.array(3, np.uint8)),
    ):
        values, x = drawn(rng, shape, dtype, device)
        reference_positions = np.arange(shape[-2]) if places is None else places
        angles = reference_positions[..., None] * 1e5 ** (
            -2 * np.arange(shape[-1] // 2) / shape[-1]
        )
        positions = None if places is None else from_numpy(places, device)
        want = turned(values, np.cos(angles), np.sin(angles), False)
        # The angles of the reference are rounded too, where they are large.
        wrong = 48 * computed(dtype) + 8 * EPS["float64"] * np.abs(angles).max()
        check(neural.rope(x, positions, theta=1e5), want, wrong, dtype)
        if positions is not None:
            cos, sin = neural.rope_tables(positions, shape[-1], theta=1e5, dtype=dtype)
            check(cos, np.cos(angles), 2 * EPS["float32"], dtype)
            check(sin, np.sin(angles), 2 * EPS["float32"], dtype)


def test_angles_are_exact_without_float64(device: Device) -> None:
    narrow = Device(device.native, device.index)
    narrow.dtypes = frozenset(
        dtype for dtype in device.dtypes if dtype.itemsize < 8 or dtype.kind in "iu"
    )
    places = np.array([0, 1, 4095, 131_071, 10**6, -77, 2**31 - 1])
    cos, sin = neural.rope_tables(from_numpy(places, narrow), 16)
    angles = places[:, None] * 10000.0 ** (-np.arange(8) / 8)
    check(cos, np.cos(angles), 6e-7, "float32")
    check(sin, np.sin(angles), 6e-7, "float32")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_cross_entropy(device: Device, dtype: str) -> None:
    skip_without(device, dtype)
    rng = np.random.default_rng(6)
    cross_entropy: Any = neural.cross_entropy
    for shape, kind in (
        ((50, 33), "int64"),
        ((3, 4, 700), "uint8"),
        ((5,), "int32"),
        ((0, 4), "i4"),
    ):
        values, x = drawn(rng, shape, dtype, device)
        due = np.asarray(rng.integers(0, min(shape[-1], 200), shape[:-1]), kind)
        ignored = 1 if kind != "int32" else -100
        for smoothing in (0.0, 0.2):
            logs = log_softmax(values, axis=-1)
            losses = -np.take_along_axis(logs, due[..., None].astype(int), -1)[..., 0]
            losses = (1 - smoothing) * losses - smoothing * logs.mean(-1)
            losses = np.where(due == ignored, 0.0, losses)
            retained = int((due != ignored).sum())
            targets = from_numpy(due, device)
            for reduction, want in (
                ("none", losses),
                ("sum", losses.sum()),
                ("mean", losses.sum() / retained if retained else np.nan),
            ):
                got = cross_entropy(
                    x, targets, reduction=reduction, ignore_index=ignored, label_smoothing=smoothing
                )
                if np.isnan(want).any():
                    assert np.isnan(to_numpy(got))
                    continue
                wrong = 64 * computed(dtype) * (1 + losses.sum() * (reduction == "sum"))
                check(got, np.asarray(want), wrong, dtype)


def test_cross_entropy_of_ignored_targets_alone(device: Device) -> None:
    logits = from_numpy(np.ones((2, 3), np.float32), device)
    targets = from_numpy(np.array([-100, -100]), device)
    assert np.isnan(to_numpy(neural.cross_entropy(logits, targets)))
    assert to_numpy(neural.cross_entropy(logits, targets, reduction="sum")) == 0
    nothing = logits[:, :0]
    assert to_numpy(neural.cross_entropy(nothing, targets, reduction="none")).tolist() == [0, 0]


def test_embedding(device: Device) -> None:
    rng = np.random.default_rng(7)
    kinds = ("float32", "bfloat16", "int8", "float64", "complex128")
    for dtype in filter(lambda name: dtype_of(name) in device.dtypes, kinds):
        table = rng.normal(size=(50, 74)).astype(dtype_of(dtype))
        weight = from_numpy(table, device)
        for indices in (
            rng.integers(0, 25, (3, 40)),
            np.array(7, np.uint8),
            rng.integers(0, 24, (900,)).astype(np.int32)[::3],
            np.zeros((0, 2), np.int64),
        ):
            places = from_numpy(indices, device)
            for key in (np.s_[:, :], np.s_[5:45, 1:70:2], np.s_[::-2, 3:]):
                got = neural.embedding(places, weight[key])
                np.testing.assert_array_equal(to_numpy(got), table[key][indices])


def test_calls_of_equal_layouts_at_other_offsets(device: Device) -> None:
    # A call that is known is launched with the places of these arrays, not those of the first.
    rng = np.random.default_rng(8)
    values = rng.normal(size=(6, 5, 32)).astype(np.float32)
    weights = rng.normal(size=(6, 32)).astype(np.float32)
    x, w = from_numpy(values, device), from_numpy(weights, device)
    for row in (0, 3, 1, 5):
        x_row = x[row]
        wide = values[row].astype(np.float64)
        np.testing.assert_allclose(to_numpy(neural.softmax(x_row)), softmax(wide, -1), 1e-5)
        norm = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * weights[row]
        np.testing.assert_allclose(to_numpy(neural.rms_norm(x_row, w[row])), norm, 1e-4, 1e-6)
        tables = w[row : row + 1, :16], w[row : row + 1, 16:]
        want = turned(wide, weights[row, :16], weights[row, 16:], False)
        np.testing.assert_allclose(to_numpy(neural.rope(x_row, tables=tables)), want, 1e-4, 1e-5)


def test_arrays_without_elements(device: Device) -> None:
    for shape in ((0, 4), (3, 0), (2, 0, 4)):
        x = from_numpy(np.ones(shape, np.float32), device)
        for got in (
            neural.softmax(x, axis=0),
            neural.log_softmax(x),
            neural.rms_norm(x),
            neural.layer_norm(x, x.view(shape[-1:], (1,), 0)),
            neural.silu(x),
            neural.rope(x),
        ):
            assert got.shape == shape


def refusals(device: Device) -> Any:
    """Yield invalid calls with their errors and messages."""
    anything: Any = neural
    x = from_numpy(np.ones((2, 3, 8), np.float32), device)
    whole = from_numpy(np.ones((2, 3, 8), np.int32), device)
    half = from_numpy(np.ones(8, np.float16), device)
    w = from_numpy(np.ones(8, np.float32), device)
    on_second_device = from_numpy(np.ones(8, np.float32), Device(device.native, device.index))
    table = x[0, :, :4]
    yield lambda: neural.softmax(whole), TypeError, "real floating-point"
    yield lambda: anything.softmax(np.ones(3)), TypeError, "clarray array"
    yield lambda: neural.softmax(x, axis=3), IndexError, "axis 3"
    yield lambda: neural.rms_norm(x[0, 0, 0]), ValueError, "0-d"
    yield lambda: neural.rms_norm(x, half), TypeError, "float16 and x has float32"
    yield lambda: neural.rms_norm(x, w[:7]), ValueError, r"weight of shape \(8,\)"
    yield lambda: neural.layer_norm(x, w, w[:1]), ValueError, r"bias of shape \(8,\)"
    yield lambda: neural.rms_norm(x, on_second_device), ValueError, "to_device"
    yield lambda: neural.silu(whole), TypeError, "real floating-point"
    yield lambda: anything.gelu(x, approximate="erf"), ValueError, "'none' or 'tanh'"
    yield lambda: neural.rope(w), ValueError, "length, dim"
    yield lambda: neural.rope(x[..., :7]), ValueError, "odd"
    yield lambda: neural.rope(x, whole[:, :, 0], tables=(table, table)), ValueError, "both"
    yield lambda: neural.rope(x, w), TypeError, "integer"
    yield lambda: neural.rope(x, whole[0, 0]), ValueError, r"\(2, 3\).*got \(8,\)"
    yield lambda: neural.rope(x, tables=(table, table[:, :3])), ValueError, "as many cosines"
    yield lambda: neural.rope(x, tables=(x, x)), ValueError, "16 features"
    yield lambda: neural.rope(x, tables=(table[:2], table[:2])), ValueError, "cosines to broadcast"
    yield lambda: neural.rope_tables(whole, 7), ValueError, "pairs"
    yield lambda: neural.cross_entropy(x, whole[0]), ValueError, r"targets of shape \(2, 3\)"
    yield lambda: neural.cross_entropy(x, whole[..., 0] * 8), IndexError, "target 8"
    yield lambda: neural.cross_entropy(x, whole[..., 0] * -1), IndexError, "target -1"
    yield lambda: neural.cross_entropy(x, x[..., 0]), TypeError, "integer"
    yield lambda: anything.cross_entropy(x, whole[..., 0], reduction="max"), ValueError, "'max'"
    yield lambda: neural.cross_entropy(x, whole[..., 0], label_smoothing=2), ValueError, "0 to 1"
    yield lambda: neural.embedding(whole, x), ValueError, "rows, dim"
    yield lambda: neural.embedding(whole * 3, x[0]), IndexError, "index 3 is out of bounds"
    yield lambda: neural.embedding(whole * -1, x[0]), IndexError, "index -1 is out of bounds"


def test_refusals(device: Device) -> None:
    for call, error, message in refusals(device):
        with pytest.raises(error, match=message):
            call()


def test_a_whole_processor_computes(device: Device) -> None:
    # Rows enough that every work-item has its share, and one with less.
    rng = np.random.default_rng(9)
    values = rng.normal(size=(611, 576)).astype(np.float32)
    x = from_numpy(values, device)
    wide = values.astype(np.float64)
    check(neural.softmax(x), softmax(wide, -1), 1e-6 * softmax(wide, -1), "float32")
    across = softmax(wide, 0)
    check(neural.softmax(x, axis=0), across, 2e-6 * across, "float32")
    norm = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6)
    check(neural.rms_norm(x), norm, 1e-6 * np.abs(norm), "float32")
    assert devices()

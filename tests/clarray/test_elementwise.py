"""Layouts, overlap and outputs of elementwise operations; the suite tests their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from portarray._opencl.device import Device
from portarray._opencl.registry import devices
from portarray.clarray import arithmetic, comparison
from portarray.clarray.array import Array
from portarray.clarray.creation import asarray
from portarray.clarray.engine import elementwise, launch_cache, plans
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.manipulation import broadcast_to

pytestmark = pytest.mark.drawn_devices(1)

Numpy = np.ndarray[Any, Any]

_DRAWN = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def fresh_plans() -> Iterator[None]:
    """Forget plans made under another limit."""
    yield
    launch_cache.clear()


def set_large(monkeypatch: pytest.MonkeyPatch, elements: int) -> None:
    """Set the size from which arrays have programs for their layout."""
    launch_cache.clear()
    monkeypatch.setattr(plans, "LARGE", elements)


def placed(view: Numpy, device: Device) -> Array:
    """Return a device's array with the layout of a NumPy view."""
    whole = view
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    moved = from_numpy(np.ravel(whole, "K"), device)
    start = (view.ctypes.data - whole.ctypes.data) // view.itemsize
    steps = tuple(step // view.itemsize for step in view.strides)
    return moved.view(view.shape, steps, start)


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Numpy:
    """Return a new array of small whole numbers, exact in every dtype."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2 if dtype == "bool" else 12, shape).astype(dtype)


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...], dtype: str) -> Numpy:
    """Draw an array that broadcasts to a shape: steps of any sign, axes in any order."""
    retained = draw(st.integers(0, len(shape)))
    sizes = [1 if draw(st.integers(0, 4)) == 0 else size for size in shape[len(shape) - retained :]]
    order = draw(st.permutations(range(retained)))
    steps = [draw(st.sampled_from([1, 1, 2, -1, -2])) for _ in sizes]
    starts = [draw(st.integers(0, 2)) for _ in sizes]
    whole = [
        size * abs(step) + start for size, step, start in zip(sizes, steps, starts, strict=True)
    ]
    base = values(dtype, tuple(whole[axis] for axis in order), draw(st.integers(0, 9)))
    view = base.transpose(np.argsort(order).astype(int)) if retained else base
    for axis, (size, step, start) in enumerate(zip(sizes, steps, starts, strict=True)):
        cut: list[Any] = [slice(None)] * retained
        for part in (slice(start, None), slice(None, None, step), slice(0, size)):
            cut[axis] = part
            view = view[tuple(cut)]
    return view


def shapes() -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, 5), max_size=5).map(tuple)


@_DRAWN
@given(data=st.data())
def test_any_layout(device: Device, data: st.DataObject) -> None:
    shape = data.draw(shapes())
    a, b = data.draw(views(shape, "int32")), data.draw(views(shape, "int32"))
    got = arithmetic.subtract(placed(a, device), placed(b, device))
    want = np.subtract(a, b)
    assert got.contiguous
    assert got.shape == want.shape
    np.testing.assert_array_equal(to_numpy(got), want)
    device.pool.check()


@_DRAWN
@given(data=st.data())
def test_any_layout_of_three(device: Device, data: st.DataObject) -> None:
    shape = data.draw(shapes())
    chosen = data.draw(views(shape, "bool"))
    a, b = data.draw(views(shape, "float32")), data.draw(views(shape, "int16"))
    got = comparison.where(placed(chosen, device), placed(a, device), placed(b, device))
    want = np.where(chosen, a, b.astype("float32"))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(to_numpy(got), want)


@_DRAWN
@given(data=st.data())
def test_scalars_of_any_layout(device: Device, data: st.DataObject) -> None:
    a = data.draw(views(data.draw(shapes()), "float32"))
    x = placed(a, device)
    np.testing.assert_array_equal(to_numpy(arithmetic.subtract(x, 3)), a - 3)
    np.testing.assert_array_equal(to_numpy(arithmetic.subtract(0.5, x)), np.float32(0.5) - a)
    np.testing.assert_array_equal(to_numpy(comparison.clip(x, 2, 5.0)), np.clip(a, 2, 5))


_UNCHANGED: Callable[[Numpy], Numpy] = lambda x: x  # noqa: E731
_LARGE_LAYOUTS: dict[str, tuple[tuple[int, ...], Callable[[Numpy], Numpy], Callable[..., Any]]] = {
    "row": ((40, 50), _UNCHANGED, lambda x: x[0]),
    "column": ((40, 50), _UNCHANGED, lambda x: x[:, :1]),
    "one": ((40, 50), _UNCHANGED, lambda x: x[3, 4]),
    "transposed": ((45, 45), lambda x: x.T, _UNCHANGED),
    "both transposed": ((45, 50), lambda x: x.T, lambda x: x.T),
    "backwards": ((40, 50), lambda x: x[::-1, ::-1], _UNCHANGED),
    "strided": ((40, 100), lambda x: x[:, ::2], lambda x: x[:, 1::2]),
    "three axes": ((33, 5, 40), lambda x: x.transpose(1, 2, 0), lambda x: x.transpose(1, 2, 0)[:1]),
    "middle": ((5, 7, 40), _UNCHANGED, lambda x: x[:, :1]),
    "four axes": ((3, 4, 5, 40), lambda x: x.transpose(2, 0, 1, 3), lambda x: x[0, 0, 0]),
    "five axes": (
        (3, 4, 2, 5, 40),
        lambda x: x.transpose(3, 1, 0, 2, 4)[:, ::2],
        lambda x: x.transpose(3, 1, 0, 2, 4)[:, 1::2, ::-1],
    ),
    "thin": ((900, 3), _UNCHANGED, lambda x: x[0]),
    "thin and long": ((3, 300, 2), _UNCHANGED, lambda x: x[:, :1]),
}


@pytest.mark.parametrize("layout", _LARGE_LAYOUTS)
def test_large_arrays_have_programs_for_their_layout(
    device: Device, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_large(monkeypatch, 1)
    shape, first, second = _LARGE_LAYOUTS[layout]
    a = first(values("float32", shape))
    b = np.asarray(second(values("int8", shape, 1)))
    want = a - b.astype("float32")
    x, y = placed(a, device), placed(b, device)
    np.testing.assert_array_equal(to_numpy(arithmetic.subtract(x, y)), want)
    device.pool.check()


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "bool"])
def test_large_arrays_with_scalars(
    device: Device, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_large(monkeypatch, 1)
    a = values(dtype, (70,))
    x = placed(a, device)
    scalar = True if dtype == "bool" else 2
    np.testing.assert_array_equal(to_numpy(comparison.equal(x, scalar)), a == scalar)
    np.testing.assert_array_equal(
        to_numpy(comparison.where(placed(a == scalar, device), x, scalar)),
        np.where(a == scalar, a, np.asarray(scalar, dtype)),
    )
    if dtype == "float32":
        np.testing.assert_array_equal(to_numpy(arithmetic.multiply(x, 2j)), a * np.complex64(2j))


def test_rank_of_thirty_three(device: Device) -> None:
    a = values("int16", (2,) * 6 + (1,) * 20 + (2,) * 6)
    x = placed(a, device)
    turned = x.view((*a.shape[::-1], 1), (*x.strides[::-1], 1), 0)
    got = arithmetic.add(turned, turned)
    assert got.ndim == 33
    np.testing.assert_array_equal(to_numpy(got).ravel(), (a.T + a.T).ravel())


def test_empty_and_zero_dimensional(device: Device) -> None:
    empty = placed(np.zeros((3, 0), "float32"), device)
    assert arithmetic.add(empty, empty).shape == (3, 0)
    assert arithmetic.negative(empty).shape == (3, 0)
    assert arithmetic.add(empty, 1.5).shape == (3, 0)
    assert arithmetic.add(empty, placed(np.ones((4, 3, 1), "int8"), device)).shape == (4, 3, 0)
    point = placed(np.asarray(2.5), device)
    assert to_numpy(arithmetic.add(point, point)).tolist() == 5.0
    assert arithmetic.add(point, 1).shape == ()
    with pytest.raises(ValueError, match=r"\(3, 0\), \(3, 2\)"):
        arithmetic.add(empty, placed(np.zeros((3, 2), "float32"), device))


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    ("target", "source"),
    [
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[:], np.s_[::-1]),
        (np.s_[::2], np.s_[:60]),
        (np.s_[60:], np.s_[:60]),
        (np.s_[:], np.s_[:1]),
        (np.s_[:], np.s_[:]),
    ],
)
def test_overlap(
    device: Device, target: slice, source: slice, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_large(monkeypatch, 1 if large else 1 << 15)
    a = np.arange(120, dtype="int32")
    x = from_numpy(a, device)
    expected = a.copy()
    expected[target] += expected[source].copy()
    view = x[target]
    view += x[source]
    np.testing.assert_array_equal(to_numpy(x), expected)


def test_overlap_of_memory_that_was_borrowed_twice() -> None:
    a = np.arange(100_000.0)
    expected = a + a[::-1]
    x = asarray(a, copy=False)
    x += asarray(a[::-1], copy=False)
    np.testing.assert_array_equal(a, expected)


def test_layouts_suit_devices_that_are_no_processors() -> None:
    gpu = Device(devices()[0].native, 77, discrete=True)
    gpu.kind = "gpu"
    x = from_numpy(np.arange(1 << 17, dtype="float32"), gpu)
    np.testing.assert_array_equal(to_numpy(x[::2] + x[1::2]), np.arange(1, 1 << 18, 4))


def test_broadcast_arrays_are_not_written_in_place(device: Device) -> None:
    x = from_numpy(np.arange(3), device)
    repeated = broadcast_to(x, (4, 3))
    with pytest.raises(ValueError, match="share memory, as"):
        repeated += 1
    with pytest.raises(ValueError, match="share memory, as"):
        repeated[:, ::2] = from_numpy(np.zeros((4, 2), int), device)
    repeated[1] = from_numpy(np.array([5, 6, 7]), device)
    repeated[:, 0] = 9
    np.testing.assert_array_equal(to_numpy(x), [9, 6, 7])
    nothing = from_numpy(np.ones((2, 0), int), device)
    nothing += 1
    nothing[:] = nothing + 1
    assert nothing.shape == (2, 0)


def test_output_of_another_order_and_dtype(device: Device) -> None:
    a = values("float64", (7, 40)) if _has_double(device) else values("float32", (7, 40))
    x = placed(a, device)
    out = placed(np.zeros((40, 7), "int16").T, device)
    result = elementwise.binary(arithmetic.ADD, x, x, out)
    assert result is out
    np.testing.assert_array_equal(to_numpy(out), (a + a).astype("int16"))
    with pytest.raises(ValueError, match=r"\(7, 40\) do not fit .* \(40,\)"):
        elementwise.binary(arithmetic.ADD, x, x, out[0])
    with pytest.raises(ValueError, match="do not fit"):
        elementwise.binary(arithmetic.ADD, x, x, out[:1])


def test_in_place_operators_keep_the_array(device: Device) -> None:
    a = values("int8", (4, 5))
    x = placed(a, device)
    name = x
    x += placed(values("int64", (5,), 3), device)
    x *= 2
    assert x is name
    assert x.dtype == np.int8
    np.testing.assert_array_equal(to_numpy(x), (a + values("int64", (5,), 3)) * 2)
    with pytest.raises(TypeError, match="dtype float32, x has dtype int8"):
        x += placed(np.ones(5, "float32"), device)
    with pytest.raises(ValueError, match=r"\(3, 4, 5\)"):
        x += placed(np.ones((3, 1, 1), "int8"), device)


def test_through_a_view(device: Device) -> None:
    a = values("float32", (6, 8))
    x = placed(a, device)
    x[::2, 1] *= 3.0
    a[::2, 1] *= 3
    rows = x.T
    rows -= 1
    np.testing.assert_array_equal(to_numpy(x), a - 1)


def test_two_devices(device: Device) -> None:
    second = Device(device.native, 77)
    x = placed(np.ones(3, "float32"), device)
    with pytest.raises(ValueError, match=r"(?s)two devices.*to_device"):
        arithmetic.add(x, from_numpy(np.ones(3, "float32"), second))


def test_few_programs_serve_small_arrays(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layouts, scalars and other dtypes of small arrays build nothing new."""
    x = placed(values("int32", (4, 6)), device)
    small = placed(values("int16", (6,)), device)
    arithmetic.add(x, x)
    elementwise.apply(elementwise._CAST, (small,), x.dtype, x.dtype)

    def refuse(*arguments: object) -> None:
        raise AssertionError(f"built a program for {arguments}")

    monkeypatch.setattr(device, "kernel", refuse)
    for a, b in ((x, small), (x.T, x.T), (x[0], 5), (3, x[::-1]), (x[:, :1], x[1:2])):
        arithmetic.add(a, b)


def _has_double(device: Device) -> bool:
    return np.dtype(np.float64) in device.dtypes

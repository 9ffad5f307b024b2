"""Where memory is shared and where it is not: ``copy=None``, ``True`` and ``False`` on all pairs.

Addresses in host memory show whether arrays of any two libraries share memory. Writable shared
memory is written on one side and read on the other.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import portarray as pa

special = pytest.importorskip("scipy.special")

DEVICES = [str(device) for device in pa.devices()]
LIBRARY = {text: text.partition(":")[0] for text in DEVICES}


def on_host(device: str) -> bool:
    """Return whether a device's memory is host memory."""
    pa_device = pa.device(device)
    return pa_device._backend.on_host(pa_device.native)


WRITABLE = [
    text for text in DEVICES if LIBRARY[text] in ("numpy", "torch", "clarray") and on_host(text)
]
"""Host devices whose arrays can be the same memory, written by each."""
CONSTANT = [text for text in DEVICES if LIBRARY[text] in ("jax", "mlx") and on_host(text)]
"""Host devices whose arrays never change."""

SHARING = list(itertools.permutations(WRITABLE, 2))
PAIRS = list(itertools.permutations(DEVICES, 2))


def memory(x: pa.Array) -> np.ndarray[Any, Any]:
    """Return NumPy's view of an array's own memory."""
    view: np.ndarray[Any, Any] = x.device._backend.to_host(x.native, copy=False)
    return view


def address(x: pa.Array) -> int:
    """Return the address of an array's first element."""
    pointer: int = memory(x).__array_interface__["data"][0]
    return pointer


def shared(x: pa.Array, y: pa.Array) -> bool:
    """Return whether two arrays share memory."""
    if not (on_host(str(x.device)) and on_host(str(y.device))):
        return False
    return np.shares_memory(memory(x), memory(y))


def matrix(device: str, dtype: str = "float32") -> pa.Array:
    """Return a matrix of the numbers 0 to 47, in the device's own memory."""
    values = np.arange(48).reshape(6, 8).astype(np.dtype(getattr(pa, dtype)))
    return pa.asarray(values, device=device, copy=True)


LAYOUTS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "matrix": lambda x: x,
    "offset": lambda x: x[2:5, 3:],
    "strided": lambda x: x[::2, 1::3],
    "transposed": lambda x: x.T,
    "reversed": lambda x: pa.flip(x),
    "one row": lambda x: x[4, :],
    "0-d": lambda x: x[3, 5],
}


def as_numpy(x: pa.Array) -> Any:
    """Return a copy of an array's current values."""
    return np.array(x.device._backend.to_host(x.native, copy=True))


# --- sharing, by writing ----------------------------------------------------------------------


@pytest.mark.parametrize(("source", "target"), SHARING)
def test_writes_are_seen_on_both_sides(source: str, target: str) -> None:
    for layout, view in LAYOUTS.items():
        if layout == "reversed" and "torch" in (LIBRARY[source], LIBRARY[target]):
            continue  # tensors have no negative strides
        base = matrix(source)
        x = view(base)
        y = x.to_device(target)
        assert pa.transfer_plan(x, target).copies == 0, layout
        assert (address(y), memory(y).strides) == (address(x), memory(x).strides), layout
        index = tuple(size - 1 for size in x.shape)
        previous = as_numpy(base)
        y[index] = -7.0
        assert float(x[index]) == -7.0, layout
        # Nothing but that one element of the whole was written.
        after = as_numpy(base)
        assert int((after != previous).sum()) == 1, layout
        x[index] = 90.0
        assert float(y[index]) == 90.0, layout
        y[...] = pa.asarray(5.0, dtype=pa.float32, device=target)
        assert (as_numpy(x) == 5.0).all(), layout
        assert int((as_numpy(base) == 5.0).sum()) >= x.size, layout
        x += 1
        assert (as_numpy(y) == 6.0).all(), layout


@pytest.mark.parametrize(("source", "target"), SHARING)
def test_memory_of_every_dtype_is_shared(source: str, target: str) -> None:
    names = ["bool", "int8", "uint16", "int64", "float16", "float64", "complex64", "complex128"]
    names += [] if "numpy" in (LIBRARY[source], LIBRARY[target]) else ["bfloat16"]
    for name in names:
        x = matrix(source, name)
        for y in (x.to_device(target), pa.asarray(x, device=target)):
            assert (y.dtype, str(y.device)) == (x.dtype, target)
            assert shared(x, y), name
        y = pa.from_dlpack(x, device=target, copy=False)
        assert as_numpy(y)[0, 0] == 0, name
        x[0, 0] = True
        assert as_numpy(y)[0, 0] == 1, name
        assert bool(np.asarray(as_numpy(y) == as_numpy(x)).all())


@pytest.mark.parametrize(("source", "target"), SHARING)
def test_a_view_keeps_the_memory_alive(source: str, target: str) -> None:
    y = matrix(source)[3:, ::2].to_device(target)
    fillers = [matrix(source) for _ in range(4)]  # what was freed would be used again
    expected = np.arange(48, dtype=np.float32).reshape(6, 8)[3:, ::2]
    np.testing.assert_array_equal(as_numpy(y), expected)
    del fillers


@pytest.mark.parametrize("target", [t for t in WRITABLE if LIBRARY[t] != "numpy"])
def test_numpy_arrays_of_the_user_are_shared(target: str) -> None:
    """A round trip shares the memory of a user's NumPy array."""
    a = np.zeros((3, 4))
    x = pa.asarray(a[1:, ::2], device=target)
    back = np.asarray(x)
    assert back.strides == a[1:, ::2].strides
    x[0, 1] = 1.0
    assert a[1, 2] == 1.0 == back[0, 1]
    a[2, 0] = 2.0
    assert float(x[1, 0]) == 2.0 == back[1, 0]
    back[1, 1] = 3.0
    assert a[2, 2] == 3.0 == float(x[1, 1])


# --- memory that never changes ----------------------------------------------------------------


@pytest.mark.parametrize("source", CONSTANT)
def test_memory_that_never_changes_is_shared_until_it_is_written(source: str) -> None:
    for name in ("bool", "int32", "float16", "float32", "complex64"):
        x = matrix(source, name)
        y = x.to_device("numpy")
        assert pa.transfer_plan(x, "numpy").copies == 0
        assert address(y) == address(x), name
        assert not y.native.flags.writeable
        initial = as_numpy(x)
        view = y[1:, :]
        y[0, 0] = True
        assert not shared(x, y), name
        assert bool(y[0, 0])
        assert not bool(x[0, 0])
        np.testing.assert_array_equal(as_numpy(x), initial)
        np.testing.assert_array_equal(as_numpy(view), initial[1:])
        # From then on it is memory of its own, like any other of NumPy's.
        pointer = address(y)
        y[1, 1] = False
        assert address(y) == pointer
        z = x.to_device("numpy")
        if name == "bool":
            z ^= z
        else:
            z -= z
        np.testing.assert_array_equal(as_numpy(x), initial)


@pytest.mark.parametrize("source", CONSTANT)
@pytest.mark.parametrize("target", [text for text in WRITABLE if LIBRARY[text] != "numpy"])
def test_memory_that_never_changes_is_copied_where_it_could_be_written(
    source: str, target: str
) -> None:
    x = matrix(source)
    y = x.to_device(target)
    assert pa.transfer_plan(x, target).copies == 1
    y[...] = pa.asarray(0.0, dtype=pa.float32, device=target)
    np.testing.assert_array_equal(as_numpy(x), np.arange(48).reshape(6, 8))
    with pytest.raises(ValueError, match=r"(?s)copy=False, but .*read-only.*copy=None"):
        x.to_device(target, copy=False)


def test_read_only_memory_of_the_user() -> None:
    a = np.arange(4.0)
    a.flags.writeable = False
    for target in WRITABLE:
        x = pa.asarray(a, device=target)
        assert shared(pa.asarray(a, device="numpy"), x) is (LIBRARY[target] == "numpy")
        x[0] = 9.0
        assert (float(x[0]), a[0]) == (9.0, 0.0), target
        assert pa.asarray(a, device=target, copy=True).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("target", [text for text in DEVICES if LIBRARY[text] == "clarray"])
def test_arrays_made_for_a_device_are_not_marked_as_shared(target: str) -> None:
    """Only memory visible to others is marked, since calls on marked memory wait for kernels."""

    def marked(x: pa.Array) -> bool:
        return bool(x.native.storage.shared)

    if not pa.device(target).native.host_memory:
        pytest.skip(f"{target} has its own memory, which others never see")
    a = np.arange(6.0)
    x = pa.asarray(a, device=target)
    assert marked(x)
    arrays: dict[str, pa.Array] = {
        "converted": pa.asarray(a, dtype="float32", device=target),
        "converted and copied": pa.asarray(a, dtype="float32", device=target, copy=True),
        "converted from there": pa.astype(pa.asarray(a, device="numpy"), "int32", device=target),
        "of another byte order": pa.asarray(a.astype(">f8"), device=target),
        "of a list": pa.asarray([1.0, 2.0], device=target),
    }
    if "torch:cpu:0" in DEVICES:
        conjugated = pa.asarray(pa.namespace("torch").asarray([1j, 2j]).conj(), device=target)
        assert conjugated.tolist() == [-1j, -2j]
        arrays["resolved"] = conjugated
    # Whoever reads on the spot keeps nothing.
    y = arrays["copied"] = pa.asarray(a, device=target, copy=True)
    arrays["of a ufunc"] = special._ufuncs.erf(y)
    repr(y), y.tolist(), y[0].item(), float(y[0]), np.asarray(y, dtype=np.float32)
    for name, array in arrays.items():
        assert not marked(array), name
    # Who is handed the memory does, as long as that is there, in parts and by other libraries too.
    view = np.asarray(y)
    part = view[1:].reshape(-1, 1)
    del view
    assert marked(y)
    exported = y[2:].to_device("torch" if "torch:cpu:0" in DEVICES else "numpy").native
    del part
    assert marked(y)
    del exported
    assert not marked(y)
    buffers: list[pickle.PickleBuffer] = []
    pickle.dumps(y, 5, buffer_callback=buffers.append)
    assert marked(y)
    buffers.clear()
    pickle.dumps(y, 5)
    assert not marked(y)


# --- sharing with JAX, on request -----------------------------------------------------------------


def aligned(count: int, dtype: Any, off: int = 0) -> np.ndarray[Any, Any]:
    """Return the numbers from 0 up, at an address divisible by 64, plus `off` bytes."""
    dtype = np.dtype(dtype)
    block = np.zeros(count * dtype.itemsize + 128, dtype=np.uint8)
    start = -block.ctypes.data % 64 + off
    values: np.ndarray[Any, Any] = block[start : start + count * dtype.itemsize].view(dtype)
    values[...] = np.arange(count)
    return values


@pytest.mark.parametrize("source", WRITABLE)
def test_jax_shares_on_request(source: str) -> None:
    if "jax:cpu:0" not in DEVICES:
        pytest.skip("JAX is not there")
    a = aligned(96, np.float32)
    x = pa.asarray(a, device=source, copy=False)
    y = x.to_device("jax:cpu:0", copy=False)
    assert address(y) == a.ctypes.data
    z = x.to_device("jax:cpu:0")
    assert not shared(x, z)
    a[3] = -1.0
    assert float(y[3]) == -1.0
    assert float(z[3]) == 3.0
    # An assignment to it makes a new one.
    y[4] = 8.0
    assert a[4] == 4.0
    for off in (4, 16, 32):
        x = pa.asarray(aligned(96, np.float32, off), device=source, copy=False)
        with pytest.raises(ValueError, match=r"(?s)copy=False, but .*64.*copy=None"):
            x.to_device("jax:cpu:0", copy=False)
        assert pa.transfer_plan(x, "jax:cpu:0").copies == 1


# --- all pairs --------------------------------------------------------------------------------


def layouts(source: str) -> Iterator[tuple[str, pa.Array]]:
    """Yield arrays of a device in many layouts."""
    base = matrix(source)
    for layout, view in LAYOUTS.items():
        yield layout, view(base)
    if LIBRARY[source] == "numpy":
        sealed = np.arange(48, dtype=np.float32).reshape(6, 8)
        sealed.flags.writeable = False
        yield "read-only", pa.asarray(sealed, device=source, copy=False)
        unaligned = np.zeros(4 * 48 + 1, dtype=np.uint8)[1:].view(np.float32).reshape(6, 8)
        unaligned[...] = sealed
        yield "unaligned", pa.asarray(unaligned, device=source, copy=False)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_copy_true_shares_with_nobody(source: str, target: str) -> None:
    for layout, x in layouts(source):
        expected = as_numpy(x)
        for y in (
            x.to_device(target, copy=True),
            pa.asarray(x, device=target, copy=True),
            pa.from_dlpack(x, device=target, copy=True),
            pa.from_dlpack(x.native, device=target, copy=True),
        ):
            assert str(y.device) == target
            assert not shared(x, y), layout
            y[...] = pa.asarray(-1.0, dtype=pa.float32, device=target)
            np.testing.assert_array_equal(as_numpy(x), expected)


def test_copy_true_where_it_is(device: str) -> None:
    for layout, x in layouts(device):
        for y in (
            x.to_device(device, copy=True),
            pa.asarray(x, copy=True),
            pa.from_dlpack(x, copy=True),
        ):
            assert not shared(x, y), layout
            assert y.device is x.device
        assert x.to_device(device) is x
        assert x.to_device(device, copy=False) is x
        assert pa.asarray(x, copy=False) is x


def on_demand(x: pa.Array, target: str) -> tuple[pa.Array | None, str]:
    """Return an array moved with ``copy=False``, or None and the message of the refusal."""
    try:
        return x.to_device(target, copy=False), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_copies_are_as_planned(source: str, target: str) -> None:
    # dpnp's memory and that of JAX's arrays is copied for safety, and shared on request.
    on_request = LIBRARY[source] == "dpnp" or LIBRARY[target] == "jax"
    for layout, x in layouts(source):
        plan = pa.transfer_plan(x, target)
        y = x.to_device(target)
        expected = as_numpy(x)
        if plan.route != "dlpack":
            assert shared(x, y) is (plan.copies == 0), layout
        assert plan.nbytes == plan.copies * x.size * x.dtype.itemsize
        assert bool(plan.why) is bool(plan.copies), layout
        z, refusal = on_demand(x, target)
        if plan.copies == 0:
            assert refusal == "", layout
            assert z is not None
            assert shared(x, z) or plan.route == "dlpack", layout
            continue
        if z is None:
            assert refusal.startswith("copy=False, but "), layout
            assert "copy=None" in refusal, layout
        else:
            assert on_request, f"{layout}: the plan says {plan}"
            assert shared(x, z), layout
        np.testing.assert_array_equal(as_numpy(y), expected)

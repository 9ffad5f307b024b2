"""Transfers of JAX's immutable arrays, which share memory under conditions."""

from __future__ import annotations

import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import portarray as pa  # noqa: E402
from portarray import _dlpack as dlpack  # noqa: E402
from portarray.backends import registry  # noqa: E402
from portarray.backends.jax import transfer as module  # noqa: E402

CPU = "jax:cpu:0"
BACKEND = registry.load_backend("jax")
transfer = BACKEND
DEVICE = jax.devices("cpu")[0]


def aligned(shape: tuple[int, ...], dtype: Any, *, off: int = 0) -> np.ndarray[Any, Any]:
    """Return zeros at an address divisible by 64, or `off` bytes beside it."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, dtype=np.uint8)
    start = -memory.ctypes.data % 64 + off
    array: np.ndarray[Any, Any] = memory[start : start + size].view(dtype)
    return array.reshape(shape)


@pytest.mark.parametrize("off", [0, 16])
@pytest.mark.parametrize("size", [4, 5000])
def test_later_writes_into_numpy_arrays_are_not_seen(size: int, off: int) -> None:
    for copy in (None, True):
        a = aligned((size,), np.float32, off=off)
        x = pa.asarray(a, device=CPU, copy=copy)
        y = pa.from_dlpack(a, device=CPU, copy=copy)
        z = pa.asarray(a, device="numpy").to_device(CPU, copy=copy)
        a[:] = 7.0
        assert not any(map(float, (pa.max(x), pa.max(y), pa.max(z))))


def test_xla_takes_private_copies_over() -> None:
    """XLA takes over a private copy instead of copying it again."""
    for a in (aligned((1000, 300), np.float32), aligned((300, 1000), np.int8, off=1)[:, ::2]):
        tracemalloc.start()
        x = transfer.from_host(a, DEVICE, copy=None)
        allocated, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert a.nbytes <= allocated < a.nbytes + 2**14
        assert np.asarray(x).ctypes.data % 64 == 0


def test_memory_of_arrays_that_are_gone_is_free_for_new_ones() -> None:
    """XLA keeps NumPy's memory a little longer than the array that lies in it."""
    a = np.ones(2**18)
    for turn in range(4):
        if turn == 1:
            tracemalloc.start()
        x = transfer.from_host(a, DEVICE, copy=None)
        del x
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * a.nbytes


def test_explicit_transfers_pass_the_users_guard() -> None:
    with jax.transfer_guard("disallow"):
        assert pa.asarray(np.arange(3.0), device=CPU).tolist() == [0.0, 1.0, 2.0]


def test_arrays_from_the_host_have_values_while_jax_traces() -> None:
    values = []

    def function(x: Any) -> Any:
        table = transfer.from_host(np.arange(3, dtype=np.float32), DEVICE, copy=None)
        values.append(np.asarray(transfer.move(table, DEVICE, copy=True)))
        return x + table

    assert jax.jit(function)(np.float32(1)).tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(values[0], [0.0, 1.0, 2.0])


def test_memory_is_shared_on_request() -> None:
    a = aligned((100,), np.float32)
    x = pa.asarray(a, device=CPU, copy=False)
    a[3] = 7.0
    assert float(x[3]) == 7.0
    # Our own assignments never reach it.
    x[4] = 8.0
    assert a[4] == 0.0


@pytest.mark.parametrize(
    ("a", "reason"),
    [
        (aligned((100,), np.float32, off=16), "divisible by 64"),
        (aligned((10, 10), np.float32).T, "not C-contiguous"),
        (aligned((100,), ">f4"), "byte order"),
    ],
)
def test_memory_that_cannot_be_shared(a: np.ndarray[Any, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=rf"(?s)copy=False, but .*{reason}.*copy=None"):
        transfer.from_host(a, DEVICE, copy=False)


@pytest.mark.parametrize(
    "a",
    [
        np.arange(12, dtype=np.float32)[::-1],
        np.arange(12, dtype=np.float32)[::3],
        np.arange(12, dtype=np.float32).reshape(3, 4).T,
        np.arange(12, dtype=">i4"),
        np.broadcast_to(np.float32(3), (2, 3)),
        np.zeros(41, np.uint8)[1:].view(np.float32),
        np.ones((0, 3), np.float32),
        np.asarray(2.5, dtype=np.float16),
        np.asarray([1, 2], dtype=ml_dtypes.bfloat16),
        np.asarray([True, False]),
        np.asarray([1 + 2j], dtype=np.complex64),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}{a.strides}",
)
@pytest.mark.parametrize("copy", [None, True])
def test_every_layout(a: np.ndarray[Any, Any], copy: bool | None) -> None:
    readonly = a.view()
    readonly.flags.writeable = False
    x = transfer.from_host(readonly, DEVICE, copy=copy)
    assert x.devices() == {DEVICE}
    assert x.dtype == a.dtype.newbyteorder("=")
    back = transfer.to_host(x, copy=copy)
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, a)


def test_numpy_sees_a_read_only_view() -> None:
    x = pa.asarray([1.0, 2.0], device=CPU)
    view = np.asarray(x)
    assert np.shares_memory(view, np.asarray(x.native))
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 5.0
    copy = np.array(x)
    copy[0] = 5.0
    assert x.tolist() == [1.0, 2.0]
    assert np.asarray(x, copy=True).flags.writeable


def test_other_libraries_get_memory_of_their_own() -> None:
    """Arrays of other libraries may be written, and JAX's never change."""
    for library in {d.library for d in pa.devices() if d.platform == "cpu"} - {"jax"}:
        x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=CPU)
        y = x.to_device(library)
        y[0] = 5.0
        assert x.tolist() == [1.0, 2.0], library
        z = pa.from_dlpack(x.native, device=library)
        z[0] = 5.0
        assert x.tolist() == [1.0, 2.0], library


def test_dlpack_out() -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=CPU)
    shared = np.from_dlpack(x)
    assert np.shares_memory(shared, np.asarray(x.native))
    assert not shared.flags.writeable
    assert not np.shares_memory(np.from_dlpack(x, copy=True), np.asarray(x.native))
    x.__dlpack__(max_version=(0, 0))  # the standard lets a consumer ask for any
    with pytest.raises(BufferError, match="not to"):
        transfer.to_dlpack(x.native, stream=None, max_version=None, dl_device=(2, 0), copy=None)


class Producer:
    """An array of another library, with DLPack only."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def test_dlpack_in() -> None:
    a = aligned((100,), np.float32)
    copied = pa.from_dlpack(Producer(a), device=CPU)
    shared = pa.from_dlpack(Producer(a), device=CPU, copy=False)
    a[0] = 7.0
    assert (float(copied[0]), float(shared[0])) == (0.0, 7.0)
    # XLA takes compact memory only.
    gaps = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
    assert pa.from_dlpack(Producer(gaps), device=CPU).tolist() == gaps.tolist()
    with pytest.raises(ValueError, match="copy=False"):
        pa.from_dlpack(Producer(gaps), device=CPU, copy=False)


def test_exported_memory_is_flagged_as_read_only() -> None:
    x = jnp.arange(3.0)
    for version, copy, sealed in (((1, 0), None, True), ((1, 0), True, False)):
        capsule = transfer.to_dlpack(
            x, stream=None, max_version=version, dl_device=(1, 0), copy=copy
        )
        assert dlpack.Held(capsule).read_only is sealed
    half = jnp.asarray([1.5, -0.0], dtype=jnp.bfloat16)  # which NumPy does not export
    capsule = transfer.to_dlpack(half, stream=None, max_version=(1, 0), dl_device=None, copy=None)
    np.testing.assert_array_equal(dlpack.host_values(dlpack.Held(capsule)), np.asarray(half))


@pytest.mark.parametrize("kind", [2, 4, 8, 10, 14])  # CUDA, OpenCL, Metal, ROCm, oneAPI
def test_memory_that_jax_cannot_read(kind: int) -> None:
    if any(kind in BACKEND.readable_dlpack_types(device) for device in jax.devices()):
        pytest.skip("this JAX has such a device")
    with pytest.raises(BufferError, match=rf"cannot read DLPack device \({kind}, 0\)"):
        transfer.from_dlpack(Elsewhere(kind), DEVICE, copy=None)


class Elsewhere:
    """A producer on another device that refuses to export."""

    def __init__(self, kind: int) -> None:
        self.kind = kind

    def __dlpack__(self, **options: Any) -> Any:
        raise AssertionError("asked for data that nobody here can read")

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0


def test_assignment_makes_a_new_native_array() -> None:
    x = pa.asarray([1.0, 2.0, 3.0], device=CPU)
    previous = x.native
    alias, part = pa.asarray(previous), x[1:]
    x[1] = 9.0
    x += 1
    assert x.tolist() == [2.0, 10.0, 4.0]
    assert (alias.tolist(), part.tolist()) == ([1.0, 2.0, 3.0], [2.0, 3.0])
    np.testing.assert_array_equal(previous, [1.0, 2.0, 3.0])


def test_reshape_has_no_views() -> None:
    x = pa.zeros((2, 3), device=CPU)
    with pytest.raises(ValueError, match="copy=None"):
        pa.reshape(x, (6,), copy=False)


def test_weak_types_end_at_the_door() -> None:
    """Weak types of JAX's scalars do not affect portarray's promotion."""
    weak = pa.asarray(jnp.asarray(1.0) * 1)
    half = pa.asarray([1.0], dtype=pa.float16, device=CPU)
    assert (weak + half).dtype == weak.dtype


def test_a_consumer_that_wants_no_order_gets_the_array() -> None:
    # XLA takes the number for the address of a stream.
    x = jnp.arange(3.0)
    for version in (None, (1, 0)):
        capsule = transfer.to_dlpack(x, stream=-1, max_version=version, dl_device=None, copy=None)
        np.testing.assert_array_equal(dlpack.host_values(dlpack.Held(capsule)), np.arange(3.0))
    with pytest.raises(jax.errors.JaxRuntimeError):
        x.__dlpack__(stream=-1)


def test_xla_takes_over_the_copy_of_a_producer_with_gaps() -> None:
    # On GPUs alone, where it is the producer's memory; the capsules are the same ones here.
    gaps = np.arange(12, dtype=np.float32).reshape(3, 4)[:, ::2]
    with pytest.raises(jax.errors.JaxRuntimeError, match="strid"):
        jnp.from_dlpack(gaps, copy=False)
    imported = jnp.from_dlpack(module._Compact(gaps))
    np.testing.assert_array_equal(np.asarray(imported), gaps)

"""dpnp's arrays in and out: NumPy, DLPack, other queues, the kinds of SYCL's memory."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

dpctl = pytest.importorskip("dpctl")
dpnp = pytest.importorskip("dpnp")

import portarray as pa  # noqa: E402
from portarray.backends import registry  # noqa: E402

if not pa.functional("dpnp"):
    pytest.skip("dpnp has no device here", allow_module_level=True)

transfer = registry.load_backend("dpnp")
DEVICE = pa.device("dpnp")
NATIVE = DEVICE.native
DTYPES = registry.load_backend("dpnp").dtypes("oneapi", DEVICE.index)
ON_CPU = NATIVE.sycl_device.is_cpu

needs_cpu = pytest.mark.skipif(not ON_CPU, reason="the device has memory of its own")


def read_only() -> np.ndarray[Any, Any]:
    array = np.arange(3.0)
    array.flags.writeable = False
    return array


ODD = {
    "read-only": read_only(),
    "reversed": np.arange(6.0)[::-1],
    "strided": np.arange(12.0).reshape(3, 4)[:, ::2],
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "0-d": np.asarray(3.0),
    "empty": np.zeros((0, 3)),
    "big-endian": np.arange(3, dtype=">f8"),
    "unaligned": np.frombuffer(b"\0" * 9, np.uint8)[1:].view(np.float64),
    "half": np.arange(3, dtype=np.float16),
    "bool": np.asarray([True, False]),
}


@pytest.mark.parametrize("name", ODD)
def test_from_numpy_and_back(name: str) -> None:
    array = ODD[name]
    if array.dtype.newbyteorder("=") not in DTYPES:
        pytest.skip("the device lacks the dtype")
    for copy in (None, True):
        x = transfer.from_host(array, NATIVE, copy=copy)
        back = transfer.to_host(x, copy=None)
        assert back.dtype == array.dtype.newbyteorder("=")
        assert back.shape == array.shape
        np.testing.assert_array_equal(back, array)
    with pytest.raises(ValueError, match="copy=False, but dpnp's arrays are in memory that SYCL"):
        transfer.from_host(array, NATIVE, copy=False)


def test_numpy_memory_is_copied_at_once() -> None:
    array = np.zeros(3_000_000)
    x = pa.asarray(array, device=DEVICE)
    array[:] = 1
    assert float(pa.sum(x)) == 0.0


def test_copies_for_numpy_do_not_share_memory() -> None:
    x = pa.zeros(3, device=DEVICE)
    for values in (x.to_device("numpy", copy=True), x.to_device("numpy")):
        values[0] = 1
    assert float(x[0]) == 0.0


@needs_cpu
def test_numpy_shares_memory_where_it_asks_for_it() -> None:
    x = pa.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device=DEVICE)
    shared = np.asarray(x, copy=False)
    x[0, 0] = 7.0
    assert shared[0, 0] == 7.0
    x += 1
    assert shared.tolist() == [[8.0, 3.0, 4.0], [5.0, 6.0, 7.0]]
    pa.synchronize(DEVICE)
    shared[1, 2] = 0.0
    assert float(x[1, 2]) == 0.0
    back = np.asarray(x[::-1, 1::2].T, copy=False)
    assert back.tolist() == [[6.0, 3.0]]
    part = np.asarray(x[1], copy=False)[1:]
    del x, shared, back
    gc.collect()
    assert part.tolist() == [6.0, 0.0]
    assert np.asarray(pa.asarray(2.0, device=DEVICE), copy=False) == 2.0
    assert np.asarray(pa.zeros((0, 2), device=DEVICE), copy=False).shape == (0, 2)


@needs_cpu
def test_to_host_waits_for_pending_work() -> None:
    start = pa.zeros((2**20,), dtype=pa.float32, device=DEVICE)
    for copy in (None, True, False):
        x = start
        for _ in range(12):
            x = x + 1.0
        y = pa.asarray(np.ones(2**10, dtype=np.float32), device=DEVICE)
        z = y + x[: 2**10]
        assert (transfer.to_host(x.native, copy=copy) == 12.0).all()
        assert (transfer.to_host(z.native, copy=copy) == 13.0).all()


@needs_cpu
@pytest.mark.parametrize("shape", [(3, 4), (700, 801)])  # the second in memory of its own kind
def test_the_order_of_axes_is_kept(shape: tuple[int, int]) -> None:
    array = np.arange(float(shape[0] * shape[1])).reshape(shape)
    deep = np.stack([array, array], axis=1)
    for layout in (array, array.T, array[::-1, ::2].T, deep.transpose(2, 0, 1)):
        x = transfer.from_host(layout, NATIVE, copy=None)
        assert x.get_array()._pointer % 64 == 0, "dpnp's kernels are slower elsewhere"
        assert transfer.to_host(x, copy=False).strides == layout.copy(order="K").strides
        np.testing.assert_array_equal(transfer.to_host(x, copy=None), layout)


@pytest.mark.parametrize("kind", [2, 4, 8, 10])  # CUDA, OpenCL, Metal, ROCm
def test_memory_that_dpnp_cannot_read(kind: int) -> None:
    class Elsewhere:
        def __dlpack__(self, **options: Any) -> Any:
            raise AssertionError("asked for data that nobody here can read")

        def __dlpack_device__(self) -> tuple[int, int]:
            return kind, 0

    with pytest.raises(BufferError, match=rf"cannot read DLPack device \({kind}, 0\)"):
        transfer.from_dlpack(Elsewhere(), NATIVE, copy=None)


@needs_cpu
def test_numpy_gets_a_copy_where_it_does_not() -> None:
    x = pa.zeros(3, device=DEVICE)
    values = np.asarray(x)
    values[0] = 1.0
    assert float(x[0]) == 0.0


@needs_cpu
def test_moving_without_a_copy_shares_memory() -> None:
    x = pa.zeros(3, device=DEVICE)
    there = x.to_device("numpy", copy=False)
    x[0] = 5.0
    assert float(there[0]) == 5.0
    with pytest.raises(ValueError, match="copy=False"):
        there.to_device(DEVICE, copy=False)


@needs_cpu
def test_dlpack_is_of_host_memory_on_cpus() -> None:
    x = pa.asarray([1.0, 2.0], device=DEVICE)
    assert x.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(x)
    x[0] = 9.0
    assert shared[0] == 9.0
    with pytest.raises(BufferError, match="to its own DLPack device"):
        x.__dlpack__(dl_device=(2, 0))


def test_dlpack_of_dpnp_itself_shares_memory() -> None:
    native = dpnp.arange(3, dtype="f4", device=NATIVE)
    for imported in (pa.from_dlpack(native), pa.from_dlpack(native.get_array())):
        assert imported.device is DEVICE
        imported[0] = 7
    assert float(native[0]) == 7


def test_arrays_of_dpnps_tensor_class() -> None:
    native = dpnp.tensor.arange(3, dtype="i4", device=NATIVE)
    x = pa.asarray(native)
    assert type(x.native) is dpnp.ndarray
    x[0] = 5
    assert int(native[0]) == 5


def test_another_queue_of_the_device_is_no_obstacle() -> None:
    queue = dpctl.SyclQueue(NATIVE.sycl_device, property="in_order")
    native = dpnp.arange(4, dtype="f4", sycl_queue=queue)
    here = pa.ones(4, dtype=pa.float32, device=DEVICE)
    x = pa.asarray(native)
    assert x.device is DEVICE
    assert (x + here).tolist() == [1, 2, 3, 4]
    assert (pa.from_dlpack(native) + here).tolist() == [1, 2, 3, 4]
    assert (pa.asarray(native, copy=False) + here).tolist() == [1, 2, 3, 4]
    x[0] = 9
    assert float(native[0]) == 9, "the memory is the same"
    apart = pa.asarray(native, copy=True)
    apart[1] = 9
    assert float(native[1]) == 1


def test_work_of_the_other_queue_is_done_first() -> None:
    queue = dpctl.SyclQueue(NATIVE.sycl_device)
    for _ in range(5):
        native = dpnp.zeros(400_000, dtype="f4", sycl_queue=queue)
        for _ in range(20):
            native += dpnp.ones(400_000, dtype="f4", sycl_queue=queue)
        assert float(pa.min(pa.asarray(native))) == 20.0


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_kinds_of_memory_are_taken_and_kept(kind: str) -> None:
    native = dpnp.arange(4, dtype="f4", usm_type=kind, device=NATIVE)
    x = pa.asarray(native)
    assert x.native is native
    for result in (x + x, x + 1, 2 * x, pa.sin(x), pa.sum(x), x[1:], pa.where(x > 1, x, x)):
        assert result.native.usm_type == kind
    assert (x + pa.ones(4, dtype=pa.float32, device=DEVICE)).native.usm_type == "device"
    assert pa.zeros_like(x).native.usm_type == kind
    np.testing.assert_array_equal(transfer.to_host(x.native, copy=None), np.arange(4))


def test_broadcast_views_are_not_written_through() -> None:
    x = pa.zeros((3,), device=DEVICE)
    view = pa.broadcast_to(x, (2, 3))
    with pytest.raises(ValueError, match="read-only"):
        view[0, 0] = 1.0
    assert x.tolist() == [0.0, 0.0, 0.0]


class Elsewhere:
    """An array in SYCL's memory of a library without a backend."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, index = self.x.__dlpack_device__()
        return int(kind), index

    def __dlpack__(self, **options: Any) -> Any:
        return self.x.__dlpack__(**options)


@needs_cpu
def test_copies_of_sycl_memory_are_complete_on_return() -> None:
    values = dpnp.full(4_000_000, 7, dtype="f4", device=NATIVE)
    view = transfer.to_host(values, copy=False)
    for _ in range(3):
        view[...] = 7
        x = transfer.from_dlpack(Elsewhere(values), NATIVE, copy=True)
        view[...] = -1
        assert float(dpnp.min(x)) == 7
    shared = transfer.from_dlpack(Elsewhere(values), NATIVE, copy=False)
    assert float(dpnp.max(shared)) == -1


@needs_cpu
def test_a_part_of_an_array_moves_to_another_device_alone() -> None:
    first, *_ = NATIVE.sycl_device.create_sub_devices(partition=1)
    target = dpnp.tensor.Device.create_device(dpctl.SyclQueue(first))
    whole = dpnp.arange(1200, dtype="f4", device=NATIVE).reshape(30, 40)
    for part in (whole, whole[5], whole[:, 3], whole[::-1, ::2], whole[:0], whole[3, 4]):
        moved = transfer.move(part, target, copy=None)
        assert moved.sycl_device == first
        assert moved.get_array().usm_data.nbytes <= max(part.nbytes, 4)
        np.testing.assert_array_equal(moved.asnumpy(), part.asnumpy())
    wide = dpnp.broadcast_to(whole[0], (50, 40))
    np.testing.assert_array_equal(transfer.move(wide, target, copy=None).asnumpy(), wide.asnumpy())

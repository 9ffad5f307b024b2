"""Transfers of clarray's arrays through its backend."""

from __future__ import annotations

import gc

import numpy as np
import pytest

clarray = pytest.importorskip("portarray.clarray", exc_type=ImportError)

import portarray as pa  # noqa: E402
from portarray.backends import registry  # noqa: E402

BACKEND = registry.load_backend("clarray")
HOST = [candidate for candidate in clarray.devices() if candidate.host_memory]

pytestmark = pytest.mark.skipif(not HOST, reason="no OpenCL device computes in host memory")


@pytest.fixture(params=range(len(HOST)), ids=lambda index: f"clarray:{HOST[index].index}")
def where(request: pytest.FixtureRequest) -> pa.Device:
    return pa.device(HOST[request.param])


def test_numpy_memory_is_shared_unless_a_copy_is_requested(where: pa.Device) -> None:
    values = np.arange(6.0).reshape(2, 3)
    shared = [pa.asarray(values, device=where, copy=copy) for copy in (None, False)]
    copied = pa.asarray(values, device=where, copy=True)
    values[0, 0] = 7
    assert [float(x[0, 0]) for x in shared] == [7, 7]
    assert float(copied[0, 0]) == 0
    shared[0][1, 2] = 9.0
    assert values[1, 2] == 9
    back = np.asarray(shared[1])
    back[0, 1] = 8
    assert values[0, 1] == 8


def test_read_only_memory_is_copied(where: pa.Device) -> None:
    values = np.arange(3)
    values.flags.writeable = False
    x = pa.asarray(values, device=where)
    x[0] = 5
    assert values.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        pa.asarray(values, device=where, copy=False)


def test_printing_does_not_share_the_memory(where: pa.Device) -> None:
    x = pa.arange(3, device=where)
    assert "0, 1, 2" in repr(x)
    assert float(x[2]) == 2
    assert not x.native.storage.shared
    assert np.asarray(x).tolist() == [0, 1, 2]
    assert not x.native.storage.shared


def test_memory_that_nobody_else_has_is_not_waited_for(where: pa.Device) -> None:
    for values in ([1.0, 2.0], 3, np.arange(3, dtype=np.float32).astype(">f4")):
        x = pa.asarray(values, device=where)
        assert not x.native.storage.shared
        np.testing.assert_array_equal(np.asarray(x + x), np.add(values, values))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_host_devices_share_memory(where: pa.Device, library: str) -> None:
    if not pa.functional(library):
        pytest.skip(f"{library} is not installed")
    x = pa.asarray([1.0, 2.0, 3.0], device=where)
    y = x.to_device(library)
    y[0] = 9.0
    assert float(x[0]) == 9.0
    z = y.to_device(where, copy=False)
    x += 1.0
    assert z.tolist() == [10.0, 3.0, 4.0]


@pytest.mark.parametrize("library", ["numpy", "torch", "clarray"])
@pytest.mark.parametrize("key", [slice(None), slice(1, None, 3), slice(None, None, -2)], ids=str)
def test_kernels_under_way_and_writes_of_others_are_ordered(
    where: pa.Device, library: str, key: slice
) -> None:
    others = [candidate for candidate in HOST if candidate is not where.native]
    if not pa.functional(library) or (library == "clarray" and not others):
        pytest.skip(f"{library} has no device for this")
    target = pa.device(others[0] if library == "clarray" else f"{library}:cpu")
    size = 1 << 19
    x = pa.zeros(size, device=where)
    for _ in range(20):  # more than is done when the next line runs
        x += 1.0
    view = x[key]
    y = view.to_device(target)
    assert float(pa.min(y)) == float(pa.max(y)) == 20.0
    count = view.shape[0]
    shares = not pa.transfer_plan(view, target).copies
    assert shares or (library == "torch" and key.step == -2)  # tensors have no negative strides
    if not shares:
        return
    for n in range(5):
        y[...] = float(n)
        z = view + 1.0  # of this device's kernels, right after
        view *= 0.0
        view -= float(n)
        assert float(pa.sum(y)) == -n * count
        assert float(pa.sum(z)) == (n + 1.0) * count
    # What was shared outlives the array that it was.
    del x, view, z
    gc.collect()
    w = pa.ones(size, device=where) * 3.0  # wants memory of the same size
    assert float(pa.max(y)) == float(pa.min(y)) == -4.0
    assert float(pa.sum(w)) == 3.0 * size


def test_devices_of_clarray_share_memory(where: pa.Device) -> None:
    others = [candidate for candidate in HOST if candidate is not where.native]
    if not others:
        pytest.skip("there is one device")
    x = pa.asarray([1.0, 2.0], device=where)
    y = x.to_device(others[0])
    assert pa.transfer_plan(x, others[0]).copies == 0
    y[0] = 5.0
    x += 1.0
    assert x.tolist() == y.tolist() == [6.0, 3.0]
    z = x.to_device(others[0], copy=True)
    z[0] = 0.0
    assert x.tolist() == [6.0, 3.0]


def test_in_place_operators_write_into_the_memory(where: pa.Device) -> None:
    values = np.arange(4.0)
    x = pa.asarray(values, device=where, copy=False)
    for expected, change in (
        ([1, 2, 3, 4], lambda: x.__iadd__(1.0)),
        ([2, 4, 6, 8], lambda: x.__imul__(2)),
        ([1, 2, 3, 4], lambda: x.__itruediv__(2)),
        ([0, 1, 2, 3], lambda: x.__isub__(1)),
        ([0, 1, 4, 9], lambda: x.__ipow__(2)),
        ([0, 1, 0, 1], lambda: x.__imod__(2)),
    ):
        change()
        assert values.tolist() == expected


def test_dlpack_both_ways(where: pa.Device) -> None:
    x = pa.asarray([1.0, 2.0], device=where)
    assert x.__dlpack_device__() == (1, 0)
    y = np.from_dlpack(x)
    y[0] = 3
    assert float(x[0]) == 3
    z = pa.from_dlpack(y, device=where)
    z[1] = 4.0
    assert y.tolist() == [3, 4]
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))

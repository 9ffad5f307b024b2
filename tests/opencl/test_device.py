from __future__ import annotations

import asyncio
import copy
import pickle
import threading

import numpy as np
import pyopencl as cl
import pytest

from portarray._opencl import programs, waiting
from portarray._opencl.device import Device, Memory
from portarray._opencl.registry import devices
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.errors import (
    DeviceLostError,
    DeviceNotFunctionalError,
    KernelError,
    OutOfMemoryError,
)
from portarray.clarray.selection import default_device, device_of, memory, reclaim, synchronize
from portarray.clarray.strided import empty


def failure(code: str) -> cl.LogicError:
    return cl.LogicError(
        cl._cl._ErrorRecord(msg="", code=getattr(cl.status_code, code), routine="clSomething")
    )


FILL = """__kernel void fill(__global int *o, int value) { o[get_global_id(0)] = value; }"""


def test_there_is_one_object_for_each_device() -> None:
    assert len(set(devices())) == len(devices())
    for index, device in enumerate(devices()):
        assert device_of(index) is device_of(device) is device_of(device.native) is device
        assert pickle.loads(pickle.dumps(device)) is device
        assert copy.deepcopy(device) is copy.copy(device) is device
        assert str(device) == f"clarray:{index}"
        assert device.name in repr(device)
        assert device == device
        assert device != index


def test_a_device_outside_the_registry_is_not_pickled() -> None:
    values = Device(devices()[0].native, 0, discrete=True)
    with pytest.raises(TypeError, match=r"not in clarray\.devices"):
        pickle.dumps(values)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (99, DeviceNotFunctionalError, "there is no OpenCL device 99"),
        (-1, DeviceNotFunctionalError, "there is no OpenCL device -1"),
        ("gpu", TypeError, "got 'gpu'"),
        (True, TypeError, "got True"),
    ],
)
def test_values_that_do_not_name_a_device_are_refused(
    wrong: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        device_of(wrong)


def test_scopes_nest_and_end(device: Device) -> None:
    outside = default_device()
    with device as entered:
        assert entered is device
        assert default_device() is device
        with devices()[0], device, device:
            assert default_device() is device
        assert default_device() is device
        with pytest.raises(KeyError), devices()[0]:
            raise KeyError
        assert default_device() is device
    assert default_device() is outside


def test_scopes_of_threads_and_tasks_are_apart(device: Device) -> None:
    outside = default_device()
    result = []
    with device:
        thread = threading.Thread(target=lambda: result.append(default_device()))
        thread.start()
        thread.join()
    assert result == [outside]

    async def task(values: Device) -> None:
        with values:
            await asyncio.sleep(0.001)
            assert default_device() is values

    async def both() -> None:
        await asyncio.gather(task(device), task(outside), task(device))

    asyncio.run(both())


def test_figures_synchronize_and_reclaim_take_whatever_names_a_device() -> None:
    for device_like in (None, 0, devices()[0], devices()[0].native):
        figures = memory(device_like)
        assert isinstance(figures, Memory)
        assert figures.total >= figures.free >= 0
        synchronize(device_like)
        reclaim(device_like)
        assert memory(device_like).pooled == 0


def test_finish_waits_for_launched_kernels(device: Device) -> None:
    out = empty((1000,), np.dtype(np.int32), device)
    kernel = device.kernel(FILL, "fill", 1, [np.int32])
    for value in range(100):
        kernel.launch((1000,), None, (out.storage,), value)
        assert device.pending
        assert (to_numpy(out) == value).all()
        assert not device.pending or device.host_memory is False
    device.finish()
    assert not device.pending


def test_results_of_a_storage_shared_with_others_are_there_on_return(device: Device) -> None:
    storage = device.pool.take(4000)
    view = np.zeros(1)
    storage.show(view)
    device.kernel(FILL, "fill", 1, [np.int32]).launch((1000,), None, (storage,), 1)
    assert not device.pending
    del view
    assert not storage.shared  # by then nobody sees it


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("DEVICE_NOT_AVAILABLE", DeviceLostError, "was lost or reset"),
        ("INVALID_CONTEXT", DeviceLostError, "was lost or reset"),
        ("INVALID_COMMAND_QUEUE", DeviceLostError, "was lost or reset"),
        ("OUT_OF_RESOURCES", OutOfMemoryError, "'fill' found no memory"),
        ("MEM_OBJECT_ALLOCATION_FAILURE", OutOfMemoryError, "'fill' found no memory"),
        ("INVALID_WORK_GROUP_SIZE", KernelError, "'fill' did not run on"),
    ],
)
def test_errors_of_drivers_have_names(
    code: str,
    error: type[Exception],
    message: str,
    device: Device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A simulated driver loses its device, since real ones cannot be made to."""
    retained = from_numpy(np.arange(10), device)
    kernel = device.kernel(FILL, "fill", 1, [np.int32])
    tries = []

    def refusing(*arguments: object) -> None:
        tries.append(arguments)
        raise failure(code)

    out = empty((8,), np.dtype(np.int32), device)
    with monkeypatch.context() as patch:
        patch.setattr(programs, "enqueue", refusing)
        with pytest.raises(error, match=message):
            kernel.launch((8,), None, (out.storage,), 1)
    assert len(tries) == (2 if error is OutOfMemoryError else 1)
    kernel.launch((8,), None, (out.storage,), 1)
    assert (to_numpy(out) == 1).all()
    assert to_numpy(retained).tolist() == list(range(10))


def test_a_wrong_work_group_is_the_kernels_error(device: Device) -> None:
    out = empty((8,), np.dtype(np.int32), device)
    kernel = device.kernel(FILL, "fill", 1, [np.int32])
    with pytest.raises(KernelError, match="kernel 'fill' did not run") as caught:
        kernel.launch((8,), (1 << 30,), (out.storage,), 1)
    assert caught.value.kernel == "fill"
    kernel.launch((8,), None, (out.storage,), 3)
    assert (to_numpy(out) == 3).all()


def test_a_device_lost_during_a_wait_raises(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lost:
        def finish(self) -> None:
            raise failure("DEVICE_NOT_AVAILABLE")

    device.launched += 1
    with monkeypatch.context() as patch:
        patch.setattr(device, "queue", Lost())
        patch.setattr(waiting, "_sycl_may_run", lambda: False)  # as in a process without dpnp
        with pytest.raises(DeviceLostError, match="was lost or reset"):
            device.finish()
    device.finish()

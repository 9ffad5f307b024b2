"""Pickles and deep copies keep every bit, without host copies, and without the device."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import errors
from portarray._array import dispatch, pickling
from portarray._devices import notices
from portarray.backends import registry

FILES = Path(__file__).parent
SHARING = {"numpy", "torch", "clarray"}
"""Libraries whose arrays may lie in memory that NumPy has."""


def values_of(x: pa.Array) -> np.ndarray[Any, Any]:
    """Return an array's values in host memory, including bfloat16."""
    return x.device._backend.to_host(x.native, copy=None)


def drawn(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Draw random bits, with NaN payloads, -0.0 and subnormal numbers."""
    rng = np.random.default_rng(0)
    if dtype == np.bool:
        return rng.integers(0, 2, shape).astype(bool)
    return np.frombuffer(rng.bytes(dtype.itemsize * int(np.prod(shape))), dtype).reshape(shape)


def arrays(device: str) -> list[pa.Array]:
    """Return arrays of every dtype and of several layouts."""
    result = []
    for dtype in dispatch.dtypes_of(pa.device(device)):
        values = drawn(dtype, (3, 4))
        for layout in (values, values.T, values[::-1, ::2], values[1, 1], values[:0]):
            result.append(pa.asarray(np.asarray(layout), device=device))
    return result


def the_same(y: pa.Array, x: pa.Array) -> bool:
    return (y.device, y.dtype, y.shape) == (x.device, x.dtype, x.shape) and values_of(
        y
    ).tobytes() == values_of(x).tobytes()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_bit_comes_back(device: str, protocol: int) -> None:
    all_of_them = arrays(device)
    again = pickle.loads(pickle.dumps(all_of_them, protocol))
    assert all(map(the_same, again, all_of_them))


def test_out_of_band_buffers_share_the_memory_of_arrays(device: str) -> None:
    library = device.partition(":")[0]
    for x in arrays(device):
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
        assert len(buffers) == 1
        assert len(data) < 300
        sent = np.frombuffer(buffers[0].raw(), np.uint8)
        host = values_of(x)
        is_contiguous = host.flags.c_contiguous or host.flags.f_contiguous
        if library != "dpnp" and host.size:  # whose memory NumPy cannot read
            assert np.shares_memory(sent, host) == is_contiguous
        y = pickle.loads(data, buffers=buffers)
        assert the_same(y, x)
        if library in SHARING and host.size and is_contiguous:
            # The others copy what may not be written, for nothing marks their arrays so.
            shared = library == "numpy" or not buffers[0].raw().readonly
            assert np.shares_memory(values_of(y), sent) == shared
        # What others hand over as buffers may be read-only, and begin anywhere.
        for first in range(2):
            whole = bytes(first) + bytes(buffers[0].raw())
            z = pickle.loads(data, buffers=[memoryview(whole)[first:]])
            assert the_same(z, x)
            if library in SHARING:
                z[...] = 0
            assert whole[first:] == bytes(sent)


def test_out_of_band_buffers_are_shared_with_their_receiver() -> None:
    x = pa.asarray(np.arange(3.0), device="numpy")
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
    y = pickle.loads(data, buffers=buffers)
    y[0] = 9.0
    assert float(x[0]) == 9.0  # as NumPy's own do
    mine = bytearray(buffers[0].raw())
    z = pickle.loads(data, buffers=[mine])
    z[1] = 8.0
    assert float(y[1]) == 1.0
    assert np.frombuffer(mine).tolist() == [9.0, 8.0, 2.0]
    inside = pickle.loads(pickle.dumps(x, protocol=5))
    inside[0] = 1.0
    assert float(x[0]) == 9.0


def test_joblib_maps_pickled_arrays(device: str, tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib")
    x = pa.asarray(np.arange(100, dtype=np.float32), device=device)
    joblib.dump(x, tmp_path / "x")
    for mode in (None, "r", "c"):
        y = joblib.load(tmp_path / "x", mmap_mode=mode)
        assert the_same(y, x)
        assert type(y.native) is type(x.native)


# --- copies ---------------------------------------------------------------------------------------


def test_copies_stay_on_the_device_and_share_nothing(device: str) -> None:
    library = device.partition(":")[0]
    for x in arrays(device)[::5]:
        content = values_of(x).tobytes()
        for y in (copy.copy(x), copy.deepcopy(x), *copy.deepcopy([x])):
            assert the_same(y, x)
            assert y.native is not x.native
            if library in SHARING:  # a change of the others' arrays is a new array
                y[...] = 1
            assert values_of(x).tobytes() == content


def test_deep_copies_keep_shared_arrays_shared(device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    around_the_same = pa.asarray(x.native)
    assert around_the_same.native is x.native
    tree = {"a": x, "b": [x, around_the_same], "other": pa.asarray([1.0, 2.0], device="numpy")}
    copied = copy.deepcopy(tree)
    assert copied["a"] is copied["b"][0]
    assert copied["b"][1].native is copied["a"].native is not x.native
    assert copied["other"].native is not copied["a"].native
    assert copied["b"][1].device is x.device


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_native_arrays_and_arrays_around_them_are_copied_as_one(library: str) -> None:
    if not pa.functional(library):
        pytest.skip(f"{library} is not here")
    x = pa.asarray([1.0, 2.0], device=library)
    for copied in (copy.deepcopy((x, x.native)), copy.deepcopy((x.native, x))[::-1]):
        assert copied[0].native is copied[1] is not x.native


def test_copies_while_jax_traces() -> None:
    jax = pytest.importorskip("jax")
    failed = []

    def function(native: Any) -> Any:
        x = pa.asarray(native)
        try:
            pickle.dumps(x)
        except TypeError as error:
            failed.append(str(error))
        first, second = copy.deepcopy([x, copy.copy(x)])
        return (first + second).native

    assert jax.jit(function)(jax.numpy.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert len(failed) == 1
    assert "trace" in failed[0]


def test_copies_do_not_evaluate_lazy_arrays_of_mlx() -> None:
    mx = pytest.importorskip("mlx.core")
    x = pa.asarray(mx.ones((3,)) + 1)
    assert copy.deepcopy([x, x, copy.copy(x)])[2].tolist() == [2.0, 2.0, 2.0]
    assert pickle.loads(pickle.dumps(x + x)).tolist() == [4.0, 4.0, 4.0]


# --- devices that are not here --------------------------------------------------------------------


@pytest.fixture(autouse=True)
def said_again() -> None:
    """Reset warnings that are given once."""
    notices.forget()


def gone(library: str) -> None:
    registry.remove_backend(library)
    pa.reset_gpu_device()


def test_an_array_of_an_unknown_library(fake: str) -> None:
    stored = pickle.dumps([pa.asarray([1.0, 2.0], device="fake:cuda:1"), pa.ones(1, device=fake)])
    device = pickle.dumps(pa.device(fake))
    gone(fake)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        x, y = pickle.loads(stored)
    assert x.device is y.device is pa.device("numpy")
    assert x.tolist() == [1.0, 2.0]
    assert [warning.category for warning in said] == [errors.DeviceSelectionWarning] * 2
    assert [warning.filename for warning in said] == [__file__] * 2
    for text, warning in zip(("fake:cuda:1", "fake:cuda:0"), said, strict=True):
        assert str(warning.message).startswith(
            f"an array pickled on '{text}' is loaded to numpy:cpu:0, as "
            f"config.unpickle_device says: 'fake' is neither a library"
        )
    with pa.config(unpickle_device=None), pytest.raises(pa.DeviceNotFunctionalError) as caught:
        pickle.loads(stored)
    assert caught.value.requested == "fake:cuda:1"
    assert "'fake' is neither a library" in caught.value.reasons["fake:cuda:1"]
    assert "pa.config(unpickle_device='cpu')" in str(caught.value)
    with pytest.raises(errors.UnknownDeviceError, match="'fake' is neither a library"):
        pickle.loads(device)


def test_a_card_that_is_not_here(
    fake: str, nofloat64: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = pa.asarray([1.0, 2.0], device="fake:cuda:1")
    stored, single = pickle.dumps(x), pickle.dumps(x.astype(pa.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(stored).device is x.device  # as long as it is
    monkeypatch.setattr(pa.device(fake)._backend, "count", lambda platform: 1)
    pa.reset_gpu_device()
    with (
        pa.config(unpickle_device=None),
        pytest.raises(pa.DeviceNotFunctionalError, match="fake sees 1 device, with index 0"),
    ):
        pickle.loads(stored)
    with (
        pa.config(unpickle_device="fake"),
        pytest.warns(
            errors.DeviceSelectionWarning,
            match="'fake:cuda:1' is loaded to fake:cuda:0.*fake sees 1",
        ),
    ):
        assert str(pickle.loads(stored).device) == "fake:cuda:0"
    with pa.config(unpickle_device=nofloat64):
        with (
            pytest.warns(errors.DeviceSelectionWarning, match="is loaded to nofloat64:metal:0"),
            pytest.raises(
                pa.DTypeNotSupportedError, match="nofloat64:metal:0 does not support float64"
            ),
        ):
            pickle.loads(stored)
        assert pickle.loads(single).tolist() == [1.0, 2.0]
    with pa.config(unpickle_device="fake:cuda:1"), pytest.raises(pa.DeviceNotFunctionalError):
        pickle.loads(stored)


def test_a_device_without_the_dtype_that_it_had(nofloat64: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=nofloat64)
    _, (_, _, device) = x.__reduce_ex__(5)
    pickled = pickle.dumps(Rebuilt(pickling.restored, (np.asarray([1.0, 2.0]), "float64", device)))
    with pytest.warns(
        errors.DeviceSelectionWarning,
        match="'nofloat64:metal:0' is loaded to numpy:cpu:0.*does not support float64\nHint: use",
    ):
        y = pickle.loads(pickled)
    assert (str(y.device), y.dtype, y.tolist()) == ("numpy:cpu:0", np.float64, [1.0, 2.0])
    with (
        pa.config(unpickle_device=None),
        pytest.raises(
            pa.DTypeNotSupportedError, match="nofloat64:metal:0 does not support float64"
        ),
    ):
        pickle.loads(pickled)


class Rebuilt:
    """An object pickled as a call, as written on another machine."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_machine_of_other_byte_order(device: str, protocol: int) -> None:
    for x in arrays(device):
        restored, (values, *names) = x.__reduce_ex__(protocol)
        assert values.dtype.isnative
        there = values.astype(values.dtype.newbyteorder())
        y = pickle.loads(pickle.dumps(Rebuilt(restored, (there, *names)), protocol))
        assert the_same(y, x)


def test_a_process_that_is_spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FILES)  # the process gets the path
    import other_processes

    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    child = context.Process(target=other_processes.doubled, args=(theirs,))
    child.start()
    theirs.close()
    for device in pa.devices():
        x = pa.asarray([[1, 2], [3, 4]], dtype=pa.int32, device=device)
        ours.send(x)
        device_name, y = ours.recv()
        assert device_name == str(device)
        assert y.device is device
        assert y.dtype == pa.int32
        assert y.tolist() == [[2, 4], [6, 8]]
    ours.send(None)
    child.join(60)
    assert child.exitcode == 0


def test_a_machine_without_drivers_and_libraries(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    names = [text for text in ("clarray:opencl:0", "mlx:cpu:0") if pa.functional(text)]
    pickles = [
        pickle.dumps(pickle.dumps(pa.asarray([1.0, 2.0], dtype=pa.float32, device=text)))
        for text in names
    ]
    file = tmp_path / "arrays"
    file.write_bytes(pickle.dumps(pickles))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FILES / "other_processes.py"), str(file)],
        env={**os.environ, "OCL_ICD_VENDORS": str(empty)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    reasons = {
        "clarray:opencl:0": "clarray:opencl: OpenCL: the loader finds no driver",
        "mlx:cpu:0": "mlx:cpu: its import failed",
    }
    for text in names:
        assert (
            f"DeviceSelectionWarning: an array pickled on {text!r} is loaded to numpy:cpu:0, "
            f"as config.unpickle_device says: {reasons[text]}"
        ) in done.stdout
        assert f"{text!r} is not functional: {reasons[text]}" in done.stdout
    if not names:
        pytest.skip("neither clarray nor MLX is here")

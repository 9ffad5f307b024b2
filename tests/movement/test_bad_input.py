"""Inputs that cannot be moved are refused first, with a message that names the fix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.errors import (
    DeviceNotFunctionalError,
    DTypeNotSupportedError,
    UnknownDeviceError,
)

DEVICES = [str(device) for device in pa.devices()]

NARROWER = {
    "complex128": "complex64",
    "float64": "float32",
    "int64": "int32",
    "uint64": "uint32",
    "bfloat16": "float32",
}


def dtypes(device: str) -> set[str]:
    """Return the names of a device's dtypes, float16 and bfloat16 included."""
    pa_device = pa.device(device)
    return {dtype.name for dtype in pa_device._backend.dtypes(pa_device.platform, pa_device.index)}


def as_numpy(x: pa.Array) -> Any:
    """Return an array's values as a NumPy array."""
    return x.device._backend.to_host(x.native, copy=True)


# --- dtypes that the target has not ---------------------------------------------------------------


def check_narrowing(source: str, target: str, name: str) -> None:
    """Check that moves to a device without the dtype raise, and that narrowing works."""
    near = NARROWER[name]
    values = np.asarray([0, 1, 2, 100]).astype(np.dtype(getattr(pa, name)))
    x = pa.asarray(values, device=source, copy=True)
    tree = {"a": pa.asarray([True], device=source), "b": [x]}
    for call in (
        lambda: x.to_device(target),
        lambda: x.to_device(target, copy=False),
        lambda: pa.asarray(x, device=target),
        lambda: pa.asarray(x.native, device=target),
        lambda: pa.asarray(values, device=target),
        lambda: pa.from_dlpack(x, device=target),
        lambda: pa.from_dlpack(x.native, device=target),
        lambda: pa.to_device(tree, target),
        lambda: pa.transfer_plan(x, target),
    ):
        with pytest.raises(DTypeNotSupportedError) as caught:
            call()
        assert (caught.value.dtype, caught.value.nearest) == (name, near)
        for part in (str(pa.device(target)), f"does not support {name}", near, "narrow=True"):
            assert part in str(caught.value)
    # Nothing was lost.
    assert (x.dtype, str(x.device)) == (values.dtype, source)
    np.testing.assert_array_equal(as_numpy(x), values)
    for y in (
        pa.asarray(x, device=target, narrow=True),
        pa.asarray(x.native, device=target, narrow=True),
        pa.asarray(values, device=target, narrow=True),
        x.to_device(target, narrow=True),
        pa.from_dlpack(x, device=target, narrow=True),
        pa.from_dlpack(x.native, device=target, narrow=True),
        pa.to_device(tree, target, narrow=True)["b"][0],
    ):
        assert (y.dtype.name, str(y.device)) == (near, str(pa.device(target)))
        np.testing.assert_array_equal(as_numpy(y), values.astype(near))
    for wrong in (pa.float16, "float16", 1):
        with pytest.raises(TypeError, match=rf"narrow must be True or .* has {near} for"):
            x.to_device(target, narrow=wrong)
    plan = pa.transfer_plan(x, target, narrow=True)
    assert plan.copies >= 1
    assert name in plan.why
    with pytest.raises(ValueError, match=rf"(?s)copy=False, but .*{name} to {near}.*copy=None"):
        pa.asarray(x, device=target, narrow=True, copy=False)


@pytest.mark.parametrize("backend", ["nofloat64", "no64bit"])
def test_dtypes_that_a_limited_device_lacks(
    device: str, backend: str, request: pytest.FixtureRequest
) -> None:
    target = request.getfixturevalue(backend)
    lacking = sorted((dtypes(device) - dtypes(target)) & NARROWER.keys() - {"bfloat16"})
    assert lacking or "float64" not in dtypes(device)
    for name in lacking:
        check_narrowing(device, target, name)


def test_dtypes_that_devices_here_lack(device: str) -> None:
    for target in DEVICES:
        for name in sorted((dtypes(device) - dtypes(target)) & NARROWER.keys()):
            check_narrowing(device, target, name)


def test_narrowed_values_are_rounded_as_numpy_rounds_them(device: str, nofloat64: str) -> None:
    if "float64" not in dtypes(device):
        pytest.skip(f"{device} has no float64")
    values = np.asarray([0.1, 1e-60, 1e300, -np.inf, np.nan, -0.0, 16777217.0])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float32)
    y = pa.asarray(pa.asarray(values, device=device), device=nofloat64, narrow=True)
    np.testing.assert_array_equal(as_numpy(y), expected)
    np.testing.assert_array_equal(np.signbit(as_numpy(y)), np.signbit(expected))


def test_conversions_that_neither_device_knows_are_done_on_the_host(device: str) -> None:
    """Conversions run on the host if the source lacks the target's dtype and the reverse."""
    if "bfloat16" not in dtypes(device):
        pytest.skip(f"{device} does not support bfloat16")
    for name in ("float64", "int64", "uint64", "bool", "float32"):
        values = np.asarray([0, 1, 3, 300]).astype(name)
        for copy in (None, True):
            x = pa.asarray(values, dtype=pa.bfloat16, device=device, copy=copy)
            assert (x.dtype.name, str(x.device)) == ("bfloat16", device)
            np.testing.assert_array_equal(as_numpy(x).astype(name), values)
        back = pa.astype(x, name, device="numpy")
        assert (back.dtype, back.device) == (values.dtype, pa.device("numpy"))
        np.testing.assert_array_equal(back.native, values)
    with pytest.raises(ValueError, match="converting float64 to bfloat16 needs a copy"):
        pa.asarray(np.ones(2), dtype=pa.bfloat16, device=device, copy=False)


def test_narrowing_is_not_done_where_it_is_not_needed(device: str) -> None:
    for target in DEVICES:
        if "float64" in dtypes(device) & dtypes(target):
            x = pa.asarray(np.asarray([0.1]), device=device)
            y = pa.asarray(x, device=target, narrow=True)
            assert y.dtype == np.float64
            assert as_numpy(y)[0] == 0.1


# --- what is no array of numbers ------------------------------------------------------------------

NO_NUMBERS: dict[str, tuple[Any, str, str]] = {
    "objects": (np.asarray([1, None]), "Python objects", "object"),
    "strings": (np.asarray(["1", "2"]), "strings", "<U1"),
    "bytes": (np.asarray([b"1", b"2"]), "bytes", "S1"),
    "dates": (np.asarray(["2020"], dtype="M8[Y]"), "dates", "datetime64"),
    "a list of strings": (["1", "2"], "strings", "<U1"),
    "a list with None": ([1.0, None], "Python objects", "object"),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_arrays_of_objects_and_texts_are_refused(device: str, kind: str) -> None:
    values, contents, dtype = NO_NUMBERS[kind]
    for copy in (None, True, False):
        with pytest.raises(TypeError, match=f"arrays of {contents} are not supported") as caught:
            pa.asarray(values, device=device, copy=copy)
        for part in (dtype, "only booleans and numbers", "astype"):
            assert part in str(caught.value)
    with pytest.raises(TypeError):
        pa.from_dlpack(values, device=device)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_tensors_that_are_no_arrays(device: str) -> None:
    torch = pytest.importorskip("torch")
    rows = [torch.ones(2), torch.ones(3)]
    refused = {
        torch.eye(2).to_sparse(): r"torch\.sparse_coo is not an array.*\n.*to_dense",
        torch.nested.nested_tensor(rows): r"nested tensor is not an array.*\n.*to_padded_tensor",
        torch.nested.nested_tensor(rows, layout=torch.jagged): "nested tensor is not an array",
    }
    for tensor, why in refused.items():
        for call in (pa.asarray, pa.from_dlpack, lambda x, **to: pa.to_device([x], **to)):
            with pytest.raises(TypeError, match=why):
                call(tensor, device=device if device != "torch:cpu:0" else "numpy")


def test_foreign_byte_order_is_converted(device: str) -> None:
    names = {"uint16", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"}
    for name in sorted(names & dtypes(device)):
        values = (np.arange(24).reshape(4, 6) + 0.0).astype(name)
        foreign = values.astype(values.dtype.newbyteorder())
        assert not foreign.dtype.isnative
        sealed = foreign.copy()
        sealed.flags.writeable = False
        for source, expected in (
            (foreign, values),
            (foreign[::-1, ::2], values[::-1, ::2]),
            (foreign.T, values.T),
            (foreign[:0], values[:0]),
            (foreign[1, 2, ...], values[1, 2, ...]),
            (sealed, values),
        ):
            for copy in (None, True):
                x = pa.asarray(source, device=device, copy=copy)
                assert (x.dtype, x.shape) == (expected.dtype, expected.shape)
                np.testing.assert_array_equal(as_numpy(x), expected)
            x[...] = 0
            with pytest.raises(ValueError, match=r"(?s)copy=False, but .*byte order.*copy=None"):
                pa.asarray(source, device=device, copy=False)
        # It is a copy: nothing was swapped or written in the caller's memory.
        np.testing.assert_array_equal(foreign, values)


# --- devices --------------------------------------------------------------------------------------


def test_devices_that_are_none(device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    for move in (
        x.to_device,
        lambda where: pa.asarray(x, device=where),
        lambda where: pa.from_dlpack(x, device=where),
        lambda where: pa.to_device([x], where),
        lambda where: pa.transfer_plan(x, where),
    ):
        with pytest.raises(
            UnknownDeviceError, match=r"(?s)unknown device 'tortch:cpu'.*'torch:cpu'"
        ):
            move("tortch:cpu")
        with pytest.raises(DeviceNotFunctionalError, match=r"(?s)cpu:7.*index 0.*portarray dev"):
            move("numpy:cpu:7")
        with pytest.raises(
            TypeError, match=r"3\.5 \(.*float\) does not name a device\nHint: pass a text such"
        ):
            move(3.5)
        with pytest.raises(UnknownDeviceError, match="the text is empty"):
            move("")
    assert x.tolist() == [1.0, 2.0]


def test_no_device(device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    with pytest.raises(TypeError, match=r"to_device: None does not name a device"):
        x.to_device(None)
    # Elsewhere None is the default: of an array the device where it is.
    with pa.device("numpy"):
        assert pa.asarray(x, device=None).device is x.device
        assert pa.from_dlpack(x, device=None).device is x.device


def test_streams_are_not_taken(device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    for target in DEVICES:
        for stream in (0, 3, "default"):
            with pytest.raises(ValueError, match=rf"(?s)stream={stream!r}.*pass stream=None"):
                x.to_device(target, stream=stream)
        assert x.to_device(target, stream=None).tolist() == [1.0, 2.0]


def test_host_memory_has_no_streams(device: str) -> None:
    pa_device = pa.device(device)
    if not pa_device._backend.on_host(pa_device.native):
        pytest.skip(f"{device} has its own memory, and streams")
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    for stream in (0, 3):
        with pytest.raises(BufferError, match=rf"(?s)stream={stream}, .* no streams.*stream=None"):
            x.__dlpack__(stream=stream)
    for dl_device in ((2, 0), (15, 3), (1, 1)):
        with pytest.raises(BufferError) as caught:
            x.__dlpack__(dl_device=dl_device)
        assert str(dl_device) in str(caught.value)
        assert "(1, 0)" in str(caught.value)


# --- copy= ----------------------------------------------------------------------------------------


def test_copy_is_true_false_or_none(device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    values = np.ones(3, dtype=np.float32)
    moves: tuple[Callable[[Any], pa.Array], ...] = (
        lambda copy: x.to_device("numpy", copy=copy),
        lambda copy: pa.asarray(x, copy=copy),
        lambda copy: pa.asarray(values, device=device, copy=copy),
        lambda copy: pa.asarray([1.0, 2.0], device=device, copy=copy),
        lambda copy: pa.from_dlpack(x, copy=copy),
        lambda copy: pa.from_dlpack(values, device=device, copy=copy),
    )
    for copy in ("no", 3, 0, 1, 0.0, ""):
        for move in moves:
            with pytest.raises(TypeError, match=f"True, False or None, not {copy!r}") as caught:
                move(copy)
            assert "None" in str(caught.value)


def test_numpy_booleans_are_booleans(device: str) -> None:
    yes: Any = np.bool_(True)
    no: Any = np.bool_(False)
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    assert pa.asarray(x, copy=no) is x
    assert pa.asarray(x, copy=yes) is not x
    with pytest.raises(ValueError, match="copy=False"):
        pa.asarray([1.0, 2.0], device=device, copy=no)
    for target in DEVICES:
        # MLX uses no memory but its own.
        if "mlx" in target and target != device:
            with pytest.raises(ValueError, match="copy=False"):
                x.to_device(target, copy=no)

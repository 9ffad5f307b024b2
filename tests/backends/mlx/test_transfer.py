"""Transfers of MLX's arrays narrow nothing and leave constant memory alone."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

mx = pytest.importorskip("mlx.core")

import portarray as pa  # noqa: E402
from portarray.backends import registry  # noqa: E402
from portarray.backends.mlx import devices  # noqa: E402
from portarray.backends.mlx.transfer import check_shape  # noqa: E402

transfer = registry.load_backend("mlx")
CPU = mx.Device(mx.cpu)
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64"),
    ml_dtypes.bfloat16,
]

with_dtypes = pytest.mark.parametrize("dtype", [np.dtype(dtype) for dtype in DTYPES], ids=str)


@with_dtypes
def test_there_and_back(dtype: np.dtype[Any]) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    native = transfer.from_host(array, CPU, copy=None)
    for copy in (None, True):
        back = transfer.to_host(native, copy=copy)
        # The type itself: NumPy has two of 64 bits, and compiled code tells them apart.
        assert back.dtype.num == dtype.num
        np.testing.assert_array_equal(back, array)
        assert back.flags.writeable is (copy is True)


@with_dtypes
def test_imports_are_copies(dtype: np.dtype[Any]) -> None:
    array = np.zeros(3, dtype=dtype)
    native = transfer.from_host(array, CPU, copy=None)
    array[0] = 1
    assert not transfer.to_host(native, copy=None)[0]
    with pytest.raises(ValueError, match="copy=False"):
        transfer.from_host(array, CPU, copy=False)


WIDE = np.arange(24, dtype=np.float64).reshape(2, 3, 4) / 3


def read_only() -> np.ndarray[Any, Any]:
    array = WIDE.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array",
    [
        np.asarray(1 / 3),
        read_only(),
        WIDE[::-1, :, ::-2],
        WIDE[:1, ::-1],
        WIDE[::-1][:1],
        WIDE.T,
        np.broadcast_to(WIDE[0, 0], (5, 4)),
        WIDE.astype(">f8"),
        WIDE.astype(">f8")[::-1],
        np.frombuffer(b"x" + WIDE.tobytes(), dtype=np.uint8)[1:].view(np.float64),
        np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])["b"],
        np.zeros((0, 3))[::-1],
        np.arange(6.0)[::-1][:1],
        np.arange(600.0).reshape(2, 300)[:, :1],
        np.arange(600.0).reshape(2, 300)[:, ::-7].T,
        np.zeros((3, 0), dtype=">i4"),
    ],
)
def test_any_layout_comes_in_with_every_digit(array: np.ndarray[Any, Any]) -> None:
    native = transfer.from_host(array, CPU, copy=None)
    back = transfer.to_host(native, copy=None)
    assert back.shape == array.shape
    assert back.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(back, array)


def test_gaps_are_not_copied() -> None:
    """A column is exported without the matrix around it, which MLX would copy."""
    matrix = np.ones((1000, 1000))
    memory = mx.get_active_memory()
    columns = [transfer.from_host(matrix[:, index], CPU, copy=None) for index in range(3)]
    assert mx.get_active_memory() - memory < 2**17
    assert [x.sum().item() for x in columns] == [1000.0] * 3
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(10_000.0), 100)
    memory = mx.get_active_memory()
    x = transfer.from_host(windows, CPU, copy=None)
    assert mx.get_active_memory() - memory < 2**17
    np.testing.assert_array_equal(transfer.to_host(x, copy=True), windows)


def test_work_of_another_stream_is_waited_for() -> None:
    with mx.stream(mx.new_stream(mx.cpu)):
        x = mx.ones((256, 256)) / 256  # powers of 2: nothing is rounded
        for _ in range(40):
            x = x @ x
    host = transfer.to_host(x, copy=None)
    np.testing.assert_array_equal(host, 1 / 256)


def test_reading_evaluates_only_the_array_read() -> None:
    x = mx.ones(3) + 1
    unread = mx.sum(mx.linalg.inv(mx.zeros((2, 2)), stream=mx.cpu))  # which cannot be computed
    np.testing.assert_array_equal(transfer.to_host(x, copy=None), [2, 2, 2])
    with pytest.raises(RuntimeError, match="LU factorization failed"):
        mx.eval(unread)


def test_the_devices_of_mlx_need_no_copies() -> None:
    x = pa.asarray(mx.ones(3))
    for device in pa.devices():
        if device.library == "mlx":
            plan = pa.transfer_plan(x, device)
            assert (plan.route, plan.copies) == ("library", 0)


@pytest.mark.parametrize("kind", [2, 4, 8, 10, 14])  # CUDA, OpenCL, Metal, ROCm, oneAPI
def test_memory_that_mlx_cannot_read(kind: int) -> None:
    if kind == 8 and mx.metal.is_available():
        pytest.skip("this MLX has Metal")

    class Elsewhere:
        def __dlpack__(self, **options: Any) -> Any:
            array = np.zeros(3).__dlpack__()
            at = _pointer_in(array, b"dltensor")
            ctypes.c_int32.from_address(at + ctypes.sizeof(ctypes.c_void_p)).value = kind
            return array

        def __dlpack_device__(self) -> tuple[int, int]:
            return kind, 0

    with pytest.raises(BufferError, match=rf"cannot read DLPack device \({kind}, 0\)"):
        transfer.from_dlpack(Elsewhere(), CPU, copy=None)


_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer_in.restype = ctypes.c_void_p


def test_views_keep_their_values_after_later_writes() -> None:
    x = pa.asarray([1.0, 2.0, 3.0], device="mlx:cpu")
    view = np.asarray(x)
    x[0] = 10
    x += 1
    x *= x
    np.testing.assert_array_equal(np.asarray(x), [121, 9, 16])
    np.testing.assert_array_equal(view, [1, 2, 3])


def test_views_live_longer_than_the_array() -> None:
    x = mx.arange(5)
    view = transfer.to_host(x, copy=None)
    del x
    others = [mx.full((5,), value) for value in range(8)]
    mx.eval(others)
    np.testing.assert_array_equal(view, np.arange(5))


def test_a_view_takes_no_copy() -> None:
    x = mx.arange(5)
    first, second = (transfer.to_host(x, copy=False) for _ in range(2))
    assert np.shares_memory(first, second)
    assert not np.shares_memory(first, transfer.to_host(x, copy=True))


def test_a_copy_and_its_original_are_apart() -> None:
    x = mx.zeros(3)
    copied = transfer.move(x, CPU, copy=True)
    copied[0] = 1
    assert x.tolist() == [0, 0, 0]
    assert transfer.move(x, CPU, copy=None) is x


def test_writing_through_portarray_changes_the_users_array() -> None:
    native = mx.zeros(3)
    x = pa.asarray(native)
    assert x.native is native
    x[1] = 5
    x += 1
    assert native.tolist() == [1, 6, 1]


@with_dtypes
def test_dlpack_out(dtype: np.dtype[Any]) -> None:
    torch = pytest.importorskip("torch")
    x = transfer.from_host(np.arange(4).astype(dtype), CPU, copy=None)
    if dtype.name not in ("bfloat16", "bool"):
        imported = torch.utils.dlpack.from_dlpack(
            transfer.to_dlpack(x, stream=None, max_version=None, dl_device=None, copy=None)
        )
        np.testing.assert_array_equal(np.asarray(imported), np.arange(4).astype(dtype))
    back = transfer.from_dlpack(pa.asarray(x), CPU, copy=None)
    assert back.dtype == x.dtype
    assert mx.array_equal(back, x)


def test_exported_memory_is_flagged_as_read_only() -> None:
    x = pa.asarray(mx.arange(3))
    shared = np.from_dlpack(x)
    assert not shared.flags.writeable
    copied = np.from_dlpack(x, copy=True)
    assert copied.flags.writeable
    copied[0] = 9
    np.testing.assert_array_equal(shared, [0, 1, 2])


def test_reversed_arrays_are_copied_for_consumers_without_negative_strides() -> None:
    torch = pytest.importorskip("torch")
    x = pa.asarray(mx.arange(5)[::-1])
    assert torch.from_dlpack(x).tolist() == [4, 3, 2, 1, 0]
    capsule = transfer.to_dlpack(x.native, stream=None, max_version=None, dl_device=None, copy=None)
    assert torch.utils.dlpack.from_dlpack(capsule).tolist() == [4, 3, 2, 1, 0]
    with pytest.raises(BufferError, match="negative strides"):
        transfer.to_dlpack(x.native, stream=None, max_version=None, dl_device=None, copy=False)


def test_dlpack_to_another_device_is_refused() -> None:
    x = mx.arange(3)
    with pytest.raises(BufferError, match="own DLPack device"):
        transfer.to_dlpack(x, stream=None, max_version=(1, 0), dl_device=(2, 0), copy=None)


def test_dlpack_in_narrows_nothing() -> None:
    torch = pytest.importorskip("torch")
    third = torch.tensor([1 / 3], dtype=torch.float64)
    assert transfer.from_dlpack(third, CPU, copy=None).item() == 1 / 3
    half = torch.tensor([1.5], dtype=torch.bfloat16)
    assert transfer.from_dlpack(half, CPU, copy=None).dtype == mx.bfloat16
    with pytest.raises(TypeError, match="complex128"):
        transfer.from_dlpack(torch.zeros(1, dtype=torch.complex128), CPU, copy=None)
    with pytest.raises(ValueError, match="copy=False"):
        transfer.from_dlpack(third, CPU, copy=False)
    native = mx.zeros(2)
    assert transfer.from_dlpack(native, CPU, copy=False) is native


def test_cuda_memory_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    x = mx.arange(6.0)
    monkeypatch.setattr(mx.cuda, "is_available", lambda: True)
    for copy in (None, True):
        values = transfer.to_host(x, copy=copy)
        values[...] = -1.0
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(ValueError, match="copy=False, but NumPy cannot read"):
        transfer.to_host(x, copy=False)


def test_the_longest_axis() -> None:
    check_shape((3, devices.LONGEST))
    for shape in ((devices.LONGEST + 1,), (2, devices.LONGEST + 1), (2**31 + 5, 0)):
        with pytest.raises(ValueError, match=f"exceeds MLX's limit of {devices.LONGEST}"):
            check_shape(shape)

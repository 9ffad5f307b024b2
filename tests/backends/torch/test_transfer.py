"""Tensors in and out: what shares memory, what is copied, what is refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import portarray as pa  # noqa: E402
from portarray.backends import registry  # noqa: E402

transfer = registry.load_room("torch").transfer
CPU = torch.device("cpu")
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    ml_dtypes.bfloat16,
]

each_dtype = pytest.mark.parametrize("dtype", [np.dtype(dtype) for dtype in DTYPES], ids=str)


@each_dtype
def test_both_ways_share_memory(dtype: np.dtype[Any]) -> None:
    array = np.zeros((2, 3), dtype=dtype)
    tensor = transfer.from_host(array, CPU, copy=False)
    tensor[1, 2] = 1
    assert array[1, 2] == 1
    back = transfer.to_host(tensor, copy=False)
    assert back.dtype == dtype
    assert np.shares_memory(back, array)


@each_dtype
def test_copies_are_copies(dtype: np.dtype[Any]) -> None:
    array = np.zeros(3, dtype=dtype)
    tensor = transfer.from_host(array, CPU, copy=True)
    back = transfer.to_host(tensor, copy=True)
    tensor[0] = 1
    assert array[0] == 0
    assert back[0] == 0


def read_only() -> np.ndarray[Any, Any]:
    array = np.zeros(3)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array",
    [
        read_only(),
        np.zeros(3)[::-1],
        np.zeros(3, dtype=">f8"),
        np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])["b"],
    ],
    ids=["read-only", "backwards", "byte order", "unaligned"],
)
def test_what_a_tensor_cannot_show_is_copied(array: np.ndarray[Any, Any]) -> None:
    tensor = transfer.from_host(array, CPU, copy=None)
    tensor[0] = 5
    assert array[0] == 0
    assert tensor.dtype is torch.float64
    with pytest.raises(ValueError, match="copy=None"):
        transfer.from_host(array, CPU, copy=False)


class Exporter:
    """Hands on what another object exports through DLPack."""

    def __init__(self, inner: Any, *, old: bool = False) -> None:
        self.inner = inner
        self.old = old

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options.keys() - {"stream"}:
            raise TypeError("unexpected keyword argument")
        return self.inner.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.inner.__dlpack_device__()


@pytest.mark.parametrize("old", [False, True])
def test_dlpack_shares_memory(old: bool) -> None:
    array = np.zeros(3)
    tensor = transfer.from_dlpack(Exporter(array, old=old), CPU, copy=None)
    tensor[0] = 1
    assert array[0] == 1
    copied = transfer.from_dlpack(Exporter(array, old=old), CPU, copy=True)
    copied[0] = 2
    assert array[0] == 1


def test_dlpack_never_writes_into_read_only_memory() -> None:
    array = read_only()
    for source in (array, Exporter(array)):
        tensor = transfer.from_dlpack(source, CPU, copy=None)
        tensor[0] = 1
        assert array[0] == 0
        with pytest.raises(ValueError, match="read-only"):
            transfer.from_dlpack(source, CPU, copy=False)


class Exported:
    """What NumPy sees of a tensor that the room exports."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        given = {"stream": None, "max_version": None, "dl_device": None, "copy": None}
        return transfer.to_dlpack(self.tensor, **(given | options))

    def __dlpack_device__(self) -> Any:
        return transfer.dlpack_device(self.tensor)


def test_export() -> None:
    tensor = torch.zeros(3)
    shared = np.from_dlpack(Exported(tensor))
    copied = np.from_dlpack(Exported(tensor), copy=True)
    tensor[0] = 1
    assert shared[0] == 1
    assert copied[0] == 0
    with pytest.raises(BufferError, match="own DLPack device"):
        Exported(tensor).__dlpack__(dl_device=(2, 0))


def test_lazy_conjugates_and_negatives_are_resolved() -> None:
    z = torch.tensor([1 + 2j])
    for lazy, expected in ((z.conj(), 1 - 2j), (z.conj().imag, -2.0)):
        assert transfer.to_host(lazy, copy=None)[0] == expected
        assert np.from_dlpack(Exported(lazy))[0] == expected
        with pytest.raises(ValueError, match="lazily"):
            transfer.to_host(lazy, copy=False)
        with pytest.raises(BufferError, match="resolved"):
            Exported(lazy).__dlpack__(copy=False)


def test_gradients_are_not_lost_in_silence() -> None:
    tensor = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"\.detach\(\)"):
        transfer.to_host(tensor, copy=None)
    with pytest.raises(RuntimeError, match=r"\.detach\(\)"):
        Exported(tensor).__dlpack__()


def test_moving_on_one_device() -> None:
    tensor = torch.zeros(2)
    assert transfer.move(tensor, CPU, copy=None) is tensor
    assert transfer.move(tensor, CPU, copy=False) is tensor
    assert transfer.move(tensor, CPU, copy=True).data_ptr() != tensor.data_ptr()


def test_arrays_over_tensors_that_require_a_gradient_can_be_printed() -> None:
    x = pa.asarray(torch.tensor([1.0, 2.0], requires_grad=True))
    assert repr(x) == "Array([1., 2.], dtype=float32, device='torch:cpu:0')"
    with pytest.raises((TypeError, RuntimeError, ValueError), match="detach"):
        np.asarray(x)

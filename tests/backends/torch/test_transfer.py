"""Transfers of tensors: shared memory, copies and refusals."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import portarray as pa  # noqa: E402
from portarray.backends import registry  # noqa: E402

BACKEND = registry.load_backend("torch")
transfer = BACKEND
CPU = torch.device("cpu")
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    ml_dtypes.bfloat16,
]

with_dtypes = pytest.mark.parametrize("dtype", [np.dtype(dtype) for dtype in DTYPES], ids=str)


@with_dtypes
def test_both_ways_share_memory(dtype: np.dtype[Any]) -> None:
    array = np.zeros((2, 3), dtype=dtype)
    tensor = transfer.from_host(array, CPU, copy=False)
    tensor[1, 2] = 1
    assert array[1, 2] == 1
    back = transfer.to_host(tensor, copy=False)
    assert back.dtype == dtype
    assert np.shares_memory(back, array)


@with_dtypes
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
        np.zeros(2)[:1][::-1],
        np.zeros(1, dtype=[("b", "f8"), ("a", "i1")])["b"],
    ],
    ids=["read-only", "backwards", "byte order", "unaligned", "one backwards", "one of odd step"],
)
def test_layouts_that_tensors_lack_are_copied(array: np.ndarray[Any, Any]) -> None:
    tensor = transfer.from_host(array, CPU, copy=None)
    tensor[0] = 5
    assert array[0] == 0
    assert tensor.dtype is torch.float64
    with pytest.raises(ValueError, match="copy=None"):
        transfer.from_host(array, CPU, copy=False)


def layouts(values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Return views of an array of shape (4, 6), and copies of other byte order and alignment."""
    unaligned = np.zeros(values.nbytes + 1, np.uint8)[1:].view(values.dtype).reshape(values.shape)
    unaligned[...] = values
    sealed = values.view()
    sealed.flags.writeable = False
    return [
        *(values, values.T, values[::2, 1::3], values[::-1, ::-2], values[2, 3:4].reshape(())),
        *(
            values[:0],
            values[:0][::-1],
            values[:, 2:2],
            np.asfortranarray(values),
            unaligned,
            sealed,
            sealed[::-1],
        ),
        *(np.broadcast_to(values[1], (3, 6)), np.broadcast_to(values[1, 1], (2, 2))),
        *([values.astype(values.dtype.newbyteorder(">"))] if values.dtype.isbuiltin == 1 else []),
    ]


@with_dtypes
@pytest.mark.parametrize("copy", [None, True])
def test_every_layout_arrives_and_comes_back(dtype: np.dtype[Any], copy: bool | None) -> None:
    values = np.arange(24).reshape(4, 6).astype(dtype)
    if dtype.kind in "fcV":
        values[0, 0], values[1, 1], values[3, 5] = -0.0, np.nan, -np.inf
    for array in layouts(values):
        shares = not BACKEND.why_copied_in(array, CPU) and copy is None
        for tensor in (
            transfer.from_host(array, CPU, copy=copy),
            transfer.from_dlpack(array, CPU, copy=copy),
            transfer.move(transfer.from_host(array, CPU, copy=None), CPU, copy=True),
        ):
            back = transfer.to_host(tensor, copy=copy)
            assert (back.dtype, back.shape) == (dtype, array.shape)
            assert back.tobytes() == array.astype(dtype).tobytes()
        assert np.shares_memory(
            transfer.to_host(transfer.from_host(array, CPU, copy=copy), copy=None), array
        ) == (shares and array.size > 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_lie_where_pytorch_can_read_them(dtype: str) -> None:
    # NumPy aligns their parts only; PyTorch ends the process on some of these.
    itemsize = np.dtype(dtype).itemsize
    memory = np.zeros(8 * itemsize, np.uint8)
    start = -memory.ctypes.data % itemsize + itemsize // 2
    array = memory[start : start + 4 * itemsize].view(dtype)
    array[...] = [1, 2j, 3, 4]
    for view in (array, array[1:2].reshape(()), array[::2]):
        for source in (view, Exporter(view), Exporter(view, old=True)):
            tensor = transfer.from_dlpack(source, CPU, copy=None)
            assert tensor.tolist() == view.tolist()
            tensor[...] = 0
            assert view.any()
            with pytest.raises(ValueError, match="divisible by their size"):
                transfer.from_dlpack(source, CPU, copy=False)
    even = np.zeros(3, dtype)
    shared = transfer.from_dlpack(Exporter(even), CPU, copy=None)
    shared[0] = 1j
    assert even[0] == 1j


def test_large_copies_are_copies() -> None:
    values = np.arange(3 << 20, dtype=np.float32).reshape(3, -1)
    for tensor in (torch.from_numpy(values), torch.from_numpy(values).T):
        for result in (
            transfer.move(tensor, CPU, copy=True),
            transfer.from_dlpack(Exporter(tensor), CPU, copy=True),
            torch.from_dlpack(
                transfer.to_dlpack(tensor, stream=None, max_version=None, dl_device=None, copy=True)
            ),
        ):
            assert torch.equal(result, tensor)
            assert result.untyped_storage().data_ptr() != tensor.untyped_storage().data_ptr()
    leaf = torch.zeros(2 << 20, requires_grad=True)
    assert transfer.move(leaf, CPU, copy=True).requires_grad  # of the graph, as clone() is


class Exporter:
    """A producer that forwards another object's DLPack export."""

    def __init__(self, inner: Any, *, old: bool = False, kind: int | None = None) -> None:
        self.inner = inner
        self.old = old
        self.kind = kind

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options.keys() - {"stream"}:
            raise TypeError("unexpected keyword argument")
        return self.inner.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.inner.__dlpack_device__() if self.kind is None else (self.kind, 0)


@pytest.mark.parametrize("old", [False, True])
def test_dlpack_shares_memory(old: bool) -> None:
    array = np.zeros(3)
    tensor = transfer.from_dlpack(Exporter(array, old=old), CPU, copy=None)
    tensor[0] = 1
    assert array[0] == 1
    copied = transfer.from_dlpack(Exporter(array, old=old), CPU, copy=True)
    copied[0] = 2
    assert array[0] == 1


class Once(Exporter):
    """A producer that counts requests for a copy."""

    copied = 0

    def __dlpack__(self, **options: Any) -> Any:
        self.copied += options.get("copy") is True
        return super().__dlpack__(**options)


@pytest.mark.parametrize("copy", [None, True])
def test_layouts_of_a_gpus_memory_that_tensors_lack_are_copied(copy: bool | None) -> None:
    # With negative strides PyTorch ends the process. (14 is oneAPI's memory, which PyTorch takes
    # as its capsule says; this one says the CPU.)
    array = np.arange(6.0).reshape(2, 3)
    for view in (array[::-1], array[:, ::-1], np.flip(array)):
        producer = Once(view, kind=14)
        tensor = transfer.from_dlpack(producer, None, copy=copy)
        np.testing.assert_array_equal(tensor.numpy(), view)
        assert producer.copied == 1
        tensor[...] = -1.0
        assert array[0, 0] == 0
        with pytest.raises(ValueError, match="copy=False, but tensors have no negative strides"):
            transfer.from_dlpack(Once(view, kind=14), None, copy=False)
        assert "negative strides" in transfer.why_copied_over(Once(view, kind=14))
        with pytest.raises(BufferError, match="cannot be exported without a copy"):
            transfer.from_dlpack(Exporter(view, kind=14, old=True), None, copy=None)
    for view in (array, array.T, array[:, 1]):
        assert transfer.why_copied_over(Once(view, kind=14)) == ""
        plain = Once(view, kind=14)
        shared = transfer.from_dlpack(plain, None, copy=None)
        assert shared.data_ptr() == view.ctypes.data
        assert not plain.copied


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch reads a GPU's memory here")
def test_a_gpus_memory_is_copied_only_where_that_is_allowed() -> None:
    array = np.arange(3.0)
    for device in (None, CPU):
        with pytest.raises(ValueError, match="copy=False, but "):
            transfer.from_dlpack(Exporter(array, kind=2), device, copy=False)
    # The producer copies it to the host when it is asked to.
    tensor = transfer.from_dlpack(Exporter(array, kind=2), None, copy=None)
    assert tensor.tolist() == [0.0, 1.0, 2.0]


def test_dlpack_never_writes_into_read_only_memory() -> None:
    array = read_only()
    for source in (array, Exporter(array)):
        tensor = transfer.from_dlpack(source, CPU, copy=None)
        tensor[0] = 1
        assert array[0] == 0
        with pytest.raises(ValueError, match="read-only"):
            transfer.from_dlpack(source, CPU, copy=False)


class OneShot:
    """A producer that returns the same capsule each time, which can be consumed once."""

    def __init__(self, capsule: Any, kind: int = 1) -> None:
        self.capsule = capsule
        self.kind = kind
        self.call_count = 0

    def __dlpack__(self, **_options: Any) -> Any:
        self.call_count += 1
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.kind, 0)


VERSIONS = [None, (1, 0)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("copy", [None, False, True])
def test_a_capsule_is_requested_once(version: tuple[int, int] | None, copy: bool | None) -> None:
    array = np.arange(3.0)
    producer = OneShot(array.__dlpack__(max_version=version))
    tensor = transfer.from_dlpack(producer, CPU, copy=copy)
    assert producer.call_count == 1
    tensor[0] = 5
    assert (array[0] == 5) == (copy is not True)
    with pytest.raises(BufferError, match="already consumed"):
        transfer.from_dlpack(producer, CPU, copy=copy)


def test_reversed_and_read_only_capsules_are_copied() -> None:
    values = np.arange(6.0)
    for array, why in ((values[::-2], "negative strides"), (read_only(), "read-only")):
        tensor = transfer.from_dlpack(OneShot(array.__dlpack__(max_version=(1, 0))), CPU, copy=None)
        assert tensor.tolist() == array.tolist()
        tensor[0] = 7
        assert array[0] != 7
        with pytest.raises(ValueError, match=why):
            transfer.from_dlpack(OneShot(array.__dlpack__(max_version=(1, 0))), CPU, copy=False)
    half = torch.arange(3).to(torch.bfloat16)
    assert transfer.from_dlpack(Exporter(half), CPU, copy=True).tolist() == [0, 1, 2]
    # Page-locked memory is host memory, though PyTorch itself does not take it back.
    locked = Exporter(values, kind=3)
    transfer.from_dlpack(locked, CPU, copy=False)[0] = 9
    assert values[0] == 9


def test_memory_of_an_unsupported_gpu_is_copied_to_the_host() -> None:
    if torch.cuda.is_available():
        pytest.skip("PyTorch drives CUDA here")
    values = np.arange(3.0)
    tensor = transfer.from_dlpack(Exporter(values, kind=2), CPU, copy=None)
    assert tensor.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="copy=False"):
        transfer.from_dlpack(Exporter(values, kind=2), CPU, copy=False)


class Noted(np.ndarray[Any, Any]):
    """A subclass of NumPy's array, for weak references to its memory."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("order", list(itertools.permutations(["source", "capsule", "tensor"])))
def test_memory_lives_as_long_as_the_tensor(
    version: tuple[int, int] | None, order: tuple[str, ...]
) -> None:
    source = np.arange(1000.0).view(Noted)
    alive = weakref.ref(source)
    capsule = OneShot(source.__dlpack__(max_version=version))
    tensor = transfer.from_dlpack(capsule, CPU, copy=None)
    held: dict[str, Any] = {"source": source, "capsule": capsule, "tensor": tensor}
    del source, capsule, tensor
    for name in order:
        del held[name]
        if "tensor" in held:
            assert held["tensor"].sum() == 499500
    assert alive() is None


@pytest.mark.parametrize("version", VERSIONS)
def test_unused_capsules_free_the_tensor(version: tuple[int, int] | None) -> None:
    array = np.zeros(1000).view(Noted)
    alive = weakref.ref(array)
    defaults: dict[str, Any] = {
        "stream": None,
        "max_version": version,
        "dl_device": None,
        "copy": None,
    }
    capsules = [transfer.to_dlpack(torch.from_numpy(array), **defaults) for _ in range(3)]
    del array
    assert alive() is not None
    del capsules
    assert alive() is None


class Exported:
    """A tensor exported by the backend, as NumPy imports it."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **options: Any) -> Any:
        defaults = {"stream": None, "max_version": None, "dl_device": None, "copy": None}
        return transfer.to_dlpack(self.tensor, **(defaults | options))

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


def test_transfers_refuse_tensors_that_require_grad() -> None:
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

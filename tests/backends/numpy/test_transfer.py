"""Transfers of NumPy's arrays; read-only memory is copied at the first assignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import portarray as pa
from portarray.backends import registry

transfer = registry.load_backend("numpy")


def sealed(values: Any) -> np.ndarray[Any, Any]:
    array = np.array(values)
    array.flags.writeable = False
    return array


# --- read-only memory -----------------------------------------------------------------------------


def test_read_only_memory_is_shared_until_it_is_written() -> None:
    array = sealed([1.0, 2.0, 3.0])
    x = pa.asarray(array, device="numpy")
    assert x.native is array
    y, whole = x[1:], x
    assert np.shares_memory(y.native, array)
    x[0] = 7.0
    assert x.tolist() == [7.0, 2.0, 3.0]
    assert array.tolist() == [1.0, 2.0, 3.0]
    assert y.tolist() == [2.0, 3.0]
    native = x.native
    x[1] = 8.0
    assert x.native is native  # one copy, not one for each assignment
    assert whole is x


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda x: x.__setitem__(..., 5), [5, 5]),
        (lambda x: x.__setitem__(slice(None), pa.asarray([8, 9], device=x.device)), [8, 9]),
        (lambda x: x.__setitem__(x > 2, 0), [2, 0]),
        (lambda x: x.__setitem__(pa.asarray([1], device=x.device), 6), [2, 6]),
        (lambda x: x.__iadd__(1), [3, 4]),
        (lambda x: x.__iadd__(x), [4, 6]),
        (lambda x: x.__isub__(1), [1, 2]),
        (lambda x: x.__imul__(2), [4, 6]),
        (lambda x: x.__ipow__(2), [4, 9]),
        (lambda x: x.__ifloordiv__(2), [1, 1]),
        (lambda x: x.__imod__(2), [0, 1]),
        (lambda x: x.__iand__(2), [2, 2]),
        (lambda x: x.__ior__(4), [6, 7]),
        (lambda x: x.__ixor__(1), [3, 2]),
        (lambda x: x.__ilshift__(1), [4, 6]),
        (lambda x: x.__irshift__(1), [1, 1]),
    ],
)
def test_writes_copy_read_only_memory_first(
    write: Callable[[pa.Array], None], expected: list[int]
) -> None:
    original = sealed([2, 3])
    strided = sealed([3, 2])[::-1]
    for array in (original, strided):
        x = pa.asarray(array, device="numpy")
        write(x)
        assert x.tolist() == expected
        assert array.tolist() == [2, 3]


def test_in_place_division_and_matmul() -> None:
    array = sealed([[1.0, 2.0], [3.0, 4.0]])
    x, y = (pa.asarray(array, device="numpy") for _ in range(2))
    x /= 2.0
    y @= pa.asarray(np.eye(2)[::-1], device="numpy")
    assert x.tolist() == [[0.5, 1.0], [1.5, 2.0]]
    assert y.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert array.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_errors_of_writable_and_read_only_arrays_are_the_same() -> None:
    for array in (np.arange(3), sealed([0, 1, 2])):
        x = pa.asarray(array, device="numpy")
        with pytest.raises(ValueError, match="negative"):
            x **= -1
        with pytest.raises(ValueError, match="broadcast"):
            x[:2] = pa.zeros(3, dtype=pa.int64, device="numpy")
        assert x.tolist() == [0, 1, 2]


def test_broadcast_arrays_are_not_written() -> None:
    x = pa.asarray([1.0, 2.0], device="numpy")
    y, z = pa.broadcast_arrays(x, pa.zeros((2, 2), device="numpy"))
    for view in (y, pa.broadcast_to(x, (2, 2))):
        with pytest.raises(ValueError, match="share memory"):
            view[0, 0] = 5.0
        with pytest.raises(ValueError, match="share memory"):
            view += 1.0
    assert x.tolist() == [1.0, 2.0]
    z[0, 0] = 5.0
    assert z.tolist() == [[5.0, 0.0], [0.0, 0.0]]


# --- in and out -----------------------------------------------------------------------------------


def test_foreign_byte_order_is_converted() -> None:
    array = np.arange(3, dtype=">i4")
    assert "byte order '>'" in registry.load_backend("numpy").why_copied_in(array, "cpu")
    for copy in (None, True):
        converted = transfer.from_host(array, "cpu", copy=copy)
        assert converted.dtype.isnative
        assert converted.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"byte order '>'\nHint: pass copy=None"):
        transfer.from_host(array, "cpu", copy=False)


def test_copies_are_as_compact_as_can_be() -> None:
    values = np.arange(12.0).reshape(3, 4)
    for array in (values.T, values[::-1, ::2], np.broadcast_to(values[0], (2, 4)), values[:0]):
        for copy in (
            transfer.from_host(array, "cpu", copy=True),
            transfer.to_host(array, copy=True),
            transfer.move(array, "cpu", copy=True),
        ):
            np.testing.assert_array_equal(copy, array)
            assert not np.shares_memory(copy, values)
            assert copy.flags.writeable
            assert copy.flags.forc


class Producer:
    """A producer that exports a NumPy array as from another device."""

    def __init__(self, values: np.ndarray[Any, Any], kind: int) -> None:
        self.values = values
        self.kind = kind
        self.requests: list[dict[str, Any]] = []

    def __dlpack__(self, **options: Any) -> Any:
        self.requests.append(options)
        return self.values.__dlpack__(max_version=options.get("max_version"))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.kind, 0)


def test_dlpack_shares_memory_of_the_host_and_asks_once() -> None:
    values = np.arange(3)
    for kind in (1, 3, 11):  # of the CPU, and page-locked for CUDA and ROCm
        producer = Producer(values, kind)
        x = pa.from_dlpack(producer, device="numpy", copy=False)
        x[0] += 1
        assert len(producer.requests) == 1
        y = pa.from_dlpack(producer, device="numpy", copy=True)
        y[0] = -1
    assert values[0] == 3


def test_dlpack_requests_a_copy_from_other_devices() -> None:
    producer = Producer(np.arange(3), 2)
    assert pa.from_dlpack(producer, device="numpy").tolist() == [0, 1, 2]
    assert producer.requests[-1]["dl_device"] == (1, 0)
    with pytest.raises(ValueError, match="the data is in kDLCUDA memory"):
        transfer.from_dlpack(producer, "cpu", copy=False)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0)])
def test_read_only_memory_is_exported_with_its_mark_or_as_a_copy(
    version: tuple[int, int] | None,
) -> None:
    array = sealed([1.0, 2.0])
    x = pa.asarray(array, device="numpy")
    old = version is None or version < (1, 0)
    imported = np.from_dlpack(Exported(x, version))
    assert imported.tolist() == [1.0, 2.0]
    assert np.shares_memory(imported, array) != old
    assert not imported.flags.writeable
    if old:
        with pytest.raises(BufferError, match="readonly"):
            x.__dlpack__(max_version=version, copy=False)


class Exported:
    """An array exported for consumers of DLPack up to a version."""

    def __init__(self, x: pa.Array, version: tuple[int, int] | None) -> None:
        self.x = x
        self.version = version

    def __dlpack__(self, **_options: object) -> Any:
        return self.x.__dlpack__(max_version=self.version)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()


def test_bfloat16_of_others_is_no_dtype_of_numpys_arrays() -> None:
    assert np.dtype(ml_dtypes.bfloat16) not in registry.load_backend("numpy").dtypes("cpu", 0)
    torch = pytest.importorskip("torch")
    with pytest.raises(pa.DTypeNotSupportedError, match="bfloat16"):
        pa.from_dlpack(torch.zeros(2, dtype=torch.bfloat16), device="numpy")

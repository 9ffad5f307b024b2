"""Creation of arrays: from other arrays, filled, and in equal steps."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

from portarray._opencl.device import Device
from portarray.clarray import creation, data_type
from portarray.clarray.dtypes import ALL, bfloat16
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.errors import DTypeNotSupportedError
from portarray.clarray.info import __array_namespace_info__

pytestmark = pytest.mark.drawn_devices(1)

NumpyArray = np.ndarray[Any, Any]


@pytest.mark.parametrize(
    ("obj", "dtype"),
    [
        (True, "bool"),
        (3, "int64"),
        (2.5, "float64"),
        (1j, "complex128"),
        ([[True, 2], [3, 4]], "int64"),
        (((1, 2.5),), "float64"),
        ([1, 1j], "complex128"),
        ([], "float64"),
        ([[], []], "float64"),
        ([np.float32(1), np.float32(2)], "float32"),
        (np.float32(1.5), "float32"),
        (np.arange(6, dtype=">i4").reshape(2, 3)[:, ::-1], "int32"),
        (np.array([1.5, -2], bfloat16), "bfloat16"),
        (array.array("h", [1, 2]), "int16"),
        (b"ab", "uint8"),
        (memoryview(np.ones((2, 2), np.float32)), "float32"),
    ],
)
def test_asarray(device: Device, obj: Any, dtype: str) -> None:
    got = creation.asarray(obj, device=device)
    assert got.device is device
    assert got.dtype.name == dtype
    want = np.frombuffer(obj, np.uint8) if isinstance(obj, bytes) else np.asarray(obj)
    np.testing.assert_array_equal(to_numpy(got), want)


@pytest.mark.parametrize(
    ("obj", "dtype", "error", "message"),
    [
        (2**63, None, OverflowError, "int64"),
        ([1, 2**63], None, OverflowError, "int64"),
        ([-1, 2**64], None, OverflowError, "does not fit"),
        ([1, 300], "int8", OverflowError, r"300.*int8"),
        ([-1], "uint64", OverflowError, "uint64"),
        ("abc", None, TypeError, "numbers"),
        (["1.5"], "float64", TypeError, "'1.5'"),
        ([1, None], None, TypeError, "NoneType"),
        (np.array(["a"]), None, TypeError, "<U1"),
        (np.array([object()]), None, TypeError, "object"),
        ([1j], "float32", TypeError, "real or imag"),
        ([[1], [1, 2]], None, ValueError, "inhomogeneous"),
        ([1], "float24", TypeError, "float24"),
    ],
)
def test_asarray_refuses(
    device: Device, obj: Any, dtype: str | None, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        creation.asarray(obj, dtype=dtype, device=device)


def test_wide_unsigned_integers_on_request(device: Device) -> None:
    got = creation.asarray([1, 2**64 - 1], dtype="uint64", device=device)
    assert to_numpy(got).tolist() == [1, 2**64 - 1]


def test_asarray_of_nested_arrays(device: Device) -> None:
    x = creation.asarray([1, 2], dtype="int32", device=device)
    y = creation.asarray(3.5, device=device)
    result = creation.asarray([[y, 1.0], [x[0], x[1]]], device=device)
    assert to_numpy(result).tolist() == [[3.5, 1.0], [1.0, 2.0]]
    assert creation.asarray([x, x], device=device).dtype == np.int32
    assert not x.storage.shared  # a look on the spot leaves kernels asynchronous


def test_asarray_of_an_array(device: Device) -> None:
    x = creation.asarray([1, 2, 3], device=device)
    assert creation.asarray(x) is x
    assert creation.asarray(x, copy=False, dtype=x.dtype) is x
    copied = creation.asarray(x, copy=True)
    assert copied.storage is not x.storage
    assert creation.asarray(x, dtype="float32").dtype == np.float32
    with pytest.raises(ValueError, match="copy=False"):
        creation.asarray(x, dtype="float32", copy=False)
    with pytest.raises(TypeError, match="real or imag"):
        creation.asarray(creation.asarray([1j], device=device), dtype="float64")


def test_copy_false_shares_memory_or_fails(device: Device) -> None:
    values = np.arange(6.0)
    if device.host_memory:
        shared = creation.asarray(values, device=device, copy=False)
        values[0] = 9
        assert to_numpy(shared)[0] == 9
    else:
        with pytest.raises(ValueError, match="copy=False"):
            creation.asarray(values, device=device, copy=False)
    copied = creation.asarray(values, device=device)
    values[1] = 9
    assert to_numpy(copied)[1] == 1
    for obj in ([1.0, 2.0], 3, values.astype(">f8")):
        with pytest.raises(ValueError, match="copy=False"):
            creation.asarray(obj, device=device, copy=False)
    with pytest.raises(ValueError, match="needs a copy"):
        creation.asarray(values, device=device, copy=False, dtype="float32")


def test_a_device_without_float64(device: Device) -> None:
    narrow = Device(device.native, device.index)
    narrow.dtypes = frozenset(dtype for dtype in ALL if dtype.name not in ("float64", "complex128"))
    with pytest.raises(DTypeNotSupportedError, match=r"(?s)float64.*float32"):
        creation.asarray(np.ones(2), device=narrow)
    with pytest.raises(DTypeNotSupportedError, match=r"(?s)complex128.*complex64"):
        creation.zeros(2, dtype="complex128", device=narrow)
    assert creation.asarray([1.5], device=narrow).dtype == np.float32
    assert creation.linspace(0, 1j, 3, device=narrow).dtype == np.complex64
    assert creation.arange(0.0, 1.0, 0.25, device=narrow).dtype == np.float32
    assert "float64" not in __array_namespace_info__().dtypes(device=narrow)
    x = creation.ones(2, dtype="float32", device=narrow)
    assert not data_type.can_cast(x, "float64")


def test_full_takes_its_dtype_from_the_value(device: Device) -> None:
    for value, name in ((True, "bool"), (3, "int64"), (0.5, "float64"), (1j, "complex128")):
        got = creation.full((2,), value, device=device)
        assert got.dtype.name == name
        assert to_numpy(got).tolist() == [value, value]
    scalar = creation.asarray(np.float32(2.5), device=device)
    assert creation.full(2, scalar).dtype == np.float32
    assert np.signbit(to_numpy(creation.full(2, -0.0, device=device))).all()


@pytest.mark.parametrize(
    ("value", "dtype", "error"),
    [
        (300, "int8", OverflowError),
        (-1, "uint64", OverflowError),
        (float("nan"), "int32", OverflowError),
        (1j, "float64", TypeError),
        ("1", "float64", TypeError),
        (2**63, None, OverflowError),
    ],
)
def test_full_refuses(
    device: Device, value: Any, dtype: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        creation.full(2, value, dtype=dtype, device=device)


def test_shapes_that_are_none(device: Device) -> None:
    with pytest.raises(ValueError, match="negative"):
        creation.zeros((2, -1), device=device)
    with pytest.raises(TypeError, match=r"1\.5"):
        creation.zeros((1.5,), device=device)  # type: ignore[arg-type]


def test_arange_refuses(device: Device) -> None:
    with pytest.raises(ValueError, match="step 0"):
        creation.arange(1, 2, 0, device=device)
    with pytest.raises(ValueError, match="finite"):
        creation.arange(float("inf"), device=device)
    with pytest.raises(TypeError, match="bool"):
        creation.arange(3, dtype="bool", device=device)
    with pytest.raises(OverflowError, match="int8"):
        creation.arange(200, dtype="int8", device=device)
    with pytest.raises(TypeError, match="real"):
        creation.arange(1j, device=device)  # type: ignore[arg-type]


def test_linspace_of_other_dtypes(device: Device) -> None:
    got = creation.linspace(0, 10, 5, dtype="float16", device=device)
    assert to_numpy(got).tolist() == [0, 2.5, 5, 7.5, 10]
    got = creation.linspace(0, 10, 5, dtype="int32", device=device)
    assert to_numpy(got).tolist() == [0, 2, 5, 7, 10]
    with pytest.raises(ValueError, match="-1"):
        creation.linspace(0, 1, -1, device=device)
    with pytest.raises(TypeError, match=r"2\.5"):
        creation.linspace(0, 1, 2.5, device=device)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="complex"):
        creation.linspace(0, 1j, 3, dtype="float64", device=device)


def test_dtypes() -> None:
    assert data_type.finfo("bfloat16").eps == 2.0**-7
    assert data_type.finfo("complex64") == data_type.finfo(np.float32)
    assert type(data_type.finfo("float16").max) is float
    assert data_type.iinfo("uint8").max == 255
    with pytest.raises(TypeError, match="iinfo"):
        data_type.finfo("int8")
    with pytest.raises(TypeError, match="finfo"):
        data_type.iinfo("float32")
    assert data_type.isdtype("bfloat16", "real floating")
    assert data_type.isdtype(np.dtype("int8"), ("bool", np.int8))
    assert not data_type.isdtype("bool", "numeric")
    with pytest.raises(ValueError, match="float"):
        data_type.isdtype("float32", "float")
    assert data_type.result_type("int8", "uint8", 1) == np.int16
    assert data_type.result_type("float32", 1j) == np.complex64
    assert data_type.result_type("int64", "float32") == np.float32
    assert data_type.result_type(True, 2, 0.5) == np.float64
    assert data_type.can_cast("int8", "int16")
    assert not data_type.can_cast("int16", "uint64")
    with pytest.raises(TypeError, match="uint64"):
        data_type.result_type("uint64", "int8")
    with pytest.raises(ValueError, match="at least one"):
        data_type.result_type()


def test_astype(device: Device) -> None:
    x = creation.asarray([0.0, 1.5, -2.75], device=device)
    assert to_numpy(data_type.astype(x, "int8")).tolist() == [0, 1, -2]
    assert to_numpy(data_type.astype(x, bool)).tolist() == [False, True, True]
    assert data_type.astype(x, "float64", copy=False) is x
    assert data_type.astype(x, "float64").storage is not x.storage
    with pytest.raises(TypeError, match="real or imag"):
        data_type.astype(data_type.astype(x, "complex64"), "float32")
    with pytest.raises(TypeError, match="asarray"):
        data_type.astype(np.ones(2), "float32")  # type: ignore[arg-type]


def test_asarray_of_dlpack_producers(device: Device) -> None:
    torch = pytest.importorskip("torch")
    values = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    copied = creation.asarray(values.T, device=device)
    half = creation.asarray(values.to(torch.bfloat16), device=device)
    assert half.dtype == bfloat16
    if device.host_memory:
        shared = creation.asarray(values, device=device, copy=False)
        values[0, 1] = 9
        assert to_numpy(shared)[0, 1] == 9
        with pytest.raises(ValueError, match="needs a copy"):
            creation.asarray(values, dtype="int8", device=device, copy=False)
    assert to_numpy(copied).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert creation.asarray(values, dtype="int8", device=device).dtype == np.int8


def test_asarray_moves_between_devices(device: Device) -> None:
    x = creation.arange(6, dtype="float32")
    there = creation.asarray(x, device=device, dtype="int16")
    assert (there.device, there.dtype) == (device, np.int16)
    assert to_numpy(there).tolist() == list(range(6))
    if device is not x.device:
        with pytest.raises(ValueError, match="copy=False"):
            creation.asarray(x, device=device, copy=False)
        assert data_type.astype(x, "float32", device=device).device is device

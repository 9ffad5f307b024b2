"""``asarray`` takes arrays, buffers and lists, and narrows and shares only on request."""

from __future__ import annotations

import array
import ctypes
import mmap
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from drawn import VALUES, as_numpy, drawing, dtypes_of, library_of, same, small
from hypothesis import given
from hypothesis import strategies as st

import portarray as pa
from portarray.errors import DTypeNotSupportedError


@given(data=st.data())
@drawing
def test_numpy_arrays_keep_their_dtype(anywhere: str, data: st.DataObject) -> None:
    a = data.draw(small(data.draw(st.sampled_from(dtypes_of(anywhere)))))
    for layout in (
        a,
        np.asfortranarray(a),
        a[::-1] if a.ndim else a,
        a.astype(a.dtype.newbyteorder()),
    ):
        x = pa.asarray(layout, device=anywhere)
        assert str(x.device) == anywhere
        same(x, layout.astype(a.dtype))


NUMBERS = (
    *(True, 3, -7, 2**53 + 1, 2**63, 2**64, -(2**63), 1.5, float("nan"), 1e300, -0.0, 1 + 2j),
    *(np.float64(2.5), np.float32(0.1), np.int8(-3), np.uint64(2**63), np.bool_(1)),
)


class Subclass(list[Any]):
    """A list that no shortcut takes."""


@given(
    numbers=st.lists(st.sampled_from(NUMBERS), min_size=1, max_size=3),
    rows=st.booleans(),
    dtype=st.sampled_from((None, "float32", "int8", "uint64", "complex64", "bool")),
)
@drawing
def test_lists_of_any_numbers_are_converted_like_any_other_sequence(
    device: str, numbers: list[Any], rows: bool, dtype: str | None
) -> None:
    obj = [numbers, numbers] if rows else numbers

    def outcome(values: list[Any]) -> object:
        try:
            x = pa.asarray(values, dtype=dtype, device=device)
        except (TypeError, OverflowError, DTypeNotSupportedError) as error:
            return type(error), str(error).replace("Subclass", "list")
        return x.dtype, repr(x.tolist())

    expected = outcome(Subclass(obj))
    assert [outcome(obj), outcome(obj)] == [expected, expected]


@given(data=st.data())
@drawing
def test_nested_lists(anywhere: str, data: st.DataObject) -> None:
    a = data.draw(small(data.draw(st.sampled_from(dtypes_of(anywhere)))))
    if a.size:  # an empty list has one axis, whatever it came from
        for dtype in (a.dtype, str(a.dtype), a.dtype.type):
            same(pa.asarray(a.tolist(), dtype=dtype, device=anywhere), a)
        result = pa.asarray(a.tolist(), device=anywhere)
        assert result.dtype.kind == ("i" if a.dtype.kind == "u" else a.dtype.kind)
        np.testing.assert_array_equal(as_numpy(result), a)


@given(data=st.data())
@drawing
def test_long_lists_of_several_types_are_what_numpy_makes_of_them(
    anywhere: str, data: st.DataObject
) -> None:
    kinds = [False, 3, 2**53 + 1, 0.1, 1e308, np.float64(0.5), np.int64(7)]
    drawn = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    numbers = drawn * 1500
    for values in (numbers, [numbers[:75]] * 2, numbers + drawn):
        expected = np.asarray(values)
        result = pa.asarray(values, device=anywhere)
        assert result.dtype.kind == expected.dtype.kind
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(as_numpy(result), expected.astype(str(result.dtype)))


def test_rows_of_arrays(anywhere: str) -> None:
    rows = [np.asarray([1, 2], dtype=np.int16), np.asarray([3, 4], dtype=np.int16)]
    same(pa.asarray(rows, device=anywhere), np.stack(rows))
    same(pa.asarray(range(3), dtype=pa.int32, device=anywhere), np.arange(3, dtype=np.int32))


def test_rows_of_our_arrays(device: str) -> None:
    rows = [pa.asarray([1, 2], dtype=pa.int16, device=device)] * 2
    same(pa.asarray(rows, device=device), np.asarray([[1, 2], [1, 2]], dtype=np.int16))


class Duck:
    """A column as in pandas, with ``__array__`` only."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.values, dtype=dtype, copy=copy)


BUFFERS: dict[str, Callable[[], Any]] = {
    "array.array": lambda: array.array("i", [1, 2, 3]),
    "memoryview": lambda: memoryview(array.array("i", [1, 2, 3])),
    "reversed memoryview": lambda: memoryview(array.array("i", [3, 2, 1]))[::-1],
    "bytearray": lambda: bytearray([1, 2, 3]),
    "__array__": lambda: Duck(np.asarray([1, 2, 3], dtype=np.int32)),
    "NumPy scalars": lambda: [np.int32(1), np.int32(2), np.int32(3)],
}


@pytest.mark.parametrize("kind", BUFFERS)
def test_buffers(anywhere: str, kind: str) -> None:
    x = pa.asarray(BUFFERS[kind](), device=anywhere)
    assert as_numpy(x).tolist() == [1, 2, 3]
    expected_dtype = {"bytearray": pa.uint8, "NumPy scalars": None}.get(kind, pa.int32)
    if expected_dtype is not None:
        assert x.dtype == expected_dtype
    same(
        pa.asarray(BUFFERS[kind](), dtype=pa.float32, device=anywhere),
        np.asarray([1, 2, 3], dtype=np.float32),
    )


def test_pandas(device: str) -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([1.5, 2.5])
    same(pa.asarray(column, device=device), np.asarray([1.5, 2.5]))
    with pytest.raises(TypeError, match="Python objects"):
        pa.asarray(pandas.Series(["a", None], dtype=object), device=device)


def test_rows_bring_their_dtype(device: str) -> None:
    """Lists of arrays of any library keep their dtype instead of the default one."""
    having = {
        str(candidate): {
            dtype.name for dtype in candidate._backend.dtypes(candidate.platform, candidate.index)
        }
        for candidate in pa.devices()
    }
    for name in sorted(having[device] & {"int16", "float32", "bfloat16", "int64", "float64"}):
        for shape in ((), (3,)):
            values = np.full(shape, 2).astype(np.dtype(getattr(pa, name)))
            row = pa.asarray(values, device=device)
            for rows in ([row, row], [row.native, row.native], [[row.native]], (row.native,)):
                for target, names in having.items():
                    if name in names:
                        x = pa.asarray(rows, device=target)
                        assert x.dtype == values.dtype, (name, target)
                        assert (x == 2).all().item()
                    else:
                        with pytest.raises(
                            pa.DTypeNotSupportedError, match=f"does not support {name}"
                        ):
                            pa.asarray(rows, device=target)


def test_integers_beyond_64_bits_are_not_rounded_in_silence(device: str) -> None:
    for values in (2**64, [2**63, -1], [[2**70], [1]], (-(2**63) - 1,)):
        with pytest.raises(OverflowError, match=r"(?s)any integer dtype: .*dtype=pa\.float64"):
            pa.asarray(values, device=device)
        x = pa.asarray(values, dtype=pa.float32, device=device)
        np.testing.assert_array_equal(as_numpy(x), np.asarray(values, dtype=np.float32))
    assert pa.asarray([2**63, 1], device="numpy").dtype == pa.uint64
    assert pa.asarray([2.0**70, 1], device="numpy").tolist() == [2.0**70, 1]


REFUSED: dict[str, tuple[Any, str]] = {
    "str": ("text", "arrays of strings are not supported"),
    "list of str": (["a", "b"], "arrays of strings are not supported"),
    "array of str": (np.asarray(["a"]), "arrays of strings are not supported"),
    "bytes": ([b"a"], "arrays of bytes are not supported"),
    "None": (None, "arrays of Python objects are not supported"),
    "objects": (np.asarray([1, None]), "arrays of Python objects are not supported"),
    "fractions": ([Fraction(1, 2)], "arrays of Python objects are not supported"),
    "dict": (
        {"a": 1},
        r"(?s)arrays of Python objects are not supported.* a nested list of numbers",
    ),
    "iterator": (iter([1.0]), r"list\(x\) of an iterator"),
    "dates": ([datetime(2020, 1, 1)], "arrays of Python objects are not supported"),
    "datetime64": (np.asarray(["2020"], dtype="M8[Y]"), "arrays of dates are not supported"),
    "timedelta64": (np.asarray([1], dtype="m8[s]"), "arrays of time spans are not supported"),
    "StringDType": (
        np.asarray(["a"], np.dtypes.StringDType()),
        "arrays of strings are not supported",
    ),
    "records": (np.zeros(1, dtype="i4,f4"), "arrays of records are not supported"),
    "float8": (np.zeros(1, ml_dtypes.float8_e4m3fn), "arrays of float8_e4m3fn are not supported"),
}


@pytest.mark.one_device
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("dtype", [None, "float32", "bool"])
def test_invalid_values_are_refused(anywhere: str, kind: str, dtype: str | None) -> None:
    values, message = REFUSED[kind]
    with pytest.raises(TypeError, match=message):
        pa.asarray(values, dtype=dtype, device=anywhere)


@pytest.mark.one_device
@pytest.mark.parametrize("rows", [[[1, 2], [3]], [[1], 2], [[[1]], [[1, 2]]]], ids=repr)
def test_ragged_lists(anywhere: str, rows: Any) -> None:
    with pytest.raises(ValueError, match=r"(?s)ragged: .*Hint: pad the rows"):
        pa.asarray(rows, device=anywhere)


@pytest.mark.one_device
@pytest.mark.parametrize(
    ("values", "dtype"), [([300], "uint8"), ([-1], "uint16"), ([2**31], "int32"), (-129, "int8")]
)
def test_integers_that_do_not_fit(anywhere: str, values: Any, dtype: str) -> None:
    with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
        pa.asarray(values, dtype=dtype, device=anywhere)


def test_integers_beyond_every_dtype(device: str) -> None:
    same(pa.asarray([2**63], device=device), np.asarray([2**63], dtype=np.uint64))
    with pytest.raises((OverflowError, TypeError)):
        pa.asarray([2**64], device=device)
    with pytest.raises((OverflowError, TypeError)):
        pa.asarray(-(2**63) - 1, device=device)


@pytest.mark.parametrize("name", ["float64", "complex128", "int64", "uint64"])
def test_narrowing_needs_the_option(nofloat64: str, no64bit: str, name: str) -> None:
    narrower = {"float64": "float32", "complex128": "complex64", "int64": "int32"}.get(
        name, "uint32"
    )
    values = np.asarray([1, 2], dtype=name)
    for device in (nofloat64, no64bit):
        if np.dtype(name) in dtypes_of(device):
            continue
        for source in (values, pa.asarray(values, device="numpy")):
            with pytest.raises(DTypeNotSupportedError) as caught:
                pa.asarray(source, device=device)
            assert (caught.value.dtype, caught.value.nearest) == (name, narrower)
            assert "narrow=True" in str(caught.value)
            x = pa.asarray(source, device=device, narrow=True)
            same(x, values.astype(narrower))
        with pytest.raises(DTypeNotSupportedError, match=f"does not support {name}\nHint: use"):
            pa.asarray([1, 2], dtype=name, device=device)
        with pytest.raises(DTypeNotSupportedError, match=narrower):
            pa.zeros(2, dtype=name, device=device)
        with pytest.raises(DTypeNotSupportedError, match=narrower):
            pa.astype(pa.zeros(2, device=device), name)
        with pytest.raises(DTypeNotSupportedError, match="narrow=True"):
            pa.asarray(values, device="numpy").to_device(device)
        # Another dtype is other memory.
        there = pa.asarray(values, device="numpy")
        with pytest.raises(ValueError, match=f"copy=False, but converting {name} to {narrower}"):
            there.to_device(device, narrow=True, copy=False)
        same(there.to_device(device, narrow=True, copy=True), values.astype(narrower))
        # Python's numbers have no width to lose.
        assert pa.asarray([1, 2], device=device).dtype.itemsize <= 8


def test_narrowing_that_is_not_needed_changes_nothing(device: str) -> None:
    same(pa.asarray(np.asarray([1.5]), device=device, narrow=True), np.asarray([1.5]))


def test_copy_of_numpy_arrays(sharing: str) -> None:
    """``copy=None`` and ``False`` share memory on host devices; ``True`` never does."""
    for copy, shared in ((None, True), (False, True), (True, False)):
        a = np.asarray([1.0, 2.0])
        x = pa.asarray(a, device=sharing, copy=copy)
        x[0] = 9.0
        assert bool(a[0] == 9.0) is shared
        a[1] = 8.0
        assert bool(x[1] == 8.0) is shared


class Interface:
    """An object with ``__array_interface__`` only."""

    def __init__(self, values: np.ndarray[Any, Any], name: str) -> None:
        self.values = values
        setattr(self, name, getattr(values, name))


MEMORY: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "array.array": lambda a: array.array("d", a),
    "bytearray": bytearray,
    "memoryview": memoryview,
    "ctypes": lambda a: (ctypes.c_double * 2)(*a),
    "mmap": lambda a: mmap.mmap(-1, a.nbytes),
    "__array_interface__": lambda a: Interface(a, "__array_interface__"),
    "__array_struct__": lambda a: Interface(a, "__array_struct__"),
    "__array__": Duck,
}


@pytest.mark.parametrize("kind", MEMORY)
def test_copy_of_other_memory(sharing: str, kind: str) -> None:
    for copy, shared in ((None, True), (False, True), (True, False)):
        obj = MEMORY[kind](np.zeros(2))
        view = np.asarray(obj)
        x = pa.asarray(obj, device=sharing, copy=copy)
        assert x.dtype == view.dtype
        view[-1] = 7
        assert bool(x[-1] == 7) is shared
        x[0] = 9
        assert bool(view[0] == 9) is shared


def test_copy_false_of_bytes_says_why(device: str) -> None:
    for values in (b"ab", Interface(np.ones(2, ">f4"), "__array_interface__")):
        with pytest.raises(ValueError, match=r"(?s)copy=False, but making.*pass copy=None$"):
            pa.asarray(values, device=device, copy=False)


def test_arrays_in_lists(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=anywhere)
    for nested in ([x[0], x[1]], [[x[0], 5.0], [6.0, x[1]]], ([1, x[1]], x), [x, x]):
        expected = np.asarray(
            [
                [as_numpy(v) if isinstance(v, pa.Array) else v for v in row]
                if isinstance(row, list)
                else as_numpy(row)
                for row in nested
            ]
        )
        same(pa.asarray(nested, dtype=pa.float32, device=anywhere), expected.astype(np.float32))
    assert pa.asarray([x[0], x[1]], device=anywhere).dtype == pa.float32


def test_lists_follow_the_arrays_in_them(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=anywhere)
    second_device = next(device for device in pa.devices() if device is not x.device)
    row = np.ones(2, np.float32)
    with pa.device(second_device):
        for nested in ([x[0], 0.0], [0.0, x[0]], [[1, 2.0], [3, x[0]]], (row, x)):
            assert pa.asarray(nested).device is x.device
            assert pa.asarray(nested, device=second_device).device is second_device
        assert pa.asarray([row, [0, 1]]).device is second_device
        for numbers in ([0.0] * 2000, [1, 2.5] * 1000):
            assert pa.asarray(numbers).device is second_device
            assert pa.asarray([*numbers, x[0]]).tolist() == [*numbers, 1.0]
            assert pa.asarray([*numbers, x[0]]).device is x.device
        with pytest.raises(pa.DeviceMismatchError, match=f"asarray: .*{x.device}.*{second_device}"):
            pa.asarray([x[0], [pa.ones((), device=second_device)]])


def test_gradients_and_programs_follow_arrays_in_lists(device: str) -> None:
    x = pa.asarray([3.0, 5.0], device=device)

    def last_row(x: Any) -> Any:
        return pa.sum(pa.asarray([[7, 1.0], [x[1], 2 * x[0]]])[1, :])

    assert pa.grad(last_row)(x).tolist() == [2.0, 1.0]
    assert float(pa.compile(last_row)(x)) == 11.0
    with pytest.raises(ValueError, match="ragged"):
        pa.grad(lambda x: pa.sum(pa.asarray([x[0], x])))(x)


def test_copy_of_our_arrays(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], device=anywhere)
    assert pa.asarray(x) is x
    assert pa.asarray(x, copy=False) is x
    assert pa.asarray(x, dtype=x.dtype, device=anywhere, copy=False) is x
    y = pa.asarray(x, copy=True)
    y[0] = 9.0
    assert float(x[0]) == 1.0
    z = pa.asarray(x, dtype=pa.complex64)
    assert (z.dtype, z.device) == (pa.complex64, x.device)


def test_copy_false_that_needs_a_copy(anywhere: str) -> None:
    for values in ([1.0], 1.0, (1, 2), range(3)):
        with pytest.raises(ValueError, match=r"copy=False.*needs a copy\nHint: pass copy=None"):
            pa.asarray(values, device=anywhere, copy=False)
    a = np.asarray([1, 2], dtype=np.int16)
    for values in (a, pa.asarray(a, device=anywhere)):
        with pytest.raises(ValueError, match="int16 to float32 needs a copy\nHint: pass copy=None"):
            pa.asarray(values, dtype=pa.float32, device=anywhere, copy=False)


def test_read_only_memory_is_not_written_to(device: str) -> None:
    a = np.asarray([1.0, 2.0])
    a.flags.writeable = False
    x = pa.asarray(a, device=device, copy=True)
    x[0] = 9.0
    assert a[0] == 1.0


def test_native_arrays_stay_where_they_are(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], device=anywhere)
    native = x.native
    with pa.device("numpy"):
        y = pa.asarray(native, copy=False, device=anywhere)
        assert y.native is native
        if not isinstance(native, np.ndarray):  # NumPy's are everyone's: they go where work is
            assert pa.asarray(native).device is x.device
    if library_of(anywhere) not in VALUES:
        y[0] = 9.0
        assert float(x[0]) == 9.0


def test_complex_values_lose_nothing_unasked(anywhere: str) -> None:
    z = pa.asarray([1j], device=anywhere)
    for dtype in (pa.float32, pa.int32):
        with pytest.raises(TypeError, match=r"loses the imaginary part\nHint: take pa\.real\(x\)"):
            pa.asarray(z, dtype=dtype)
        with pytest.raises(TypeError, match=r"loses the imaginary part\nHint: take pa\.real\(x\)"):
            z.astype(dtype)
    assert z.astype(pa.bool).tolist() == [True]


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["float128", "U3", object, "M8[s]", "float", 7, "int64_t"])
def test_invalid_dtypes_are_refused(anywhere: str, dtype: Any) -> None:
    if dtype == "float":  # NumPy's and Python's name of float64
        assert pa.asarray([1], dtype=dtype, device="numpy").dtype == pa.float64
        return
    with pytest.raises(TypeError, match=r"unsupported dtype .*; supported: bool, int8"):
        pa.asarray([1], dtype=dtype, device=anywhere)


def test_astype_copies(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=anywhere)
    for _ in range(2):  # the second call repeats the first one
        assert x.astype(pa.float32, copy=False) is x
        y = x.astype(pa.float32)
        y[0] = 9.0
        assert float(x[0]) == 1.0
    same(x.astype("int16"), np.asarray([1, 2], dtype=np.int16))


def test_to_device_copies(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=anywhere)
    assert x.to_device(anywhere) is x
    assert x.to_device(x.device, copy=False) is x
    y = x.to_device(anywhere, copy=True)
    y[0] = 9.0
    assert float(x[0]) == 1.0
    with pytest.raises(ValueError, match="stream"):
        x.to_device(anywhere, stream=1)
    with pytest.raises(TypeError, match="does not name a device"):
        x.to_device(None)


def test_to_device_without_shared_memory(fake: str) -> None:
    x = pa.asarray([1.0, 2.0], device="fake:cuda:0")
    for target in ("fake:cuda:1", "numpy:cpu:0"):
        with pytest.raises(ValueError):
            x.to_device(target, copy=False)
        same(x.to_device(target), np.asarray([1.0, 2.0]))
    with pytest.raises(ValueError):
        pa.asarray([1.0], device="numpy").to_device("fake", copy=False)
    same(x, np.asarray([1.0, 2.0]))


def test_to_device_shares_between_host_devices(sharing: str) -> None:
    x = pa.asarray(np.asarray([1.0, 2.0]), device="numpy", copy=True)
    for copy in (None, False):
        y = x.to_device(sharing, copy=copy)
        y[0] += 1
    assert float(x[0]) == 3.0
    z = x.to_device(sharing, copy=True)
    z[0] = 0.0
    assert float(x[0]) == 3.0


def test_reshape_copies(viewing: str) -> None:
    x = pa.asarray(np.arange(6.0).reshape(2, 3), device=viewing, copy=True)
    flat = x.reshape(6, copy=False)
    flat[0] = 9.0
    assert float(x[0, 0]) == 9.0
    apart = pa.reshape(x, (6,), copy=True)
    apart[1] = 9.0
    assert float(x[0, 1]) == 1.0
    with pytest.raises(ValueError):
        pa.reshape(x.T, (6,), copy=False)
    same(pa.reshape(x.T, (6,)), as_numpy(x).T.reshape(6))


def test_asarray_converts_on_the_side_that_has_the_dtype(nofloat64: str, device: str) -> None:
    single = pa.asarray([1.5, 2.5], device=nofloat64)
    assert single.dtype == pa.float32
    double = pa.asarray(single, dtype=pa.float64, device=device)
    assert (double.dtype, str(double.device)) == (pa.float64, str(pa.device(device)))
    assert double.tolist() == [1.5, 2.5]


def test_asarray_to_bool_says_which_complex_numbers_are_zero(device: str) -> None:
    z = pa.asarray([0j, 1j, 2.0], device=device)
    assert pa.asarray(z, dtype=pa.bool).tolist() == [False, True, True]


def test_native_arrays_of_a_second_card(fake: str) -> None:
    """Native arrays of a second card stay on it and move like other arrays."""
    x = pa.asarray([1.0, 2.0], device="fake:cuda:1")
    assert str(pa.asarray(x.native).device) == "fake:cuda:1"
    assert pa.asarray(x.native).native is x.native
    for native, kind in ((None, type(x.native)), (True, type(x.native)), (False, pa.Array)):
        for target in ("fake:cuda:0", "fake:cuda:1"):
            moved = pa.to_device({"x": x.native}, target, native=native)["x"]
            assert type(moved) is kind
            same(pa.asarray(moved), np.asarray([1.0, 2.0]))
            assert str(pa.asarray(moved).device) == target


@pytest.mark.one_device
def test_masked_arrays_are_refused(anywhere: str) -> None:
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    for dtype in (None, "float32"):
        with pytest.raises(TypeError, match=r"(?s)masked array .* pass x\.filled\(value\)"):
            pa.asarray(masked, dtype=dtype, device=anywhere)
    same(pa.asarray(masked.filled(0.0), dtype="float32", device=anywhere), np.float32([1, 0]))


@pytest.mark.one_device
def test_conversions_of_other_memory(anywhere: str) -> None:
    """Objects that only NumPy reads are copied without losing digits."""
    memory = array.array("f", [1.0, 2.0])
    with pytest.raises(ValueError, match=r"copy=False, but .* needs a copy"):
        pa.asarray(memory, dtype="int32", device=anywhere, copy=False)
    same(pa.asarray(memory, dtype="int32", device=anywhere), np.int32([1, 2]))
    for dtype in ("float32", "int32"):
        for values in ([1j, 2.0], [[1.0], [1j]]):
            with pytest.raises(TypeError, match="loses the imaginary part"):
                pa.asarray(values, dtype=dtype, device=anywhere)

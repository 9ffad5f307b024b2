"""NumPy's protocols and ufuncs, DLPack, pickling and copying."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from drawn import (
    VALUES,
    as_numpy,
    drawing,
    dtypes_of,
    library_of,
    same,
    shares_with_numpy,
    small,
)
from hypothesis import given
from hypothesis import strategies as st

import portarray as pa
from portarray._numpy_functions import ufuncs

special = pytest.importorskip("scipy.special")


@given(data=st.data())
@drawing
def test_pickle_and_copy(anywhere: str, data: st.DataObject) -> None:
    a = data.draw(small(data.draw(st.sampled_from(dtypes_of(anywhere)))))
    x = pa.asarray(a, device=anywhere)
    protocol = data.draw(st.integers(2, pickle.HIGHEST_PROTOCOL))
    others = (pickle.loads(pickle.dumps(x, protocol)), copy.copy(x), copy.deepcopy(x), x.copy())
    for duplicate in others:
        assert duplicate.device is x.device
        same(duplicate, a)
        duplicate[...] = 1
    same(x, a)


def test_deep_copies_share_within_one_structure(anywhere: str) -> None:
    x = pa.asarray([1.0], device=anywhere)
    first, second = copy.deepcopy([x, x])
    assert first is second
    assert first is not x


def test_numpy_asarray_shares_memory(sharing: str) -> None:
    x = pa.asarray([[1.0, 2.0], [3.0, 4.0]], device=sharing)
    a = np.asarray(x)
    assert type(a) is np.ndarray
    a[0, 0] = 9.0
    assert float(x[0, 0]) == 9.0
    x[1, 1] = 8.0
    assert a[1, 1] == 8.0
    np.asarray(x, copy=False)[0, 0] = 7.0
    assert float(x[0, 0]) == 7.0
    np.array(x)[0, 0] = 0.0
    np.asarray(x, copy=True)[0, 0] = 0.0
    assert float(x[0, 0]) == 7.0
    same(x.T, np.asarray(x.T))
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="float64 to int16 needs a copy\nHint: pass copy=None"):
        np.asarray(x, dtype=np.int16, copy=False)


def test_numpy_cannot_read_other_memory(fake: str) -> None:
    x = pa.asarray([1.0], device=fake)
    for read in (np.asarray, np.array, np.ma.asarray):
        with pytest.raises(
            TypeError, match=r"(?s)fake:cuda:0.*numpy\.asarray\(x\.to_device\('numpy'\)"
        ):
            read(x)
    assert as_numpy(x).tolist() == [1.0]
    assert x.tolist() == [1.0]


def test_dlpack_out_shares_memory(sharing: str) -> None:
    x = pa.asarray([1.0, 2.0], device=sharing)
    assert x.__dlpack_device__() == (1, 0)
    a = np.from_dlpack(x)
    x[0] = 9.0
    assert a[0] == 9.0
    apart = np.from_dlpack(x, copy=True)
    x[0] = 1.0
    assert apart[0] == 9.0


def test_dlpack_in_shares_memory(sharing: str) -> None:
    a = np.asarray([1.0, 2.0])
    x = pa.from_dlpack(a, device=sharing)
    assert str(x.device) == sharing
    a[0] = 9.0
    assert float(x[0]) == 9.0
    apart = pa.from_dlpack(a, device=sharing, copy=True)
    a[0] = 1.0
    assert float(apart[0]) == 9.0
    assert pa.from_dlpack(x) is x
    with pytest.raises(TypeError, match=r"(?s)from_dlpack: expected .*__dlpack__.*pa\.asarray"):
        pa.from_dlpack([1.0])


def test_memory_that_is_not_shared_is_a_snapshot(apart: str) -> None:
    """Writes on one side are not seen on the other, however the array was moved."""
    pa_device = pa.device(apart)
    readers = [lambda x: np.asarray(x.to_device("numpy"))]
    if pa_device._backend.on_host(pa_device.native):
        readers += [np.asarray, np.array]
    makers = [
        lambda a: pa.asarray(a, device=apart),
        lambda a: pa.asarray(a, device=apart, copy=True),
        lambda a: pa.asarray(a, device="numpy").to_device(apart),
        lambda a: pa.from_dlpack(a, device=apart),
    ]
    for make in makers:
        a = np.asarray([1.0, 2.0], dtype=np.float32)
        x = make(a)
        assert str(x.device) == apart
        a[0] = 9.0
        assert x.tolist() == [1.0, 2.0]
        x[1] = 7.0
        assert (a.tolist(), x.tolist()) == ([9.0, 2.0], [1.0, 7.0])
    for read in readers:
        x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=apart)
        native = x.native
        a = read(x)
        x[0] = 9.0
        assert (a.tolist(), x.tolist()) == ([1.0, 2.0], [9.0, 2.0])
        if a.flags.writeable:
            a[1] = 7.0
        assert x.tolist() == [9.0, 2.0]
        if library_of(apart) not in VALUES:
            assert x.native is native


def test_arrays_that_are_values_are_not_changed_through_dlpack(device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    native = x.native
    y = pa.from_dlpack(native, device="numpy")
    y[0] = 9.0
    assert y.tolist() == [9.0, 2.0]
    shared = pa.asarray(native).tolist() == [9.0, 2.0]
    assert shared == shares_with_numpy(device)


class Producer:
    """An array of another library, with DLPack only."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def test_strangers_with_dlpack(anywhere: str) -> None:
    stranger = Producer(np.asarray([1, 2], dtype=np.int16))
    for x in (pa.asarray(stranger, device=anywhere), pa.from_dlpack(stranger, device=anywhere)):
        assert str(x.device) == anywhere
        same(x, np.asarray([1, 2], dtype=np.int16))
    same(
        pa.asarray(stranger, dtype=pa.float32, device=anywhere),
        np.asarray([1, 2], dtype=np.float32),
    )


def test_dlpack_to_host_memory(fake: str) -> None:
    """Every array exports to host memory on request."""
    x = pa.asarray([1.0, 2.0], device=fake)
    assert x.__dlpack_device__() == (2, 0)
    a = np.from_dlpack(x, device="cpu")
    assert a.tolist() == [1.0, 2.0]
    assert np.from_dlpack(x, device="cpu", copy=True).tolist() == [1.0, 2.0]
    with pytest.raises(
        BufferError, match="fake:cuda:0 does not have host memory\nHint: pass copy=None"
    ):
        np.from_dlpack(x, device="cpu", copy=False)


def test_ufuncs_of_numpy_stay_in_our_namespace(anywhere: str) -> None:
    """Each ufunc with a counterpart returns NumPy's values on the same device."""
    for name in ufuncs.STANDARD:
        ufunc = getattr(np, name)
        bits = name.startswith(("bitwise", "invert", "left", "right", "logical"))
        dtype = np.int16 if bits else np.float32
        a = np.asarray([[1, 1], [1, 1]], dtype=dtype)
        if name in ("arctanh", "arcsin", "arccos"):
            a = np.asarray([[0.5]], dtype=dtype)
        x = pa.asarray(a, device=anywhere)
        result = ufunc(*[x] * ufunc.nin)
        expected = np.asarray(ufunc(*[a] * ufunc.nin))
        assert isinstance(result, pa.Array), name
        assert (str(result.device), result.dtype, result.shape) == (
            anywhere,
            expected.dtype,
            expected.shape,
        )
        np.testing.assert_allclose(as_numpy(result), expected, rtol=1e-6, err_msg=name)


def test_numpy_scalars_on_the_left(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=anywhere)
    for two in (np.float64(2), np.float32(2), np.int64(2), np.uint8(2)):
        same(two * x, np.asarray([2, 4], dtype=np.float32))
        same(two - x, np.asarray([1, 0], dtype=np.float32))
        same(two > x, np.asarray([True, False]))
        same(x / two, np.asarray([0.5, 1], dtype=np.float32))


def test_ufuncs_into_our_arrays(anywhere: str) -> None:
    x = pa.asarray([1.0, 4.0], dtype=pa.float32, device=anywhere)
    out = pa.zeros(2, dtype=pa.float32, device=anywhere)
    assert np.sqrt(x, out=out) is out
    same(out, np.asarray([1, 2], dtype=np.float32))
    assert np.add(x, x, out=(out,)) is out
    same(out, np.asarray([2, 8], dtype=np.float32))


def test_ufuncs_that_are_refused(anywhere: str) -> None:
    x = pa.asarray([1.0, 4.0], dtype=pa.float32, device=anywhere)
    a = np.asarray([1.0, 4.0], dtype=np.float32)
    masked = partial(np.add, x, x, out=x, where=np.asarray([True, False]))
    for call in (masked, lambda: np.add(x, a), lambda: a + x, lambda: np.add(a, x), lambda: a == x):
        with (
            pa.config(host_access="error"),
            pytest.raises(pa.HostAccessError, match=r"reads a NumPy array .*\n.*\nHint: move it"),
        ):
            call()
    with pytest.raises(TypeError, match=r"(?s)numpy\.subtract\.reduce: not supported.*pa\.sum"):
        np.subtract.reduce(x)
    with pytest.raises(TypeError, match=r"numpy\.power\.at: not supported"):
        np.power.at(x, [0], 2.0)
    with pytest.raises(TypeError, match=r"numpy\.add: signature is not supported"):
        np.add(x, x, signature="ff->f")
    with pytest.raises(TypeError, match=r"numpy\.gcd: does not accept portarray arrays"):
        np.gcd(x, x)
    with pytest.raises(TypeError):
        np.add(a, 1, out=x)
    same(x, a)


def test_ufuncs_of_scipy_run_on_the_host_view(device: str) -> None:
    pa_device = pa.device(device)
    if not pa_device._backend.on_host(pa_device.native):
        pytest.skip("NumPy cannot read its memory; test_ufuncs_of_scipy_need_host_memory")
    a = np.asarray([0.25, 0.5])
    x = pa.asarray(a, device=device)
    same(special._ufuncs.j0(x), special._ufuncs.j0(a))
    parts = special._ufuncs.airy(x)  # a ufunc of several results
    for ours, theirs in zip(parts, special._ufuncs.airy(a), strict=True):
        same(ours, theirs)
    out = pa.zeros(2, dtype=pa.float64, device=device)
    assert special._ufuncs.j0(x, out=out) is out
    same(out, special._ufuncs.j0(a))
    same(special._ufuncs.j0(x.astype(pa.float32)), special._ufuncs.j0(a.astype(np.float32)))


def test_ufuncs_of_scipy_take_arrays_of_one_device(device: str, fake: str) -> None:
    for first, second in itertools.permutations((device, fake)):
        x, y = (pa.asarray([0.25], dtype="float32", device=target) for target in (first, second))
        with pytest.raises(pa.DeviceMismatchError, match="ufunc jv: arrays are on"):
            special._ufuncs.jv(x, y)


def test_ufuncs_of_scipy_need_host_memory(fake: str) -> None:
    with pytest.raises(TypeError, match=r"numpy\.asarray\(x\.to_device\('numpy'\)\)"):
        special._ufuncs.j0(pa.asarray([0.25], device=fake))


def test_functions_of_numpy_that_call_methods(anywhere: str) -> None:
    a = np.asarray([[1, 2], [3, 5]], dtype=np.float32)
    x = pa.asarray(a, device=anywhere)
    for name in ("sum", "mean", "max", "min"):
        function = getattr(np, name)
        same(function(x), np.asarray(function(a)))
        same(function(x, axis=0), function(a, axis=0))
        same(function(x, axis=1, keepdims=True), function(a, axis=1, keepdims=True))
    for name in ("any", "all"):
        same(getattr(np, name)(x > 2, axis=0), getattr(np, name)(a > 2, axis=0))
    same(np.squeeze(x[None]), a)
    same(np.sum(x, dtype=np.complex64), np.sum(a, dtype=np.complex64))
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 2), 2, 4)
    with pytest.raises(
        ValueError, match=r"numpy.sum: out= has shape \(2, 2\), but the result has \(\)"
    ):
        np.sum(x, out=x)
    with pytest.raises(
        TypeError, match=r"sum: out= is not supported\nHint: write y\[\.\.\.\] = x\.sum"
    ):
        x.sum(out=x)
    same(x, a)


class Length:
    """A number with a unit whose class handles operations with arrays."""

    def __init__(self, metres: float) -> None:
        self.metres = metres

    def __radd__(self, other: Any) -> str:
        return f"{other.shape} and {self.metres} m"

    __rsub__ = __rmatmul__ = __radd__

    def __eq__(self, other: object) -> bool:
        return other is self

    def __hash__(self) -> int:
        return hash(self.metres)


def test_operators_defer_to_classes_that_handle_arrays(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], device=anywhere)
    three: Any = Length(3.0)
    assert x + three == x - three == x @ three == "(2,) and 3.0 m"
    assert not x == three  # noqa: SIM201  (the operator itself)
    with pytest.raises(TypeError, match="unsupported operand"):
        x * three
    with pytest.raises(TypeError, match=r"Length\nHint: make an array of it first"):
        pa.add(x, three)


class Unknown(Length):
    """An array of a library without a backend."""

    def __array_namespace__(self) -> object:
        return operator

    def __radd__(self, other: pa.Array) -> str:
        return f"{other.shape} and mine"

    __lt__ = __radd__

    def __eq__(self, other: object) -> Any:
        return self.__radd__(other) if isinstance(other, pa.Array) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]


def test_operators_defer_to_arrays_of_unknown_libraries(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], device=anywhere)
    mine: Any = Unknown(3.0)
    assert x + mine == (x == mine) == (x > mine) == "(2,) and mine"
    with pytest.raises(TypeError, match=r"unsupported operand .* 'Array' and 'Unknown'"):
        x * mine
    with pytest.raises(TypeError, match=r"Unknown\nHint: make an array of it first"):
        operator.ne(x, mine)  # Python's own answer would be True
    with pytest.raises(TypeError, match=r"Unknown\nHint: make an array of it first"):
        pa.equal(x, mine)


def test_dlpack_of_host_memory_has_no_streams(sharing: str) -> None:
    x = pa.ones(3, device=sharing)
    for stream in (0, 1, 7):
        with pytest.raises(BufferError, match="host memory, which has no streams"):
            x.__dlpack__(stream=stream)
    assert x.__dlpack__(stream=-1) is not None
    assert x.__dlpack__(stream=None) is not None


def test_dlpack_for_another_device(anywhere: str) -> None:
    x = pa.ones(3, device=anywhere)
    kind, index = x.__dlpack_device__()
    for dl_device in ((2, index + 5), (kind, index + 1), (10, 0)):
        with pytest.raises(BufferError, match="can be exported only to its own DLPack device"):
            x.__dlpack__(dl_device=dl_device)


@pytest.mark.parametrize("stream", [0, 1, "default"])
def test_to_device_takes_no_stream(device: str, stream: object) -> None:
    x = pa.ones(3, device=device)
    with pytest.raises(ValueError, match=f"stream={stream!r} is not accepted; portarray orders"):
        x.to_device("numpy", stream=stream)


def test_another_ufunc_of_the_same_name(fake: str) -> None:
    class Backwards:
        """A ufunc-like object named add that subtracts."""

        __name__ = "add"

        def __call__(self, x1: Any, x2: Any) -> Any:
            return x2 - x1

    x, y = pa.asarray([1.0, 2.0], device="numpy"), pa.asarray([5.0, 7.0], device="numpy")
    same(x.__array_ufunc__(Backwards(), "__call__", x, y), np.asarray([4.0, 5.0]))
    z = pa.ones(2, device=fake)
    with pytest.raises(TypeError, match="NumPy cannot read the memory"):
        z.__array_ufunc__(Backwards(), "__call__", z, z)

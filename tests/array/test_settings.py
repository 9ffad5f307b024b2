"""Backends whose dtypes depend on settings or whose arrays have several classes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import errors


@pytest.fixture
def settable_device(settable: str) -> str:
    return f"{settable}:rocm:0"


@pytest.fixture
def wide(settable: str) -> Any:
    """The setting of the fake library, as a context manager."""
    import settable.backend

    return settable.backend.wide


def numbers(dtype: str, device: str) -> pa.Array:
    return pa.asarray([1, 2, 3], dtype=dtype, device=device)


def test_dtypes_and_defaults_follow_the_setting(settable_device: str, wide: Any) -> None:
    info = pa.__array_namespace_info__()
    for setting, bits in ((True, 64), (False, 32), (True, 64)):
        with wide(setting):
            assert ("float64" in info.dtypes(device=settable_device)) == setting
            assert info.default_dtypes(device=settable_device) == {
                "real floating": np.dtype(f"float{bits}"),
                "complex floating": np.dtype(f"complex{2 * bits}"),
                "integral": np.dtype(f"int{bits}"),
                "indexing": np.dtype(f"int{bits}"),
            }
            assert pa.ones(2, device=settable_device).dtype == f"float{bits}"
            assert pa.asarray([1, 2], device=settable_device).dtype == f"int{bits}"
            assert pa.finfo(pa.ones(2, device=settable_device)).bits == bits


CALLS: dict[str, tuple[Any, str]] = {
    "sum": (pa.sum, "int"),
    "argmax": (pa.argmax, "int"),
    "sin": (pa.sin, "float"),
    "mean": (pa.mean, "float"),
    "divide": (lambda x: x / x, "float"),
    "divide by a scalar": (lambda x: x / 2, "float"),
    "add a float": (lambda x: x + 1.5, "float"),
    "a sum along an axis": (lambda x: pa.sum(x, axis=0), "int"),
}


@pytest.mark.parametrize("call", CALLS)
def test_results_have_the_defaults_of_the_setting(
    call: str, settable_device: str, wide: Any
) -> None:
    function, kind = CALLS[call]
    x = numbers("int16", settable_device)
    for setting in (True, False, True, False):
        with wide(setting):
            for _ in range(2):  # the second call uses what the first one learned
                result = function(x)
                assert result.dtype == f"{kind}{64 if setting else 32}"
                assert result.native.dtype == result.dtype


def test_dtypes_disabled_by_the_setting_are_refused(settable_device: str, wide: Any) -> None:
    x = numbers("float64", settable_device)
    calls = (pa.sin, pa.sum, lambda x: x + x, lambda x: x + 1.0, lambda x: x[1:], pa.positive)
    expected = [np.asarray(call(x).to_device("numpy")) for call in calls]
    with wide(False):
        for call in calls:
            with pytest.raises(errors.DTypeNotSupportedError, match=r"(?s)float64.*float32"):
                call(x)
        for make in (pa.ones, pa.zeros):
            with pytest.raises(errors.DTypeNotSupportedError, match="float64"):
                make(2, dtype=pa.float64, device=settable_device)
        with pytest.raises(errors.DTypeNotSupportedError, match="float64"):
            numbers("float32", settable_device).astype(pa.float64)
        assert x.dtype == pa.float64
    for call, values in zip(calls, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(call(x).to_device("numpy")), values)


def test_arrays_of_disabled_dtypes_are_converted_read_and_shown(
    settable_device: str, wide: Any
) -> None:
    x = numbers("float64", settable_device)
    with wide(False):
        narrow = pa.astype(x, pa.float32)
        assert narrow.dtype == pa.float32
        assert (narrow + narrow).dtype == pa.float32
        np.testing.assert_array_equal(np.asarray(x), [1.0, 2.0, 3.0])
        assert "float64" in repr(x)
        assert x.to_device("numpy").dtype == pa.float64
    assert (narrow.astype(pa.float64) + x).dtype == pa.float64


def test_threads_have_settings_of_their_own(settable_device: str, wide: Any) -> None:
    x = numbers("int32", settable_device)
    turn = threading.Barrier(2, timeout=300)
    dtypes: dict[bool, set[str]] = {True: set(), False: set()}

    def work(setting: bool) -> None:
        with wide(setting):
            for _ in range(20):
                turn.wait()
                dtypes[setting].add(f"{pa.sum(x).dtype} {(x / x).dtype} {pa.ones(1).dtype}")

    def within(setting: bool) -> None:
        with pa.device(settable_device):
            work(setting)

    threads = [threading.Thread(target=within, args=(setting,)) for setting in dtypes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert dtypes == {True: {"int64 float64 float64"}, False: {"int32 float32 float32"}}


def deferred(values: list[float], device: str) -> Any:
    from settable.backend import Deferred

    return Deferred(np.asarray(values), pa.device(device).native)


def test_arrays_of_another_class_are_the_library_s(settable_device: str) -> None:
    native = deferred([1.0, 2.0, 3.0], settable_device)
    x = pa.asarray(native)
    assert x.native is native
    assert str(x.device) == settable_device
    assert x.dtype == pa.float64
    y = pa.asarray([1.0, 2.0, 4.0], device=settable_device)
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(x + y), [2.0, 4.0, 7.0])
        np.testing.assert_array_equal(np.asarray(y + x), [2.0, 4.0, 7.0])
        np.testing.assert_array_equal(np.asarray(pa.sqrt(x * x)), [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(np.asarray(x[1:]), [2.0, 3.0])
    indices = pa.asarray(deferred([2, 0], settable_device))
    np.testing.assert_array_equal(np.asarray(y[indices]), [4.0, 1.0])


def test_errors_are_those_that_the_backend_translates(settable_device: str) -> None:
    stranger = pa.asarray([1.0], device=settable_device)
    stranger._native = np.ones(1)  # what the library takes for no array of its own
    for call in (pa.sin, pa.Array.item, lambda x: x + 1.0):
        with pytest.raises(TypeError, match="settable got a NumPy array") as caught:
            call(stranger)
        assert type(caught.value.__cause__).__name__ == "SetError"

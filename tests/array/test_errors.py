"""Classes of portarray's errors, and their attributes after pickling."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import errors

EXAMPLES: list[tuple[errors.PortarrayError, type[Exception], dict[str, Any]]] = [
    (
        errors.UnknownDeviceError("cudaa", "no such library", ("cuda",)),
        ValueError,
        {"text": "cudaa", "nearest": ("cuda",)},
    ),
    (
        errors.DeviceNotFunctionalError("gpu", {"cupy:cuda": "not installed"}, "pip install it"),
        RuntimeError,
        {"requested": "gpu", "reasons": {"cupy:cuda": "not installed"}, "fix": "pip install it"},
    ),
    (
        errors.DeviceMismatchError("add", "numpy:cpu:0", "torch:cpu:0"),
        ValueError,
        {"function": "add", "first": "numpy:cpu:0", "second": "torch:cpu:0"},
    ),
    (
        errors.DTypeNotSupportedError("float64", "mlx:metal:0", "float32", moving=True),
        TypeError,
        {"dtype": "float64", "nearest": "float32", "moving": True},
    ),
    (
        errors.OutOfMemoryError("cupy:cuda:0", requested=8, free=4, total=16),
        MemoryError,
        {"requested": 8, "free": 4, "total": 16},
    ),
    (
        errors.HostAccessError("numpy.asarray", "numpy:cpu:0", "a.py:3: np.asarray(x)"),
        TypeError,
        {"function": "numpy.asarray", "device": "numpy:cpu:0", "line": "a.py:3: np.asarray(x)"},
    ),
    (errors.HostFallbackError("sort", "fake:cuda:0"), RuntimeError, {"function": "sort"}),
    (
        errors.NoGradientError("linalg.svd", "some vectors are arbitrary"),
        TypeError,
        {"function": "linalg.svd", "reason": "some vectors are arbitrary"},
    ),
    (
        errors.TaskCancelledError("task 3, gemm,", "task 1, potrf, failed"),
        RuntimeError,
        {"task": "task 3, gemm,", "reason": "task 1, potrf, failed"},
    ),
    (
        errors.TracedArrayError("a gradient would be lost"),
        TypeError,
        {"reason": "a gradient would be lost"},
    ),
    (
        errors.VerificationError("loss", "fake:cuda:0", "the result is not finite: nan", (1.0,)),
        AssertionError,
        {"function": "loss", "device": "fake:cuda:0", "inputs": (1.0,)},
    ),
    (
        errors.LinAlgError("linalg.inv", "a matrix is singular", "jax:cpu:0"),
        ValueError,
        {"function": "linalg.inv", "device": "jax:cpu:0"},
    ),
    (errors.PreferenceError("no such key"), ValueError, {}),
    (
        errors.KernelBuildError("saxpy", "clarray:0", "<source>:1: error", "text"),
        RuntimeError,
        {"kernel": "saxpy", "device": "clarray:0", "log": "<source>:1: error"},
    ),
    (
        errors.KernelDebugError(
            "y[0] is read before it has a value", "saxpy", "k.py", 7, "y[i] = 1", (3,), {"i": 3}
        ),
        RuntimeError,
        {"kernel": "saxpy", "line": 7, "work_item": (3,)},
    ),
    (
        errors.KernelIndexError("index 8", "saxpy", "k.py", 7, "y[i] = 1", (3, 4), {}),
        IndexError,
        {"filename": "k.py", "work_item": (3, 4)},
    ),
    (
        errors.KernelZeroDivisionError("1 // 0", "saxpy", "k.py", 7, "y[i] = 1 // 0", (3,), {}),
        ZeroDivisionError,
        {"message": "1 // 0"},
    ),
    (
        errors.KernelSyntaxError(
            [
                errors.KernelProblem("a list is not in it", "k.py", 7, 4, 6, "    []"),
                errors.KernelProblem("nor is a dict", "k.py", 8, 4, 6, "    {}"),
            ]
        ),
        SyntaxError,
        {"filename": "k.py", "lineno": 7},
    ),
    (
        errors.KernelVerificationError("saxpy", "clarray:0", {"y": 40.0}, 16),
        AssertionError,
        {"kernel": "saxpy", "device": "clarray:0", "tolerance": 16},
    ),
]


@pytest.mark.parametrize(
    ("error", "base", "carried"), EXAMPLES, ids=[type(e[0]).__name__ for e in EXAMPLES]
)
def test_errors_survive_pickling(
    error: errors.PortarrayError, base: type[Exception], carried: dict[str, Any]
) -> None:
    assert isinstance(error, base)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        for name, value in carried.items():
            assert getattr(again, name) == value
            assert str(value).strip("{}()',") in str(again) or name in ("reasons", "moving")


def test_every_error_has_an_example() -> None:
    """Every class of errors has an example here."""
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.PortarrayError)
    }
    assert defined == {type(error) for error, _, _ in EXAMPLES} | {errors.PortarrayError}


def test_running_out_of_memory(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library's error becomes OutOfMemoryError with the figures of the device."""
    from fake.backend import LIBRARY
    from over_numpy import FakeMemoryError

    from portarray.backends.types import MemoryFigures

    x = pa.asarray([1.0, 2.0], device=fake)
    table = x._dispatch

    def fails(*args: object, **options: object) -> None:
        raise FakeMemoryError("no backend")

    monkeypatch.setitem(LIBRARY.memory, 0, MemoryFigures(total=100, free=7))
    monkeypatch.setitem(table.functions, "cumulative_sum", fails)
    with pytest.raises(errors.OutOfMemoryError) as caught:
        pa.cumulative_sum(x)
    assert (caught.value.device, caught.value.free, caught.value.total) == (str(x.device), 7, 100)
    assert isinstance(caught.value.__cause__, FakeMemoryError)
    assert "pa.reclaim('fake:cuda:0')" in str(caught.value)
    assert x.tolist() == [1.0, 2.0]


def test_out_of_memory_reports_the_size_where_the_library_does_not(
    fake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from over_numpy import FakeMemoryError

    x = pa.asarray(np.ones((3, 5)), device=fake)
    host = pa.asarray(np.ones(7), device="numpy")
    big_endian = np.ones(11, ">f8")
    pickled = pickle.dumps(x)

    def fails(*args: object, **options: object) -> None:
        raise FakeMemoryError("no backend")

    def requested_size(attempt: Callable[[], object]) -> int | None:
        with pytest.raises(errors.OutOfMemoryError) as caught:
            attempt()
        return caught.value.requested

    functions, transfer = x._dispatch.functions, x.device._backend
    for name in ("ones", "empty", "eye", "arange", "linspace", "cumulative_sum"):
        monkeypatch.setitem(functions, name, fails)
    assert requested_size(lambda: pa.ones((3, 0, 4), device=fake)) == 0
    assert requested_size(lambda: pa.empty((3, 6), device=fake)) == 144
    assert requested_size(lambda: pa.eye(4, 5, device=fake)) == 160
    assert requested_size(lambda: pa.arange(1.0, 4.0, device=fake)) == 24
    assert requested_size(lambda: pa.linspace(0, 1, 9, device=fake)) == 72
    # How much a cumulative sum needs is unknown.
    assert requested_size(lambda: pa.cumulative_sum(x, axis=0)) is None
    for name in ("from_host", "to_host"):
        monkeypatch.setattr(transfer, name, fails)
    assert requested_size(lambda: host.to_device(fake)) == 56
    assert requested_size(lambda: pa.asarray(host, dtype="float32", device=fake)) == 28
    assert requested_size(lambda: pa.asarray(big_endian, device=fake)) == 88
    assert requested_size(lambda: pa.asarray([1.0, 2.0], device=fake)) == 16
    assert requested_size(lambda: pa.to_device({"a": host}, fake)) == 56
    assert requested_size(lambda: x.to_device("numpy")) == 120
    assert requested_size(lambda: pickle.loads(pickled)) == 120


def test_a_reason_shared_by_devices_is_reported_once() -> None:
    reason = "PyTorch is not installed"
    reasons = {"torch:cuda": reason, "torch:cpu": reason}
    alone = errors.DeviceNotFunctionalError("torch", reasons)
    assert str(alone) == "device: 'torch' is not functional: PyTorch is not installed"
    assert alone.reasons == reasons
    among = str(errors.DeviceNotFunctionalError("gpu", {**reasons, "mlx:metal": "no Metal"}))
    assert "\n  torch:cuda, torch:cpu: PyTorch is not installed\n  mlx:metal: no Metal" in among


def test_an_array_for_a_device_is_not_printed() -> None:
    x = pa.ones((100, 100), device="numpy")
    with pytest.raises(
        TypeError, match=r"(?s)an array \(portarray\..*Array\) does not name a device.*x\.device"
    ):
        x.to_device(x)


TRANSLATED: dict[type[Exception], type[Exception]] = {
    RuntimeError: ValueError,
    ValueError: ValueError,
    TypeError: TypeError,
    # They say nothing about the arguments, and stay what they are.
    RecursionError: RecursionError,
    NotImplementedError: NotImplementedError,
    AttributeError: AttributeError,
    AssertionError: AssertionError,
}


@pytest.mark.parametrize("kind", TRANSLATED)
def test_a_librarys_error_keeps_its_meaning(
    fake: str, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    x = pa.asarray([1.0, 2.0], device=fake)
    library_error = kind("said by the library")

    def broken(*_: object, **__: object) -> None:
        raise library_error

    monkeypatch.setitem(x._dispatch.functions, "sort", broken)
    with pytest.raises(kind if TRANSLATED[kind] is kind else ValueError) as caught:
        pa.sort(x)
    assert type(caught.value) is TRANSLATED[kind]
    assert "said by the library" in str(caught.value)
    if kind is RuntimeError:
        assert str(caught.value) == f"sort on {fake}:cuda:0: said by the library"
        assert caught.value.__cause__ is library_error

"""Virtual devices find bugs that only GPUs show and NumPy hides.

Each function takes an array of one axis and is right on NumPy.
"""

from __future__ import annotations

import copy
import functools
import math
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.errors import (
    DeviceMismatchError,
    DTypeNotSupportedError,
    HostFallbackError,
    OutOfMemoryError,
)
from portarray.testing import HostTransferError, host_transfers, virtual_devices

DATA = np.linspace(1.0, 2.0, 30, dtype=np.float32)


@dataclass
class Bug:
    """A bug, and the devices that show it."""

    function: Callable[[Any], Any]
    error: type[Exception]
    platform: str
    traits: dict[str, Any] = field(default_factory=dict)
    strict: bool = False  # no copies between device and host


BUGS: dict[str, Bug] = {}


def bug(
    error: type[Exception], platform: str = "cuda", *, strict: bool = False, **traits: Any
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register a bug, and what shows it."""

    def note(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        BUGS[function.__name__] = Bug(function, error, platform, traits, strict)
        return function

    return note


# --- NumPy in the middle -------------------------------------------------------------------------


@bug(TypeError)
def numpy_asarray(x: Any) -> Any:
    return np.asarray(x).sum()


@bug(TypeError)
def numpy_in_the_middle(x: Any) -> Any:
    return pa.asarray(np.sqrt(np.asarray(x)), device=x.device)


@bug(TypeError)
def numpy_function_of_native(x: Any) -> Any:
    return np.histogram(x.native, bins=3)


@bug(AssertionError)  # NumPy answers False where it cannot read
def numpy_compares(x: Any) -> Any:
    assert np.array_equal(x.native, x.native)


@bug(TypeError)
def numpy_operand(x: Any) -> Any:
    return x.native * np.arange(30.0)


@bug(TypeError)
def ufunc_out(x: Any) -> Any:
    return np.add(x.native, 1, out=np.empty(30))


@bug(TypeError)
def scipy_function(x: Any) -> Any:
    from scipy.spatial.distance import pdist

    return pdist(x.native[:, None])


@bug(TypeError)
def buffer(x: Any) -> Any:
    return bytes(memoryview(x.native))


@bug(AttributeError)
def pointer(x: Any) -> Any:
    return x.native.ctypes.data


@bug(RuntimeError)  # NumPy's
def dlpack_to_the_host(x: Any) -> Any:
    return np.from_dlpack(x)


# --- what waits for the device -------------------------------------------------------------------


@bug(HostTransferError, strict=True)
def math_function(x: Any) -> Any:
    return x / math.sqrt(pa.sum(x))


@bug(HostTransferError, strict=True)
def python_float(x: Any) -> Any:
    return x * float(pa.max(x))


@bug(HostTransferError, strict=True)
def branch(x: Any) -> Any:
    return x if x[0] > 0 else -x


@bug(HostTransferError, strict=True)
def item(x: Any) -> Any:
    return x - pa.mean(x).item()


@bug(HostTransferError, strict=True)
def python_list(x: Any) -> Any:
    return x.tolist()


@bug(HostTransferError, strict=True)
def python_sorted(x: Any) -> Any:
    return sorted(x)


@bug(HostTransferError, strict=True)
def python_max(x: Any) -> Any:
    return max(x)


@bug(HostTransferError, strict=True)
def index_of_an_array(x: Any) -> Any:
    return list(range(30))[pa.argmax(x)]


@bug(HostTransferError, strict=True)
def membership(x: Any) -> Any:
    return 1.0 in x


@bug(HostTransferError, strict=True)
def text(x: Any) -> Any:
    return f"{pa.sum(x):.3f}"


@bug(HostTransferError, strict=True)
def pickled(x: Any) -> Any:
    return pickle.dumps(x)


@bug(HostTransferError, strict=True)
def list_as_index(x: Any) -> Any:
    return x[[0, 2, 1]]


@bug(HostTransferError, strict=True)
def through_the_host(x: Any) -> Any:
    return pa.flip(x.to_device("cpu")).to_device(x.device)


@bug(AssertionError, launches=20)
def loop_over_elements(x: Any) -> Any:
    total = x[0]
    for value in x:
        total = total + value
    return total


@bug(AssertionError, launches=20)
def elements_in_a_list(x: Any) -> Any:
    return pa.stack(list(x))


# --- devices and dtypes --------------------------------------------------------------------------


@bug(DeviceMismatchError)
def creation_without_device(x: Any) -> Any:
    return x + pa.ones(30, dtype=x.dtype)


@bug(DeviceMismatchError)
def random_operand(x: Any) -> Any:
    return x + pa.asarray(np.random.default_rng(0).standard_normal(30))


@bug(DeviceMismatchError, count=2)
def cached_on_the_first_device(x: Any) -> Any:
    @functools.cache
    def weights(size: int) -> Any:
        return pa.ones(size, device=str(x.device)[:-1] + "0")

    return x * weights(30)


@bug(ValueError, count=2)
def wrong_card_current(x: Any) -> Any:
    return x.native + x.native


@bug(DTypeNotSupportedError, "metal")
def float64_constant(x: Any) -> Any:
    return x * pa.asarray(0.5, dtype=pa.float64, device=x.device)


@bug(DTypeNotSupportedError, "metal")
def python_dtype(x: Any) -> Any:
    return x.astype(float)


@bug(DTypeNotSupportedError, "metal")
def dtype_string(x: Any) -> Any:
    return pa.zeros(3, dtype="complex128", device=x.device)


@bug(DTypeNotSupportedError, "tpu")
def int64_indices(x: Any) -> Any:
    return pa.take(x, pa.asarray([0, 1], dtype=pa.int64, device=x.device))


@bug(DTypeNotSupportedError, "metal", strict=False)
def unchecked_upload(x: Any) -> Any:
    return pa.asarray(np.linspace(0, 1, 30), device=x.device) * x


# --- what arrays are -----------------------------------------------------------------------------


@bug(TypeError, assignment=False, immutable=True)
def assignment(x: Any) -> Any:
    x = x.copy()
    x[0] = 1
    return x


@bug(TypeError, "tpu")
def native_assignment(x: Any) -> Any:
    native = copy.copy(x).native
    native[0] = 1
    return native


@bug(ValueError, "tpu")
def change_through_a_view(x: Any) -> Any:
    table = pa.reshape(x, (5, 6), copy=False)
    table[0, 0] = 7
    return x


@bug(IndexError, "tpu", dynamic_shapes=False)
def mask(x: Any) -> Any:
    return x[x > 1.5]


@bug(TypeError, "tpu", dynamic_shapes=False)
def nonzero(x: Any) -> Any:
    return pa.nonzero(x)


@bug(OutOfMemoryError, memory=10_000)
def all_pairs(x: Any) -> Any:
    y = pa.concat([x, x])
    return pa.sum(pa.abs(y[:, None] - y[None, :]))


@bug(np.linalg.LinAlgError, late=True)
def error_that_is_late(x: Any) -> Any:
    try:
        result = pa.linalg.inv(x[:, None] * x[None, :] * 0)
    except np.linalg.LinAlgError:
        result = pa.zeros((30, 30), device=x.device)
    return np.asarray(result.to_device("numpy"))


@bug(HostFallbackError, host_functions=["sort"])
def function_that_the_library_lacks(x: Any) -> Any:
    with pa.config(host_fallback="error"):
        return pa.sort(x)


@pytest.fixture(autouse=True)
def numpy_is_the_default() -> Iterator[None]:
    with pa.device("numpy"):
        yield


def test_there_are_thirty() -> None:
    assert len(BUGS) >= 30


@pytest.mark.parametrize("name", BUGS)
def test_numpy_lets_it_pass(name: str) -> None:
    BUGS[name].function(pa.asarray(DATA.copy(), device="numpy"))


@pytest.mark.parametrize("name", BUGS)
def test_a_virtual_device_finds_it(name: str) -> None:
    planted = BUGS[name]
    with ExitStack() as stack:
        device = stack.enter_context(virtual_devices(planted.platform, **planted.traits))[-1]
        x = pa.asarray(DATA, device=device)
        if planted.strict:
            stack.enter_context(host_transfers(refuse=True))
        with pytest.raises(planted.error) as caught:
            planted.function(x)
    if planted.error is HostTransferError:
        assert __file__ in str(caught.value)  # the line that did it


def test_correct_functions_pass() -> None:
    with (
        virtual_devices("cuda", count=2, launches=50, memory=10_000) as (_, device),
        host_transfers(refuse=True),
    ):
        x = pa.zeros(30, device=device) + 1.5
        y = (x - pa.mean(x)) / pa.std(x + pa.arange(30, dtype=x.dtype, device=x.device))
        y = pa.where(y > 0, y, pa.zeros_like(y))
        assert y.device is device

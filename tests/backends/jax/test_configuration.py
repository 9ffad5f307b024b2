"""64-bit dtypes follow the user's setting of JAX, at any time and in each thread."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import portarray as pa  # noqa: E402
from portarray.errors import DTypeNotSupportedError  # noqa: E402

CPU = "jax:cpu:0"
WIDE = ("int64", "uint64", "float64", "complex128")


@pytest.fixture(autouse=True)
def warnings_are_errors() -> Iterator[None]:
    """Turn JAX's warnings about narrowed numbers into errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def dtypes() -> set[str]:
    return set(pa.__array_namespace_info__().dtypes(device=CPU))


def test_dtypes_follow_the_setting() -> None:
    with jax.enable_x64(True):
        assert set(WIDE) <= dtypes()
        assert pa.__array_namespace_info__().default_dtypes(device=CPU)["integral"] == pa.int64
        with jax.enable_x64(False):
            assert not set(WIDE) & dtypes()
            defaults = pa.__array_namespace_info__().default_dtypes(device=CPU)
            assert defaults == {
                "real floating": pa.float32,
                "complex floating": pa.complex64,
                "integral": pa.int32,
                "indexing": pa.int32,
            }
        assert set(WIDE) <= dtypes()


@pytest.mark.parametrize("dtype", WIDE)
def test_absent_dtypes_are_refused_and_nothing_is_narrowed(dtype: str) -> None:
    missing = getattr(pa, dtype)
    values = np.ones(3, dtype=dtype)
    attempts: tuple[Callable[[], Any], ...] = (
        lambda: pa.asarray([1], dtype=missing, device=CPU),
        lambda: pa.zeros(2, dtype=missing, device=CPU),
        lambda: pa.asarray(values, device=CPU),
        lambda: pa.asarray(values, device="numpy").to_device(CPU),
        lambda: pa.astype(pa.ones(2, device=CPU), missing),
        lambda: pa.sum(pa.ones(2, device=CPU), dtype=missing),
    )
    with jax.enable_x64(False):
        for attempt in attempts:
            with pytest.raises(DTypeNotSupportedError, match=dtype) as caught:
                attempt()
            assert "'jax_enable_x64', True" in str(caught.value)
        narrow = pa.asarray(values, device=CPU, narrow=True)
        assert narrow.dtype.itemsize == values.dtype.itemsize // 2
        assert narrow.tolist() == values.tolist()


class Producer:
    """An array of another library, with DLPack only."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("layout", [slice(None), slice(None, None, 2)])
def test_dlpack_narrows_nothing(layout: slice) -> None:
    values = np.arange(8.0)[layout]
    with jax.enable_x64(False), pytest.raises(TypeError, match="float64"):
        pa.from_dlpack(Producer(values), device=CPU)
    with jax.enable_x64(True):
        x = pa.from_dlpack(Producer(values), device=CPU)
        assert (x.dtype, x.tolist()) == (pa.float64, values.tolist())


CALLS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: pa.sum(x),
    "prod": lambda x: pa.prod(x),
    "cumulative_sum": lambda x: pa.cumulative_sum(x),
    "argmax": lambda x: pa.argmax(x),
    "argsort": lambda x: pa.argsort(x),
    "count_nonzero": lambda x: pa.count_nonzero(x),
    "nonzero": lambda x: pa.nonzero(x)[0],
    "searchsorted": lambda x: pa.searchsorted(x, x),
    "unique_counts": lambda x: pa.unique_counts(x)[1],
}
FLOATING: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: pa.mean(x),
    "divide": lambda x: x / x,
    "sin": lambda x: pa.sin(x),
    "beside a float": lambda x: x * 1.5,
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", [*CALLS, *FLOATING])
def test_calls_cached_under_one_setting_are_not_used_under_another(name: str, first: bool) -> None:
    x = pa.asarray([1, 2, 3], dtype=pa.int32, device=CPU)
    function = (CALLS | FLOATING)[name]
    kind = "int" if name in CALLS else "float"
    for setting in (first, not first, first):
        with jax.enable_x64(setting):
            for _ in range(2):
                result = function(x)
                assert result.dtype == np.dtype(f"{kind}{64 if setting else 32}")
                assert result.native.dtype == result.dtype


def test_arrays_of_64_bits_after_the_setting_is_off() -> None:
    with jax.enable_x64(True):
        x = pa.asarray([1.5, 2.5], device=CPU)
        pa.sin(x), x + x, pa.sum(x)  # learned
    with jax.enable_x64(False):
        attempts: tuple[Callable[[], Any], ...] = (
            lambda: pa.sin(x),
            lambda: x + x,
            lambda: x + 1.0,
            lambda: pa.sum(x),
            lambda: pa.astype(x, pa.complex128),
        )
        for attempt in attempts:
            with pytest.raises(
                DTypeNotSupportedError, match=r"does not support (float64|complex128)"
            ):
                attempt()
        # The ways out: to 32 bits, to the host, to other libraries.
        single = pa.astype(x, pa.float32)
        assert (single.dtype, single.native.dtype) == (pa.float32, np.float32)
        assert single.tolist() == [1.5, 2.5]
        assert np.asarray(x).dtype == np.float64
        moved = x.to_device("numpy")
        assert (moved.dtype, moved.tolist()) == (pa.float64, [1.5, 2.5])
        assert "float64" in repr(x)
    with jax.enable_x64(True):
        assert (x + x).tolist() == [3.0, 5.0]


def test_threads_have_their_own_setting() -> None:
    x = pa.asarray([1, 2, 3], dtype=pa.int32, device=CPU)
    wrong: list[str] = []
    start = threading.Barrier(2)

    def work(setting: bool) -> None:
        with jax.enable_x64(setting):
            start.wait()
            for _ in range(40):
                total, mean = pa.sum(x), pa.mean(x)
                bits = 64 if setting else 32
                for result, kind in ((total, "int"), (mean, "float")):
                    expected = np.dtype(f"{kind}{bits}")
                    if not result.dtype == result.native.dtype == expected:
                        wrong.append(f"{setting}: {result.dtype} of {result.native.dtype}")

    threads = [threading.Thread(target=work, args=(setting,)) for setting in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("enabled", ["0", "1"])
def test_nothing_of_jax_is_configured(enabled: str) -> None:
    """portarray changes neither JAX's settings nor the environment."""
    program = (
        "import os, jax\n"
        "def environment():\n"
        "    return {k: v for k, v in os.environ.items() if k[:3] in ('JAX', 'XLA')}\n"
        "settings, before = dict(jax.config.values), environment()\n"
        "import portarray as pa\n"
        "pa.device('jax'), pa.memory('jax'), pa.synchronize('jax')\n"
        "x = pa.asarray([1.0, 2.0], device='jax'); x[0] = 3; repr(pa.sin(x) / x)\n"
        "import numpy; pa.asarray(numpy.asarray([1], 'i4'), device='jax').to_device('numpy')\n"
        "changed = {k for k, v in jax.config.values.items() if settings[k] != v}\n"
        "assert not changed and environment() == before, changed\n"
        "print(x.dtype)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", program],
        env={**os.environ, "JAX_ENABLE_X64": enabled},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["float64" if enabled == "1" else "float32"]

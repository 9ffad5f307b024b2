"""CuPy without a GPU: only its reports about the machine are simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import portarray as pa

Ghost = Callable[..., Any]


@pytest.fixture(scope="session")
def kernels_of() -> Callable[[ModuleType], dict[str, Any]]:
    """Return a function that finds the CUDA kernels of a module by name."""
    cupy = pytest.importorskip("cupy", exc_type=ImportError)
    classes = cupy.ElementwiseKernel, cupy.ReductionKernel

    def find(module: ModuleType) -> dict[str, Any]:
        return {
            name: kernel for name, kernel in vars(module).items() if isinstance(kernel, classes)
        }

    return find


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """CuPy's runtime, whose reports about the machine a test may replace."""
    cupy_runtime = pytest.importorskip("cupy", exc_type=ImportError).cuda.runtime
    from portarray.backends.cupy import devices

    pa.reset_gpu_device()
    devices._device_count.cache_clear()
    yield cupy_runtime
    monkeypatch.undo()
    devices._device_count.cache_clear()
    pa.reset_gpu_device()


@pytest.fixture
def ghost() -> Ghost:
    """Return a function that makes arrays without memory, for calls that touch no elements."""
    cupy = pytest.importorskip("cupy", exc_type=ImportError)

    def make(shape: tuple[int, ...], dtype: str = "float64", *, device: int = 0) -> Any:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = cupy.cuda.UnownedMemory(4096, max(size, 1), None, device)
        return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 0))

    return make

"""Memory of compiled functions: values computed where others were, and nothing else changed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiled_arrays import asarray, assert_alike, host

import portarray as pa
from portarray._transforms.compiling import buffers

OWN = ("numpy", "clarray", "dpnp", "cupy")


@pytest.fixture(params=["kernels", "calls"])
def everywhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have memory of small arrays given on, too; with kernels and without."""
    monkeypatch.setattr(buffers, "SMALLEST", 0)
    cost = 0 if request.param == "kernels" else 1 << 60
    for device in pa.devices():
        monkeypatch.setattr(type(device._backend), "launch_cost", cost)


class Drawn:
    """A function of two square arrays that views, assigns, reduces and multiplies."""

    def __init__(self, seed: int) -> None:
        self.draws = np.random.default_rng(seed).integers(0, 1000, (24, 4))
        self.returned = self.draws[:3, 0]

    def __call__(self, *inputs: Any) -> list[Any]:
        values = list(inputs)
        for kind, first, second, draw in self.draws.tolist():
            x, y = (values[-1 - n % min(len(values), 5)] for n in (first, second))
            values.append(self.computed(kind % 12, x, y, draw))
        # Late and early values, one of them twice.
        return [values[n % len(values)] for n in self.returned] + values[-1:] * 2

    def computed(self, kind: int, x: Any, y: Any, draw: int) -> Any:
        if kind < 4:
            return (pa.add, pa.subtract, pa.multiply, pa.maximum)[kind](x, y)
        if kind == 4:
            return pa.tanh(x) * 0.5 if draw % 2 else 2.0 - pa.tanh(x)
        if kind == 5:
            return pa.permute_dims(x, (1, 0))
        if kind == 6:
            return pa.reshape(pa.reshape(x, (-1,)), x.shape)
        if kind == 7:
            return x - pa.mean(x, axis=draw % 2, keepdims=True)
        if kind == 8:
            return pa.tanh(x) @ pa.tanh(y)
        if kind == 9:
            return pa.flip(x, axis=draw % 2)
        z = pa.tanh(x) if draw % 2 else pa.zeros_like(x)
        z[draw % 5, ...] = y[draw % 3, ...]
        if kind == 10:
            z[:, 1:3] = z[:, :2] * 2  # what is read is written
            z = z + pa.tanh(z)
            z[..., draw % 4] = 1.0
        return z


COUNTS = {"numpy": 120, "clarray": 12, "dpnp": 10}


def test_drawn_programs(device: str, everywhere: None) -> None:
    library = pa.device(device).library
    if library not in OWN:
        pytest.skip("the library's own compiler gives memory on")
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 5, 5))
    reused = 0
    for seed in range(COUNTS.get(library, 3)):
        function = Drawn(seed)
        inputs = [asarray(x, device) for x in values]
        want = function(*[pa.asarray(x, copy=True) for x in inputs])
        compiled = pa.compile(function)
        first = compiled(*inputs)
        returned = [host(x).copy() for x in first]
        second = compiled(*inputs)
        for array, again, originals, right in zip(first, second, returned, want, strict=True):
            assert_alike(again, right, ulp=1e4)
            np.testing.assert_array_equal(
                host(array), originals, f"seed {seed}: a result was changed"
            )
        for x, right in zip(inputs, values, strict=True):
            np.testing.assert_array_equal(host(x), right.astype("f4"), f"seed {seed}: an argument")
        memory = compiled.explain(*inputs).buffers
        assert memory is not None
        reused += memory.reused
    assert reused > COUNTS.get(library, 3)


def repeated(x: Any) -> Any:
    y = pa.tanh(x)
    for _ in range(6):
        y = pa.sort(y, axis=0) * 0.5 + x
    return y


def assigned(x: Any) -> Any:
    y = pa.zeros_like(x)
    for n in range(20):
        y[n, ...] = x[n, ...] * n
    return y


@pytest.mark.parametrize("function", [repeated, assigned])
def test_peak_is_what_is_allocated(function: Callable[..., Any]) -> None:
    x = asarray(np.random.default_rng(0).normal(size=(512, 512)), "numpy")
    compiled = pa.compile(function)
    compiled(x)
    compiled(x)
    tracemalloc.start()
    result = compiled(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(host(result), host(function(x)))
    memory = compiled.explain(x).buffers
    assert memory is not None
    assert memory.reused > 4
    assert peak <= memory.peak + 50_000
    assert peak <= 3.1 * host(x).nbytes
    assert f"{memory.reused} reused, peak {memory.peak} bytes" in str(compiled.explain(x))


def test_kernels_know_the_bytes_of_constants(fuses: None) -> None:
    table = asarray(np.linspace(0, 1, 40_000), "numpy")
    x = asarray(np.linspace(1, 2, 40_000), "numpy")
    (kernel,) = pa.compile(lambda x: pa.exp(x) * table + 1.0).explain(x).kernels
    assert (kernel.reads, kernel.writes) == (320_000, 160_000)

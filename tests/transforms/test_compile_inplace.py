"""Arguments that a compiled function changes in place."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from compiled_arrays import asarray, host

import portarray as pa
import portarray.kernel_language as kl
from portarray._kernel_language.decorator import reason_unsupported
from portarray.errors import TracedArrayError


@pa.kernel
def store(q: Any, cache: Any, x: Any, row: Any, factor: Any) -> None:
    i = kl.index()
    q[i] = x[i] * factor
    cache[row[0], i] = x[i]


def adds(cache: Any, x: Any) -> Any:
    cache += x
    return cache


def test_an_argument_is_changed_as_without_compiling(device: str, replayed: None) -> None:
    compiled = pa.compile(adds, inplace_argnums=0)
    cache, x = asarray([[1.0, 2.0], [3.0, 4.0]], device), asarray([10.0, 20.0], device)
    for _ in range(3):
        assert compiled(cache, x) is cache
    assert cache.tolist() == [[31, 62], [33, 64]]
    with pytest.raises(TracedArrayError, match="inplace_argnums"):
        pa.compile(adds)(cache, x)


class Drawn:
    """Draws statements that read, change and view one or two arrays."""

    def __init__(self, seed: int) -> None:
        self.draws = np.random.default_rng(seed).integers(0, 100, (5, 3)).tolist()

    def __call__(self, first: Any, second: Any, x: Any, row: Any) -> list[Any]:
        results = [x]
        for kind, which, draw in self.draws:
            cache, n = (second if which % 3 == 0 else first), draw % 4
            if kind % 5 == 0:
                cache[n, :] = results[-1]
            elif kind % 5 == 1:
                cache[1:3, 1] += float(draw)
            elif kind % 5 == 2:
                results.append(pa.sum(cache, axis=0) * 0.5)
            elif kind % 5 == 3 and not reason_unsupported(x.device):
                q, _ = store(pa.zeros_like(x), cache, results[-1], row, 2.0, ndrange=3)
                results.append(q)
            else:
                results.append(cache[n, :] + results[-1])
                cache[n, ...] = pa.flip(cache[n - 1, :])
        return results[1:] or [x + 1]


def test_drawn_changes_equal_those_of_the_function(
    device: str, fuses: None, replayed: None
) -> None:
    rng = np.random.default_rng(5)
    for seed in range({"numpy": 40, "clarray": 12}.get(device.partition(":")[0], 3)):
        function = Drawn(seed)
        compiled = pa.compile(function, inplace_argnums=(0, 1))
        values = rng.normal(size=(2, 4, 3)).astype(np.float32)
        got, want = ([asarray(x, device).copy() for x in values] for _ in range(2))
        for turn in range(4):
            x, row = asarray(rng.normal(size=3), device), asarray([turn], device, pa.int32)
            outputs, expected = compiled(*got, x, row), function(*want, x, row)
            for a, b in zip([*outputs, *got], [*expected, *want], strict=True):
                np.testing.assert_allclose(host(a), host(b), rtol=1e-4, atol=1e-4)


def test_arrays_are_changed_without_copies() -> None:
    device = pa.device("clarray")
    cache = pa.zeros((1 << 10, 1 << 10), dtype=pa.float32, device=device)

    def stored(cache: Any, x: Any, row: Any) -> Any:
        q, _ = store(pa.zeros_like(x), cache, x, row, 2.0, ndrange=3)
        cache[5, :3] = q
        return pa.sum(cache[:, :3], axis=1)

    compiled = pa.compile(stored, inplace_argnums=0)
    x, row = asarray([1, 2, 3], "clarray"), asarray([7], "clarray", pa.int32)
    compiled(cache, x, row)
    memory, allocated = cache._native.storage, device.native.pool._allocated
    for _ in range(4):
        result = compiled(cache, x, row)
    assert [float(result[5]), float(result[7])] == [12, 6]
    assert cache._native.storage is memory
    assert device.native.pool._allocated - allocated < cache.nbytes


def test_gradients_keep_the_values_that_arguments_had(device: str, replayed: None) -> None:
    compiled = pa.compile(adds, inplace_argnums=0)
    x = asarray([1, 2, 3], device)
    for _ in range(3):
        cache = asarray([4, 5, 6], device)

        def loss(x: Any, cache: Any = cache) -> Any:
            y = x * cache
            compiled(cache, cache * 1)
            return pa.sum(y + x * cache)

        assert pa.grad(loss)(x).tolist() == [12, 15, 18]
        outputs, vjp = pa.vjp(lambda x, cache=cache: x * cache, x)
        compiled(cache, x)
        assert vjp(outputs * 0 + 1)[0].tolist() == [8, 10, 12]


def test_arguments_that_share_memory_are_refused(device: str, replayed: None) -> None:
    if pa.device(device).library == "mlx" or pa.device(device)._backend.immutable:
        pytest.skip("arrays share no memory that changes")
    cache = asarray([[1.0, 2.0], [3.0, 4.0]], device)
    compiled = pa.compile(adds, inplace_argnums=0)
    with pytest.raises(ValueError, match=r"^adds: array 0 .*\nHint: "):
        compiled(cache, cache[0, :])
    assert cache.tolist() == [[1, 2], [3, 4]]
    assert compiled(cache[0, :], cache[1, :]).tolist() == [4, 6]  # parts of one array
    outer = cache
    with pytest.raises(ValueError, match="one that it reads"):
        pa.compile(lambda x: adds(x, outer[1, :]), inplace_argnums=0)(cache[1, :])


@pytest.mark.parametrize("share", [pa.from_dlpack, partial(pa.asarray, copy=False)])
def test_wrapped_memory_is_shared(device: str, share: Any) -> None:
    if pa.device(device).library not in ("numpy", "clarray", "torch"):
        pytest.skip("arrays do not share NumPy's memory")
    buffer = bytearray(16)
    x, y = (share(np.frombuffer(buffer, np.float32), device=device) for _ in range(2))
    with pytest.raises(ValueError, match="shares memory"):
        pa.compile(adds, inplace_argnums=0)(x, y)


def test_interleaved_parts_of_an_array_are_changed(device: str, replayed: None) -> None:
    if pa.device(device).library == "mlx" or pa.device(device)._backend.immutable:
        pytest.skip("arrays share no memory that changes")

    def stored(keys: Any, values: Any, x: Any) -> Any:
        keys[0, :] = x
        values[:, 1] += x[:2]

    compiled = pa.compile(stored, inplace_argnums=(0, 1))
    cache = pa.zeros((2, 2, 3), dtype=pa.float32, device=device)
    for n in range(3):
        compiled(cache[:, 0, :], cache[:, 1, :], asarray([n, 1, 2], device))
    assert cache.tolist() == [[[2, 1, 2], [0, 3, 0]], [[0, 0, 0], [0, 3, 0]]]


def test_arrays_in_dicts_are_changed_in_every_call(device: str, replayed: None) -> None:
    def step(parameters: Any, layers: Any, x: Any) -> Any:
        for key in parameters:
            parameters[key] -= x
        layers[1]["w"] += x

    compiled = pa.compile(step, inplace_argnums=(0, 1))
    parameters = {"w": asarray([1, 2], device), "b": asarray([3, 4], device)}
    layers = [{"w": asarray([1, 2], device)} for _ in range(2)]
    for _ in range(3):
        compiled(parameters, layers, asarray([1, 1], device))
    assert {key: x.tolist() for key, x in parameters.items()} == {"w": [-2, -1], "b": [0, 1]}
    assert [x["w"].tolist() for x in layers] == [[1, 2], [4, 5]]


@pa.kernel
def fill(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = x[i]


def assign_row(cache: Any, x: Any) -> None:
    row = cache[0, :]
    row[:] = x


def assign_rows(cache: Any, x: Any) -> None:
    rows = cache[1:, :]
    rows += x


def fill_row(cache: Any, x: Any) -> None:
    fill(cache[0, :], x, ndrange=3)


@pytest.mark.parametrize("function", [assign_row, assign_rows, fill_row])
def test_changes_through_views_are_refused_or_made(device: str, function: Any) -> None:
    if function is fill_row and reason_unsupported(pa.device(device)):
        pytest.skip("no user kernels")
    cache, want = (asarray(np.zeros((4, 3)), device).copy() for _ in range(2))
    x = asarray([1, 2, 3], device)
    function(want, x)
    try:
        pa.compile(function, inplace_argnums=0)(cache, x)
    except TracedArrayError as error:
        assert "through a view" in str(error)  # noqa: PT017  (immutable arrays have no views)
    else:
        np.testing.assert_array_equal(host(cache), host(want))


def test_what_copies_arguments_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be combined"):
        pa.compile(adds, inplace_argnums=0, precision="bfloat16")
    x = pa.ones(2, dtype=pa.float32)
    with pa.precision("float16"), pytest.raises(TracedArrayError, match="copies of arguments"):
        pa.compile(adds, inplace_argnums=0)(x, x + 1)
    with pytest.raises(TracedArrayError, match="copies of arguments"):
        pa.compile(adds, precision="float16")(x, x + 1)
    with pytest.raises(ValueError, match="positions from 0"):
        pa.compile(adds, inplace_argnums=-1)
    with pytest.raises(ValueError, match=r"=1\.0 is not one or several positions"):
        pa.compile(adds, inplace_argnums=1.0)  # type: ignore[call-overload]
    values = np.zeros(2)
    values.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        pa.compile(adds, inplace_argnums=0)(pa.asarray(values, device="numpy"), pa.ones(2))

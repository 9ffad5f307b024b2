"""User kernels in compiled functions: launches that are bound, and wait together."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np
import pytest
from compiled_arrays import host

import portarray as pa
import portarray.kernel_language as kl
from portarray import kernels
from portarray._kernel_language.decorator import reason_unsupported
from portarray._opencl import blocks

FACTOR = 2.0


@pa.kernel
def scaled(y: Any, x: Any, a: Any) -> None:
    i = kl.index()
    y[i] = a * x[i] + y[i]


@pa.kernel
def reversed_into(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = x[x.shape[0] - 1 - i]


@pa.kernel
def by_factor(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = FACTOR * x[i]


@pytest.fixture(autouse=True)
def runs_kernels(request: pytest.FixtureRequest) -> None:
    """Skip devices that do not run user kernels."""
    names = request.fixturenames
    device = pa.device(request.getfixturevalue("device") if "device" in names else "numpy")
    if reason := reason_unsupported(device):
        pytest.skip(reason)


def asarray(values: Any, device: str) -> Any:
    return pa.asarray(np.asarray(values, np.float32), device=device, copy=True)


def waits(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that grows with each wait for a kernel in host memory."""
    from portarray._opencl.device import Device

    waited: list[object] = []
    plain = Device.wait

    def wait(self: Any, event: Any, queue: Any) -> None:
        waited.append(event)
        plain(self, event, queue)

    monkeypatch.setattr(Device, "wait", wait)
    return waited


def empty() -> Any:
    return pa.empty(5, dtype=pa.float32, device="numpy")


def test_launches_in_host_memory_wait_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyopencl")
    x = asarray(range(5), "numpy")

    @pa.compile
    def launched(x: Any) -> Any:
        y = reversed_into(empty(), x)
        z = reversed_into(empty(), by_factor(empty(), y))
        return z, pa.sum(z), by_factor(empty(), y)

    launched(x)
    waited = waits(monkeypatch)
    assert [y.tolist() for y in launched(x)] == [[0, 2, 4, 6, 8], 20, [8, 6, 4, 2, 0]]
    # For those before the sum, and for the last one; none where a C compiler makes kernels.
    assert len(waited) in (0, 2)
    with pa.config(kernel_debug=True):
        assert launched(x)[0].tolist() == [0, 2, 4, 6, 8]


def test_copies_of_what_a_launch_writes_are_made_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyopencl")

    @pa.compile
    def changed(x: Any) -> Any:
        y = by_factor(empty(), x)
        z = reversed_into(empty(), y)
        return scaled(y, x, 1.0), z  # writes into a copy of y

    x = asarray(range(5), "numpy")
    changed(x)
    waited = waits(monkeypatch)
    assert [y.tolist() for y in changed(x)] == [[0, 3, 6, 9, 12], [8, 6, 4, 2, 0]]
    assert len(waited) in (0, 2)  # none where a C compiler makes kernels


def test_a_block_keeps_arrays_until_its_end() -> None:
    x = np.ones(3)
    alive, ended = weakref.ref(x), []
    with blocks.LaunchBlock():
        assert blocks.current.block is not None
        blocks.current.block.add((x,), lambda: ended.append(alive() is not None))
        del x
        assert alive() is not None
        assert not ended
    assert ended == [True]
    assert alive() is None
    assert blocks.current.block is None


class Drawn:
    """A function of two vectors that launches kernels, also on views, between other calls."""

    def __init__(self, seed: int) -> None:
        self.draws = np.random.default_rng(seed).integers(0, 1000, (12, 4)).tolist()

    def __call__(self, *inputs: Any) -> list[Any]:
        values = list(inputs)
        for kind, first, second, draw in self.draws:
            x, y = (values[-1 - n % min(len(values), 4)] for n in (first, second))
            values.append(self.computed(kind % 9, x, y, draw))
        return values[2::3] + values[-2:]

    def computed(self, kind: int, x: Any, y: Any, draw: int) -> Any:
        if kind < 3:
            return scaled(pa.tanh(x) if draw % 2 else pa.zeros_like(x), y, draw % 5 / 4)
        if kind == 3:
            target = x.copy()
            return scaled(scaled(target, y, 0.5), pa.flip(y), 0.25)
        if kind == 4:
            return reversed_into(pa.zeros_like(x), y[::-1] if draw % 2 else y)
        if kind == 5:
            return by_factor(pa.ones_like(x), y) / 4
        if kind == 6:
            z = reversed_into(pa.zeros_like(x), y)
            z[draw % 6 :] = 1.0
            return scaled(z, z + x, 0.5)
        if kind == 7:
            return x - pa.mean(y)
        return pa.tanh(x + y) * y


def test_drawn_programs_equal_their_functions(device: str, fuses: None, replayed: None) -> None:
    rng = np.random.default_rng(3)
    for seed in range({"numpy": 30, "torch": 8, "clarray": 6}.get(device.partition(":")[0], 2)):
        function = Drawn(seed)
        compiled = pa.compile(function)
        results = []
        for turn in (0, 0, 0, 1, 1, 2, 0, 2):  # launches are recorded from the second call on
            values = rng.normal(size=(2, 14)).astype(np.float32)
            inputs = [asarray(x, device) for x in values]
            # Strides and offsets are no part of a compiled function's signature.
            inputs = [x[::2] if turn == 1 else x[turn : turn + 7] for x in inputs]
            want = [host(x).copy() for x in function(*inputs)]
            results.append((compiled(*inputs), want))
        for outputs, want in results:  # later calls do not change earlier results
            for got, expected in zip(outputs, want, strict=True):
                np.testing.assert_allclose(host(got), expected, rtol=1e-4, atol=1e-5)


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that grows with each replay: whether it was for these arrays."""
    recording = pytest.importorskip("portarray._opencl.recording")
    tried: list[bool] = []
    plain = recording.Recording.__call__

    def call(self: Any, inputs: Any) -> Any:
        outputs = plain(self, inputs)
        tried.append(outputs is not None)
        return outputs

    monkeypatch.setattr(recording.Recording, "__call__", call)
    return tried


def is_recorded(device: str) -> bool:
    return pa.device(device).library in ("numpy", "torch", "clarray")


def test_launches_are_recorded_once(device: str, replayed: None, replays: list[bool]) -> None:
    def launched(x: Any, y: Any) -> Any:
        z = by_factor(pa.zeros_like(x), reversed_into(pa.zeros_like(x), y))
        return scaled(z, x, 0.5), x

    compiled = pa.compile(launched)
    x, y = asarray([1, 2, 3], device), asarray([5, 6, 7], device)
    results = []
    for _ in range(6):
        got, same = compiled(x, y)
        assert same is x
        results.append((got, launched(x, y)[0].tolist()))
        x, y = y, x + 1
    for got, want in results:  # later calls do not change earlier results
        assert got.tolist() == want
    assert all(replays)
    assert len(replays) >= (4 if is_recorded(device) else 0)
    # Arguments that share memory, as those that were recorded did not.
    assert compiled(x, x[:])[0].tolist() == launched(x, x)[0].tolist()


def test_what_the_host_reads_is_not_recorded(device: str, replays: list[bool]) -> None:
    def chosen(x: Any) -> Any:
        return pa.cond(x[0] > 0, lambda x: pa.tanh(x) + 1, lambda x: x - 1, x)

    compiled = pa.compile(chosen)
    for first in (1.0, 1.0, 1.0, -1.0, 1.0):
        x = asarray([first, 0.5], device)
        np.testing.assert_allclose(host(compiled(x)), host(chosen(x)), rtol=1e-6)


def test_large_temporary_arrays_are_not_kept(replays: list[bool]) -> None:
    device = pa.device("clarray")
    x = pa.ones((1 << 22,), dtype=pa.float32, device=device)
    compiled = pa.compile(lambda x: pa.sum(pa.cumulative_sum(x) * 2))
    compiled(x)
    used = device.native.pool.used
    assert [float(compiled(x)) for _ in range(4)] == [float(compiled(x))] * 4
    assert device.native.pool.used < used + (1 << 20)
    assert not replays


def test_recorded_launches_wait_where_memory_is_shared(replays: list[bool]) -> None:
    compiled = pa.compile(lambda x: x @ x @ x @ x)
    for _ in range(3):
        x = pa.ones((600, 600), dtype=pa.float32, device="clarray")
        compiled(x)
    assert replays == [True]
    values = np.ones((600, 600), np.float32)
    y = compiled(pa.asarray(values, device="clarray", copy=False))
    values[...] = 0
    assert replays[1:] == [False]
    assert float(y[599, 599]) == 600.0**3


def test_bound_launches_read_names_of_kernels_anew(
    device: str, replayed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = asarray([1, 2], device)
    compiled = pa.compile(lambda x: by_factor(pa.zeros_like(x), x))
    assert [compiled(x).tolist() for _ in range(3)] == [[2, 4]] * 3
    y = pa.zeros_like(x)
    by_factor(y, x)
    bound = by_factor._bound((0, 1), (y, x), None, None)
    if bound is not None and y.tolist() == [2, 4]:  # written in place
        assert bound([y._native, (2 * x)._native])
        assert y.tolist() == [4, 8]
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert [compiled(x).tolist() for _ in range(2)] == [[3, 6]] * 2
    if bound is not None:  # also where a compiled function does not follow names
        assert not bound([y._native, x._native])


def test_threads_do_not_share_launches(device: str, replayed: None) -> None:
    compiled = pa.compile(lambda x, y: scaled(reversed_into(pa.zeros_like(x), y), x, 2.0))
    wrong = []

    def run(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            x, y = rng.normal(size=(2, 100)).astype(np.float32)
            got = host(compiled(asarray(x, device), asarray(y, device)))
            if not np.allclose(got, 2 * x + y[::-1], atol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_failed_launch_ends_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    x = asarray([1, 2], "numpy")
    compiled = pa.compile(lambda x: by_factor(pa.zeros_like(x), reversed_into(pa.zeros_like(x), x)))
    assert compiled(x).tolist() == [4, 2]
    monkeypatch.setitem(globals(), "FACTOR", object())
    with pytest.raises(SyntaxError):
        compiled(x)
    assert blocks.current.block is None
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert compiled(x).tolist() == [6, 3]


@pytest.mark.parametrize("rows", [1, 3])
def test_a_fused_product_is_one_launch(device: str, rows: int, replayed: None) -> None:
    rng = np.random.default_rng(0)
    x, residual = (asarray(rng.normal(size=(rows, 64)), device) for _ in range(2))
    norm = asarray(rng.normal(size=64), device)
    up, down = (
        kernels.pack(asarray(rng.normal(size=shape), device), "Q8_0")
        for shape in ((128, 64), (64, 64))
    )

    def mlp(x: Any, up: Any, down: Any, residual: Any) -> Any:
        inner = kernels.fused_linear(x, up, norm=norm, eps=1e-5, gated=True)
        return kernels.fused_linear(inner, down, residual=residual)

    compiled = pa.compile(mlp)
    for a, b in ((x, residual), (residual, x), (x + 1, x)):
        got, want = compiled(a, up, down, b), mlp(a, up, down, b)
        np.testing.assert_allclose(host(got), host(want), rtol=1e-4, atol=1e-3)
    if pa.device(device).library in ("numpy", "clarray", "torch"):
        assert compiled.explain(x, up, down, x).steps == ["user kernel products"] * 2
        np.testing.assert_array_equal(host(got), host(want))
    gradient = pa.grad(lambda x: pa.sum(mlp(x, up, down, residual)))
    np.testing.assert_allclose(
        host(pa.compile(gradient)(x)), host(gradient(x)), rtol=1e-3, atol=1e-2
    )
    with pa.config(tuned_kernels=False):
        assert "user kernel products" not in pa.compile(mlp).explain(x, up, down, x).steps

"""Calls of one kernel that differ in what its program or its launch depends on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import portarray as pa
import portarray.kernel_language as kl

SCALE = 2.0


@pa.kernel
def scaled(y: Any, a: Any, x: Any) -> None:
    i = kl.index()
    y[i] = a * x[i]


@pa.kernel(static=("a",))
def static_scaled(y: Any, a: Any, x: Any) -> None:
    i = kl.index()
    y[i] = a * x[i]


@pa.kernel
def global_scaled(y: Any, x: Any) -> None:
    i = kl.index()
    y[i] = SCALE * x[i]


def test_calls_in_turn(device: str) -> None:
    """Layouts, dtypes, scalars, ndrange and group alternate: none is taken for another."""
    place = pa.device(device)
    if isinstance(reason := place._backend.launcher(place.native), str):
        pytest.skip(reason)
    host = np.arange(48, dtype=np.float32)
    whole = pa.asarray(host, device=device)
    inputs = [(whole[:8], host[:8]), (whole[8:16], host[8:16]), (whole[::2], host[::2])]
    inputs += [(whole[::-1], host[::-1]), (whole[:1], host[:1])]
    inputs += [(pa.astype(whole, pa.int32)[:8], host[:8])]
    scalars: list[Any] = [2.0, -0.0, 0.0, 3, True, np.float32(0.5), 2.0]
    sizes: list[Any] = [{}, {"ndrange": 1}, {"ndrange": (1,)}, {"ndrange": [1]}]
    sizes += [{"ndrange": np.asarray([1])}, {"ndrange": 1, "group": np.asarray([1])}]
    for kernel in (scaled, static_scaled):
        for x, values in inputs:
            for a in scalars:
                for given in sizes:
                    count = 1 if given else len(values)
                    y = pa.full(x.shape, 7, dtype=pa.float32, device=device)
                    got = np.asarray(kernel(y, a, x, **given))
                    want = np.full(len(values), 7, np.float32)
                    want[:count] = np.float32(a) * values[:count]
                    np.testing.assert_array_equal(got, want)
                    signs = np.signbit(got[:count]), np.signbit(want[:count])
                    if x.dtype == pa.float32 and isinstance(a, float):
                        np.testing.assert_array_equal(*signs)


COUNT, WEIGHTS = np.int64(4), (np.float32(0.1), np.int64(3), np.bool_(True))


@pa.kernel(static=("n", "several"))
def numpys_numbers(y: Any, n: Any, several: Any) -> None:
    i = kl.index()
    kept = kl.private((COUNT, n), kl.float32)
    if n == 3 and COUNT == 4:
        kept[3, n - 1] = WEIGHTS[0] * several[0]
    if several[1]:
        y[i] = kept[COUNT - 1, 2] + WEIGHTS[1] + (1 if WEIGHTS[2] else 0)


def test_numpys_scalars_as_constants(device: str) -> None:
    """Those around a kernel are sizes and parts of tuples, and have their dtypes."""
    place = pa.device(device)
    if isinstance(reason := place._backend.launcher(place.native), str):
        pytest.skip(reason)
    y = pa.zeros(2, dtype=pa.float32, device=device)
    want = np.full(2, np.float32(0.1) * np.float32(0.5) + 4, np.float32)
    for n, several in ((3, (0.5, 1)), (np.int64(3), (np.float32(0.5), np.int16(1)))):
        for got in (numpys_numbers(y, n, several), numpys_numbers.interpret(y, n, several)):
            np.testing.assert_array_equal(np.asarray(got), want)
    with pytest.raises(TypeError, match="several=1j: complex numbers are not"):
        numpys_numbers(y, 3, 1j)


def test_a_kernel_may_have_any_name(device: str) -> None:
    """OpenCL has no kernel of the name ``main``."""
    place = pa.device(device)
    if isinstance(reason := place._backend.launcher(place.native), str):
        pytest.skip(reason)

    @pa.kernel
    def main(y: Any, half: Any) -> None:
        y[kl.index()] = half

    assert main(pa.zeros(2, device=device), 3).tolist() == [3, 3]


def test_changed_global(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = pa.ones(3, device="numpy"), pa.zeros(3, device="numpy")
    place = pa.device("numpy")
    if isinstance(reason := place._backend.launcher(place.native), str):
        pytest.skip(reason)
    for value in (2.0, 3.0, 3.0, 2.0):
        monkeypatch.setitem(globals(), "SCALE", value)
        for _ in range(2):
            np.testing.assert_array_equal(np.asarray(global_scaled(y, x)), value)


def test_read_only_is_copied_each_time() -> None:
    place = pa.device("numpy")
    if isinstance(reason := place._backend.launcher(place.native), str):
        pytest.skip(reason)
    x = pa.ones(3, dtype=pa.float32, device="numpy")
    host = np.zeros(3, np.float32)
    y = pa.asarray(host, device="numpy", copy=False)
    for locked in (False, True, False, True):
        host[:] = 0
        host.flags.writeable = not locked
        fixed = pa.asarray(host, device="numpy", copy=False) if locked else y
        np.testing.assert_array_equal(np.asarray(scaled(fixed, 2.0, x)), 2)
        host.flags.writeable = True
        np.testing.assert_array_equal(host, 0 if locked else 2)

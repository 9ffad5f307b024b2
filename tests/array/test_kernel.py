"""Selection of a kernel's version: a backend's table, then the generic one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray._array.kernel import Kernel, version
from portarray.backends import registry
from portarray.backends.types import TunedKernel


def doubled(xp: Any, x: Any, y: Any = None, /, *, times: Any = 1) -> Any:
    """Return x doubled, plus y, times a number: the generic version of the kernel here."""
    out = xp.multiply(xp.add(x, x), times)
    return out if y is None else xp.add(out, y)


KERNEL = Kernel("doubled", doubled)


class Table:
    """Tuned kernels of a backend that record their calls and devices."""

    def __init__(self, library: str) -> None:
        self.calls: list[tuple[str, int]] = []
        self.library = importlib.import_module(f"{library}.backend").LIBRARY
        self.namespace = registry.load_backend(library).standard
        self.kernels = {
            "doubled": (
                TunedKernel(
                    self.noting("long"), "long", frozenset({"float32"}), "row", refuse_long
                ),
                TunedKernel(self.noting("any"), "any", frozenset({"float32", "float64"}), "row"),
                TunedKernel(self.noting("never"), "never", frozenset({"float32"}), "row"),
            )
        }

    def noting(self, name: str) -> Callable[..., Any]:
        def called(x: Any, y: Any = None, /, *, times: Any = 1) -> Any:
            self.calls.append((name, self.library.current))
            return doubled(self.namespace, x, y, times=times)

        return called


def refuse_long(x: Any, y: Any = None, /, *, times: Any = 1) -> str:
    assert importlib.import_module("fake.backend").LIBRARY.current == x.device.index
    return f"x has {x.shape[0]} values, fewer than 4" if x.shape[0] < 4 else ""


@pytest.fixture
def table(fake: str, monkeypatch: pytest.MonkeyPatch) -> Table:
    fake_table = Table(fake)
    monkeypatch.setattr(registry.load_backend(fake), "tuned_kernels", fake_table.kernels)
    return fake_table


def numbers(length: int, dtype: str, device: str) -> pa.Array:
    return pa.asarray(np.arange(length), dtype=dtype, device=device)


def call(kernel: Kernel, *arrays: pa.Array | None, **options: Any) -> pa.Array:
    assert isinstance(arrays[0], pa.Array)
    out = kernel(*arrays, **options)
    values = np.asarray(arrays[0].to_device("numpy")) * 2 * int(options.get("times", 1))
    np.testing.assert_array_equal(np.asarray(out.to_device("numpy")), values)
    assert (out.dtype, out.device) == (arrays[0].dtype, arrays[0].device)
    return out


@pytest.mark.parametrize(
    ("length", "dtype", "serves"),
    [(5, "float32", "long"), (3, "float32", "any"), (5, "float64", "any"), (5, "int64", None)],
)
def test_the_first_version_that_takes_the_call_serves_it(
    table: Table, length: int, dtype: str, serves: str | None
) -> None:
    kernel = Kernel("doubled", doubled)
    x = numbers(length, dtype, "fake:cuda:1")
    call(kernel, x, times=3)
    assert table.calls == ([] if serves is None else [(serves, 1)])  # on x's device
    row, refused = version(kernel, (x,), {"times": 3})
    assert (row and row.name) == serves
    reasons = {candidate.name: why for candidate, why in refused}
    if serves is None:
        assert reasons["any"] == "it takes float32, float64, not int64"
        assert len(reasons) == 3
    elif dtype == "float32" and length == 3:
        assert reasons == {"long": "x has 3 values, fewer than 4"}


def test_the_setting_asks_for_the_generic_version(table: Table) -> None:
    kernel = Kernel("doubled", doubled)
    x = numbers(5, "float32", "fake:cuda:0")
    for tuned in (True, False, True):
        table.calls.clear()
        with pa.config(tuned_kernels=tuned):
            call(kernel, x)
            assert (version(kernel, (x,), {})[0] is None) is not tuned
        assert table.calls == [("long", 0)] * tuned


def test_arrays_of_two_devices_are_an_error(fake: str) -> None:
    x, y = (numbers(3, "float32", f"{fake}:cuda:{index}") for index in (0, 1))
    with pytest.raises(pa.DeviceMismatchError, match=r"fake:cuda:0.*fake:cuda:1"):
        KERNEL(x, y)
    with pytest.raises(pa.DeviceMismatchError, match=r"fake:cuda:0.*fake:cuda:1"):
        KERNEL(x, times=pa.sum(y))


def test_optional_arrays_and_arrays_among_the_options(fake: str) -> None:
    x = numbers(3, "float32", f"{fake}:cuda:1")
    assert (x + x).tolist() == KERNEL(x, None).tolist()
    assert (x + x + x).tolist() == KERNEL(x, x).tolist()
    assert ((x + x) * 3).tolist() == KERNEL(x, times=pa.sum(x)).tolist()


def test_a_library_without_a_table_is_served_by_the_generic_version(device: str) -> None:
    x = numbers(5, "float32", device)
    call(KERNEL, x, times=2)
    assert version(KERNEL, (x,), {}) == (None, ())


def test_memory_that_runs_out_is_the_error_of_every_device(device: str) -> None:
    def greedy(xp: Any, x: Any, /) -> Any:
        raise MemoryError("no memory left")

    with pytest.raises(pa.OutOfMemoryError):
        Kernel("greedy", greedy)(numbers(3, "float32", device))

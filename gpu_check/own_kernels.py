"""User kernels and algorithms on one device, with the cases of the tests."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from part import Outcome, outcome, run_cases

import portarray as pa
import portarray.kernel_language as kl
from portarray.kernel_language.algorithms import accumulate, map_kernel, reduce, sort_by_key

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kernel_language"))

from cases.case import Case, all_cases  # type: ignore[import-not-found]


def unsupported(case: Case | None, device: pa.Device) -> str:
    """Return why a device cannot run a case, or an empty string."""
    launcher = device._backend.launcher(device.native)
    if isinstance(launcher, str):
        return launcher
    if case is None:
        return ""
    if case.atomics64 and not launcher.atomics64:
        return "no 64-bit atomic functions"
    try:
        for dtype in case.dtypes():
            pa.ones(1, dtype=dtype, device=device)
    except TypeError as error:
        return str(error)
    return ""


def checked(case: Case, device: str) -> Outcome:
    """Run a case; return the status and what is wrong."""
    target = pa.device(device)
    if reason := unsupported(case, target):
        return "not run", reason

    def check() -> str:
        kernel = pa.kernel(case.kernel, static=case.static)
        arguments = case.placed(lambda array: pa.asarray(array, device=device, copy=True))
        out = kernel(*arguments, ndrange=case.ndrange, group=case.group)
        arrays = out if isinstance(out, tuple) else (out,)
        case.check(tuple(target._backend.read_host(x.native, target.native) for x in arrays))
        return ""

    return outcome(check)


Values = np.ndarray[Any, Any]

SHAPES = ((1,), (1000,), (100_003,), (300, 70), (7, 500, 3), (3, 5, 400))


def composed(a: Any, b: Any) -> Any:
    """Compose linear maps modulo 8: associative, but not commutative."""
    factor = ((a % 8) * (b % 8)) % 8
    return ((a // 8 * (b % 8) + b // 8) % 8) * 8 + factor


def nearer(a: Any, b: Any) -> Any:
    """Return whether a is nearer to 20; many keys are equally near."""
    return abs(a // 4 - 5) < abs(b // 4 - 5)


def algorithm(name: str, shape: tuple[int, ...], axis: int, device: str) -> tuple[Values, Any]:
    """Return an algorithm's result on the device, and the expected one."""
    x = np.random.default_rng(7).integers(0, 64, shape).astype(np.int32)
    y = pa.asarray(x, device=device, copy=True)
    rows = np.moveaxis(x, axis, -1).reshape(-1, shape[axis]).tolist()
    scanned = np.asarray([list(itertools.accumulate(row, composed)) for row in rows])
    scanned = np.moveaxis(scanned.reshape(np.moveaxis(x, axis, -1).shape), -1, axis)
    if name == "reduce":
        return on_host(reduce(composed, y, axis=axis)), scanned.take(-1, axis)
    if name == "accumulate":
        return on_host(accumulate(composed, y, axis=axis)), scanned
    if name == "map_kernel":
        return on_host(map_kernel(lambda a, b: a * 2 - b, y, 3)), x * 2 - 3
    keys = pa.reshape(y, (-1,))
    _, order = sort_by_key(keys, pa.arange(x.size, device=device), less=nearer)
    return on_host(order), np.argsort(np.abs(x.reshape(-1) // 4 - 5), kind="stable")


def on_host(x: pa.Array) -> Values:
    """Return an array's values."""
    return np.asarray(x.to_device("numpy"))


def check_algorithm(name: str, shape: tuple[int, ...], axis: int, device: str) -> Outcome:
    """Run an algorithm; return the status and what is wrong."""
    if reason := unsupported(None, pa.device(device)):
        return "not run", reason

    def check() -> str:
        np.testing.assert_array_equal(*algorithm(name, shape, axis, device))
        return ""

    return outcome(check)


@pa.kernel
def product(c: Any, a: Any, b: Any) -> None:
    """Multiply two matrices."""
    i, j = kl.index()
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    c[i, j] = total * total


def check_gradient(device: str) -> Outcome:
    """Compare the gradient of a kernel with that of the same product by ``matmul``."""
    if reason := unsupported(None, pa.device(device)):
        return "not run", reason

    def check() -> str:
        rng = np.random.default_rng(3)
        a, b = (
            pa.asarray(rng.random(shape), dtype=pa.float32, device=device)
            for shape in ((70, 33), (33, 50))
        )
        parts = (
            pa.grad(lambda a, b: pa.sum(product(pa.empty((70, 50), dtype=a.dtype), a, b)), (0, 1)),
            pa.grad(lambda a, b: pa.sum((a @ b) ** 2), (0, 1)),
        )
        with pa.device(device):
            for x, y in zip(*[part(a, b) for part in parts], strict=True):
                np.testing.assert_allclose(on_host(x), on_host(y), rtol=1e-4)
        return ""

    return outcome(check)


def cases(device: str) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield every kernel and algorithm."""
    for case in all_cases():
        yield case.name, partial(checked, case, device)
    for name in ("reduce", "accumulate", "map_kernel", "sort_by_key"):
        for shape in SHAPES:
            for axis in range(len(shape)) if name in ("reduce", "accumulate") else (0,):
                label = f"{name} of {shape}, axis {axis}"
                yield label, partial(check_algorithm, name, shape, axis, device)
    yield "gradient of a kernel", partial(check_gradient, device)


if __name__ == "__main__":
    run_cases(__doc__, cases)

"""Batches, derivatives of kernels, scatter, special functions and prefetching on one device."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from own_kernels import on_host, unsupported
from part import Outcome, outcome, run_cases

import portarray as pa
import portarray.kernel_language as kl

VALUES = np.random.default_rng(11).normal(size=(257, 33)).astype(np.float32)
INDICES = np.random.default_rng(12).integers(-33, 33, (257, 33)).astype(np.int32)


@pa.kernel
def recurrence(y: Any, x: Any, w: Any, times: Any) -> None:
    """Iterate a map whose derivative needs the states of the loop."""
    i = kl.index()
    v = x[i]
    for k in range(times):
        v = 0.9 * math.sin(v) + w[(i + k) % w.shape[0]] / (1.5 + v * v)
    y[i] = v


def iterated(x: pa.Array, w: pa.Array) -> pa.Array:
    """Return the recurrence of two arrays."""
    y: pa.Array = recurrence(pa.zeros_like(x), x, w, 70)
    return y


def loss(row: pa.Array, w: pa.Array) -> pa.Array:
    """Return a number that depends on a row in several ways."""
    return pa.sum(pa.tanh(row * w) ** 2) + pa.max(row[1:] - row[:-1]) + row[pa.argmin(w)]


def prefetched(x: pa.Array, i: pa.Array) -> pa.Array:
    """Return sums of batches that were moved while others computed."""
    batches = ({"x": on_host(x)[n : n + 32], "n": n} for n in range(0, 257, 32))
    moved = pa.prefetch(batches, x.device, depth=3)
    return pa.stack([pa.sum(batch["x"], axis=0)[:10] + batch["n"] for batch in moved])


def scattered(name: str, x: pa.Array, i: pa.Array) -> pa.Array:
    """Return rows and their gradient after a scatter with repeated indices."""
    function = getattr(pa, f"scatter_{name}")

    def row(x: pa.Array, i: pa.Array) -> pa.Array:
        y: pa.Array = function(x, i, pa.flip(x))
        return y

    gradient = pa.grad(lambda x: pa.sum(pa.vmap(row)(x, i) ** 2))
    return pa.stack([pa.vmap(row)(x, i), gradient(x)])


CASES: dict[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "vmap": lambda x, i: pa.vmap(loss, (0, None))(x, x[0]),
    "vmap of grad": lambda x, i: pa.vmap(pa.grad(loss), (0, None))(x, x[0]),
    "vmap of indices": lambda x, i: pa.vmap(lambda row, n: row[n] * pa.sort(row))(x, i),
    "vmap along the last axis": lambda x, i: pa.vmap(lambda v: v @ v, -1)(x),
    "vmap, nested": lambda x, i: pa.vmap(lambda a: pa.vmap(lambda b: a @ b)(x[:9]))(x),
    "jacobian": lambda x, i: pa.jacobian(lambda row: pa.cumulative_sum(row**2))(x[0]),
    **{f"scatter_{name}": partial(scattered, name) for name in ("add", "max", "min", "multiply")},
    "special": lambda x, i: pa.stack(
        [
            *(pa.special.erf(x), pa.special.ndtr(x), pa.special.gammaln(2 + x**2)),
            *(pa.special.digamma(2 + x**2), pa.special.i0e(x), pa.special.expit(x)),
            *(pa.special.gammainc(1.5, x**2), pa.special.xlogy(x, 1 + x**2)),
        ]
    ),
    "prefetch": prefetched,
}
KERNELS: dict[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "kernel": lambda x, i: iterated(x[0], x[1]),
    "kernel, vmap": lambda x, i: pa.vmap(iterated)(x, x + 1),
    "kernel, gradient": lambda x, i: pa.stack(
        pa.grad(lambda a, b: pa.sum(iterated(a, b)), (0, 1))(x[0], x[1])
    ),
    "kernel, jvp": lambda x, i: pa.jvp(iterated, (x[0], x[1]), (x[1], x[2]))[1],
    "kernel, compiled": lambda x, i: pa.compile(lambda a: iterated(a * 2, a + 1) * 3)(x[0]),
    "kernel, compiled gradient": lambda x, i: pa.compile(
        pa.grad(lambda a: pa.sum(iterated(a * 2, a) ** 2))
    )(x[0]),
}


def checked(function: Callable[[pa.Array, pa.Array], pa.Array], device: str) -> Outcome:
    """Compare a function of float32 arrays with the same on NumPy in float64."""
    if function in KERNELS.values() and (reason := unsupported(None, pa.device(device))):
        return "not run", reason

    def computed(target: str, dtype: Any) -> Any:
        with pa.device(target):
            x = pa.asarray(VALUES, dtype=dtype, device=target)
            return on_host(function(x, pa.asarray(INDICES, device=target)))

    def check() -> str:
        got, expected = computed(device, "float32"), computed("numpy", "float64")
        if got.shape != expected.shape:
            return f"shape {got.shape} instead of {expected.shape}"
        wrong = ~np.isclose(got, expected, rtol=2e-3, atol=2e-3)
        return f"{np.count_nonzero(wrong)} of {wrong.size} differ from NumPy's" * bool(wrong.any())

    return outcome(check)


def cases(device: str) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield every case."""
    for name, function in {**CASES, **KERNELS}.items():
        yield name, partial(checked, function, device)


if __name__ == "__main__":
    run_cases(__doc__, cases)

"""portarray functions in the transformations of the device's own library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from part import Outcome, outcome, run_cases

import portarray as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "transforms"))

from foreign_cases import FUNCTIONS, Function, X, loss  # type: ignore[import-not-found]

BOUND = 3e-3  # largest error, relative to the largest element

Transformed = Callable[[pa.Array], pa.Array]


def of_jax(function: Function) -> Iterator[tuple[str, Transformed, Function]]:
    """Yield JAX's transformations of a function, with the function that each must equal."""
    import jax

    scalar = loss(function)
    yield "jax.jit", jax.jit(function), function
    yield "jax.grad", jax.jit(jax.grad(lambda x: scalar(x).native)), pa.grad(scalar)


def of_torch(function: Function) -> Iterator[tuple[str, Transformed, Function]]:
    """Yield PyTorch's transformations."""
    import torch

    scalar = loss(function)
    torch._dynamo.reset()
    yield "torch.compile", torch.compile(function, fullgraph=True, backend="aot_eager"), function
    yield "torch.func.grad", torch.func.grad(lambda x: scalar(x).native), pa.grad(scalar)


def of_mlx(function: Function) -> Iterator[tuple[str, Transformed, Function]]:
    """Yield MLX's transformation, which accepts only MLX arrays."""
    import mlx.core as mx

    whole = mx.compile(lambda x: function(pa.asarray(x)).native)
    yield "mx.compile", lambda x: pa.asarray(whole(x.native)), function


OF = {"jax": of_jax, "torch": of_torch, "mlx": of_mlx}


def checked(run: Transformed, expected: Function, device: str) -> str:
    """Return what is wrong with a transformed function, or an empty string."""
    got = np.asarray(pa.to_device(run(pa.asarray(X.astype(np.float32), device=device)), "numpy"))
    want = np.asarray(expected(pa.asarray(X, device="numpy")))
    off = float(np.max(np.abs(got - want), initial=0) / (1 + np.max(np.abs(want), initial=0)))
    return "" if off <= BOUND else f"differs from NumPy's by {off:.2g}"


def cases(device: str) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield every transformation of every function."""
    library = pa.device(device).library
    if library not in OF:
        yield "all", lambda: ("not run", f"{library} transforms no functions")
        return
    for name, function in FUNCTIONS.items():
        for label, run, expected in OF[library](function):
            yield f"{label} {name}", partial(outcome, checked, run, expected, device)


if __name__ == "__main__":
    run_cases(__doc__, cases)

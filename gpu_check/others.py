"""portarray in the transformations of the device's own library, beside NumPy's device."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from part import BEGAN, Writer, arguments

import portarray as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "transforms"))

from foreign_cases import FUNCTIONS, Function, X, loss  # type: ignore[import-not-found]

BOUND = 3e-3
"""Largest error beside the largest element: single precision."""

Transformed = Callable[[pa.Array], pa.Array]


def of_jax(function: Function) -> Iterator[tuple[str, Transformed, Function]]:
    """Yield JAX's transformations of a function, and what they are to give."""
    import jax

    of_one = loss(function)
    yield "jax.jit", jax.jit(function), function
    yield "jax.grad", jax.jit(jax.grad(lambda x: of_one(x).native)), pa.grad(of_one)


def of_torch(function: Function) -> Iterator[tuple[str, Transformed, Function]]:
    """Yield PyTorch's."""
    import torch

    of_one = loss(function)
    torch._dynamo.reset()
    yield "torch.compile", torch.compile(function, fullgraph=True, backend="aot_eager"), function
    yield "torch.func.grad", torch.func.grad(lambda x: of_one(x).native), pa.grad(of_one)


def of_mlx(function: Function) -> Iterator[tuple[str, Transformed, Function]]:
    """Yield MLX's, which takes no arrays but its own."""
    import mlx.core as mx

    whole = mx.compile(lambda x: function(pa.asarray(x)).native)
    yield "mx.compile", lambda x: pa.asarray(whole(x.native)), function


OF = {"jax": of_jax, "torch": of_torch, "mlx": of_mlx}


def checked(run: Transformed, wanted: Function, device: str) -> tuple[str, str]:
    """Return how a call ended, and what was wrong."""
    try:
        x = pa.asarray(X.astype(np.float32), device=device)
        got = np.asarray(pa.to_device(run(x), "numpy"))
    except pa.DTypeNotSupportedError as error:
        return "not run", str(error)
    except Exception as error:  # noqa: BLE001 - whatever is wrong is told
        return "failed", f"{type(error).__name__}: {error}"
    want = np.asarray(wanted(pa.asarray(X, device="numpy")))
    off = float(np.max(np.abs(got - want), initial=0) / (1 + np.max(np.abs(want), initial=0)))
    return ("passed", "") if off <= BOUND else ("failed", f"differs from NumPy's by {off:.2g}")


if __name__ == "__main__":
    given = arguments(__doc__, lambda parser: parser.add_argument("device"))
    library = pa.device(given.device).library
    with Writer(given.out) as out:
        if library not in OF:
            reason = f"{library} transforms no functions"
            out({"case": "all", "status": "not run", "examples": 1, "message": reason})
        for name, function in FUNCTIONS.items() if library in OF else ():
            if time.monotonic() > BEGAN + given.seconds:
                break
            for how, run, wanted in OF[library](function):
                status, message = checked(run, wanted, given.device)
                out({"case": f"{how} {name}", "status": status, "examples": 1, "message": message})

"""Random numbers on one device: those of NumPy, made by kernels and of the standard's functions."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from part import BEGAN, Writer, arguments

import portarray as pa

Draw = Callable[..., pa.Array]
COUNT = 100_003  # of each draw
FLOATS = ("float16", "bfloat16", "float32", "float64")
EXACT = 0.0
ROUNDED = 4.0  # units in the last place


def drawn(function: str, *values: Any, **options: Any) -> Draw:
    """Return what draws with a key."""
    make: Draw = getattr(pa.random, function)
    return lambda key: make(key, *values, **options)


def draws() -> Iterator[tuple[str, Draw, float]]:
    """Yield every kind of draw, and by how many units numbers may differ."""
    yield "split", drawn("split", (7, 3)), EXACT
    yield "fold_in", drawn("fold_in", 2**40 + 1), EXACT
    yield "permutation", drawn("permutation", COUNT), EXACT
    yield "choice", drawn("choice", 1000, COUNT), EXACT
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        yield f"bits {dtype}", drawn("bits", COUNT, dtype=dtype), EXACT
    for dtype in FLOATS:
        yield f"uniform {dtype}", drawn("uniform", COUNT, dtype=dtype, low=-3.0, high=5.0), EXACT
        yield f"normal {dtype}", drawn("normal", COUNT, dtype=dtype), ROUNDED
        yield f"exponential {dtype}", drawn("exponential", COUNT, dtype=dtype), ROUNDED
    for low, high, dtype in (
        (-5, 1000, "int32"), (-128, 128, "int8"), (0, 2**32, "uint32"),
        (-(2**31), 2**31 - 1, "int32"), (-(2**62), 2**60, "int64"), (1, 2**64, "uint64"),
    ):  # fmt: skip
        made = drawn("integers", low, high, (COUNT,), dtype=dtype)
        yield f"integers {dtype} {low} {high}", made, EXACT


def seen(x: pa.Array) -> Any:
    """Return an array's values, of 16 bits as float32."""
    return np.asarray((pa.astype(x, pa.float32) if x.dtype.itemsize == 2 else x).to_device("numpy"))


def checked(draw: Draw, seed: int, device: str, most: float) -> tuple[str, str]:
    """Return how a draw ended, and what was wrong."""
    try:
        made = draw(pa.random.key(seed, device=device))
        got = seen(made)
    except pa.DTypeNotSupportedError as error:
        return "not run", str(error)
    except Exception as error:  # noqa: BLE001 - whatever is wrong is told
        return "failed", f"{type(error).__name__}: {error}"
    with pa.config(tuned_kernels=False):
        try:
            want = seen(draw(pa.random.key(seed, device="numpy")))
        except pa.DTypeNotSupportedError as error:
            return "not run", f"there is nothing to compare with: {error}"
    if got.shape != want.shape or got.dtype != want.dtype:
        return "failed", f"{got.dtype} {got.shape} instead of {want.dtype} {want.shape}"
    different = np.count_nonzero(got != want)
    if not different:
        return "passed", ""
    if most:
        eps = float(pa.finfo(made.dtype).eps)
        worst = float((np.abs(got.astype(float) - want) / np.abs(want)).max() / eps)
        return ("passed" if worst <= most else "failed"), f"{worst:.1f} units in the last place"
    return "failed", f"{different} of {want.size} numbers are others than NumPy's"


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device")


if __name__ == "__main__":
    given = arguments(__doc__, _options)
    with Writer(given.out) as out:
        for seed in range(1_000_000):
            for name, draw, most in draws():
                if seed and time.monotonic() > BEGAN + given.seconds:
                    raise SystemExit
                for kernels in (True, False):
                    with pa.config(tuned_kernels=kernels):
                        status, message = checked(draw, seed, given.device, most)
                    case = f"{name}, {'kernels' if kernels else 'functions'}"
                    out({"case": case, "status": status, "examples": 1, "message": message})
            if seed >= 9:
                break

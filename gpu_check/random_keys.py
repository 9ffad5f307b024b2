"""Random numbers on one device, by kernels and by standard functions, compared with NumPy's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from part import STARTED, Outcome, Writer, arguments, outcome

import portarray as pa

Draw = Callable[..., pa.Array]
COUNT = 100_003  # of each draw
FLOATS = ("float16", "bfloat16", "float32", "float64")
EXACT = 0.0
ROUNDED = 4.0  # units in the last place


def drawn(function: str, *values: Any, **options: Any) -> Draw:
    """Return a function that draws with a key."""
    make: Draw = getattr(pa.random, function)
    return lambda key: make(key, *values, **options)


def draws() -> Iterator[tuple[str, Draw, float]]:
    """Yield every kind of draw, with the allowed difference in ULP."""
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
    for mean in (3.0, 1e4):
        yield f"poisson {mean}", drawn("poisson", mean, COUNT, dtype="int32"), EXACT
        trials = int(2 * mean)
        yield f"binomial {trials}", drawn("binomial", trials, 0.4, COUNT, dtype="int32"), EXACT
    for dtype in ("float32", "float64"):  # powers of numbers that are rounded
        yield f"gamma {dtype}", drawn("gamma", 3.0, COUNT, dtype=dtype), 16 * ROUNDED
        tail = drawn("truncated_normal", 2.0, 9.0, COUNT, dtype=dtype)
        yield f"truncated_normal {dtype}", tail, ROUNDED
        yield f"beta {dtype}", drawn("beta", 0.5, 3.0, COUNT, dtype=dtype), 64 * ROUNDED
        yield f"student_t {dtype}", drawn("student_t", 3.5, COUNT, dtype=dtype), 16 * ROUNDED
        yield f"laplace {dtype}", drawn("laplace", COUNT, dtype=dtype), 4 * ROUNDED
    for low, high, dtype in (
        (-5, 1000, "int32"), (-128, 128, "int8"), (0, 2**32, "uint32"),
        (-(2**31), 2**31 - 1, "int32"), (-(2**62), 2**60, "int64"), (1, 2**64, "uint64"),
    ):  # fmt: skip
        integers = drawn("integers", low, high, (COUNT,), dtype=dtype)
        yield f"integers {dtype} {low} {high}", integers, EXACT


def on_host(x: pa.Array) -> Any:
    """Return an array's values; those of 16 bits as float32."""
    return np.asarray((pa.astype(x, pa.float32) if x.dtype.itemsize == 2 else x).to_device("numpy"))


def checked(draw: Draw, seed: int, device: str, most: float) -> Outcome:
    """Compare a draw with NumPy's; return the status and what is wrong."""

    def check() -> str:
        sample = draw(pa.random.key(seed, device=device))
        got = on_host(sample)
        with pa.config(tuned_kernels=False):
            want = on_host(draw(pa.random.key(seed, device="numpy")))
        if got.shape != want.shape or got.dtype.kind != want.dtype.kind:  # indices may be int32
            return f"{got.dtype} {got.shape} instead of {want.dtype} {want.shape}"
        unequal = got != want
        different = np.count_nonzero(unequal)
        if different and most:
            eps = float(pa.finfo(sample.dtype).eps)
            difference = np.abs(got.astype(float) - want)[unequal]
            worst = float((difference / np.abs(want[unequal])).max() / eps)
            return "" if worst <= most else f"differs from NumPy's by {worst:.1f} ULP"
        return f"{different} of {want.size} numbers differ from NumPy's" if different else ""

    return outcome(check)


if __name__ == "__main__":
    command_line = arguments(__doc__, "device")
    with Writer(command_line.out) as out:
        for seed in range(1_000_000):
            for name, draw, most in draws():
                if seed and time.monotonic() > STARTED + command_line.seconds:
                    raise SystemExit
                for kernels in (True, False):
                    with pa.config(tuned_kernels=kernels):
                        status, message = checked(draw, seed, command_line.device, most)
                    case = f"{name}, {'kernels' if kernels else 'functions'}"
                    out({"case": case, "status": status, "examples": 1, "message": message})
            if seed >= 9:
                break

"""Infinities and NaN come without a warning, as on every other device."""

from __future__ import annotations

import subprocess
import sys

CALLS = """
import numpy as np
import portarray as pa

odd = [np.inf, -np.inf, np.nan, 1e308, -1e308, 0.0, -0.0, 5e-324]
values = [np.asarray([odd, odd[::-1]]), np.full((2, 2), 1e308), np.zeros((0, 3)), np.ones(1)]
options = [{}, {"axis": -1}, {"correction": 1}, {"ord": 2}, {"ord": -1}, {"ord": 1}, {"ord": 3}]
functions = {
    (part, name): getattr(module, name)
    for part in ("", "linalg", "fft", "special")
    for module in [getattr(pa, part) if part else pa]
    for name in module.__all__
    if not isinstance(getattr(module, name), type)
    if name not in ("compile", "grad", "save", "vmap")
}
warned, results = {}, 0
for dtype in (pa.float64, pa.float32, pa.float16, pa.complex128):
    for x in values:
        with np.errstate(all="ignore"):
            x = pa.asarray(x.astype(dtype), device="numpy")
        for name, function in functions.items():
            for args in ((x,), (x, x), (x, 0), (x, x, x)):
                for named in options if len(args) == 1 else [{}]:
                    try:
                        function(*args, **named)
                        results += 1
                    except RuntimeWarning as warning:
                        warned[name] = warning
                    except Exception:  # of arguments that the function does not take
                        pass
assert not warned, warned
assert results > 3000, results
"""

TRANSFORMS = """
import portarray as pa

functions = [
    lambda x: pa.sqrt(pa.log(x / 0)) + pa.exp(x) % 0.0,
    lambda x: pa.sum(pa.exp(x) * pa.reciprocal(x), axis=-1) / pa.mean(x - pa.inf, axis=-1),
    lambda x: pa.kernels.softmax((x**0.5) * 1e300 * 1e300),
]
x = pa.asarray([[1000.0, -1.0], [0.0, pa.nan]], device="numpy")
for function in functions:
    gradient = pa.grad(lambda x: pa.sum(function(x)))
    for one in (function, gradient, pa.vmap(function), pa.vmap(gradient)):
        one(x)
        pa.compile(one)(x)
"""


def run(program: str) -> None:
    """Run a program in a process, since pytest's filters come before that of NumPy's backend."""
    command = [sys.executable, "-W", "error", "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_functions() -> None:
    run(CALLS)


def test_transforms() -> None:
    run(TRANSFORMS)

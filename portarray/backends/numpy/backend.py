"""NumPy as a backend."""

import warnings
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any, ClassVar

import numpy as np

from portarray.backends.common.silence import silently
from portarray.backends.numpy.devices import Devices
from portarray.backends.numpy.launching import Launching
from portarray.backends.numpy.namespace.data_type import SILENT
from portarray.backends.numpy.transfer import Transfer
from portarray.backends.numpy.tuned import TUNED

__all__ = ["BACKEND"]

_IN_PYTHON = frozenset(
    (
        *("cumulative_prod", "diff", "linalg.det", "linalg.matrix_norm", "linalg.matrix_power"),
        *("linalg.outer", "linalg.slogdet", "linalg.trace", "linalg.vector_norm"),
        *("fft.fft", "fft.fftn", "fft.hfft", "fft.ifft", "fft.ifftn"),
        *("fft.ihfft", "fft.irfft", "fft.irfftn", "fft.rfft", "fft.rfftn"),
    )
)
"""Functions that never warn, whatever filters a program sets: many compute in NumPy's modules."""

# Infinities and NaN come without a warning from every other library, and NumPy's would name lines
# of portarray. NumPy's own arrays warn as before; so do filters that a program sets later.
warnings.filterwarnings(
    "ignore",
    r"(divide by zero|invalid value|overflow) encountered",
    RuntimeWarning,
    r"portarray\.",
)


class NumPyBackend(Devices, Transfer, Launching):
    """NumPy behind portarray."""

    standard: ClassVar[Any] = np
    accepts_scalars = True
    launch_cost = 100_000
    tuned_kernels = TUNED

    def wrap_function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function without the warnings that would name lines of NumPy."""
        if name not in _IN_PYTHON:
            return function

        return partial(silently, function)

    def caster(self, dtype: np.dtype[Any], target: np.dtype[Any]) -> Callable[[Any], Any] | None:
        """Return a method of arrays, which NumPy converts in C."""
        if (dtype, target) in SILENT:
            return methodcaller("astype", target)
        if dtype.kind == "c" != target.kind:
            return None
        return lambda x: silently(x.astype, target)


BACKEND = NumPyBackend

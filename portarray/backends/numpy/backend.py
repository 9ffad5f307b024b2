"""NumPy as a backend."""

import warnings
from typing import Any, ClassVar

import numpy as np

from portarray.backends.numpy.devices import Devices
from portarray.backends.numpy.launching import Launching
from portarray.backends.numpy.transfer import Transfer
from portarray.backends.numpy.tuned import TUNED

__all__ = ["BACKEND"]

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


BACKEND = NumPyBackend

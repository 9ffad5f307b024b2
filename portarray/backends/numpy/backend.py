"""NumPy as a backend."""

from typing import Any, ClassVar

import numpy as np

from portarray.backends.numpy.devices import Devices
from portarray.backends.numpy.launching import Launching
from portarray.backends.numpy.transfer import Transfer
from portarray.backends.numpy.tuned import TUNED

__all__ = ["BACKEND"]


class NumPyBackend(Devices, Transfer, Launching):
    """NumPy behind portarray."""

    standard: ClassVar[Any] = np
    accepts_scalars = True
    launch_cost = 100_000
    tuned_kernels = TUNED


BACKEND = NumPyBackend

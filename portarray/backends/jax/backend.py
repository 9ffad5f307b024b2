"""JAX as a backend."""

from typing import Any, ClassVar

import jax.numpy

from portarray.backends.jax.compiling import Compiling
from portarray.backends.jax.devices import Devices
from portarray.backends.jax.launching import Launching
from portarray.backends.jax.transfer import Transfer
from portarray.backends.jax.tuned import TUNED

__all__ = ["BACKEND"]


class JAXBackend(Devices, Transfer, Launching, Compiling):
    """JAX behind portarray."""

    standard: ClassVar[Any] = jax.numpy
    unchecked_linalg = frozenset(("linalg.cholesky", "linalg.inv", "linalg.solve"))
    tuned_kernels = TUNED


BACKEND = JAXBackend

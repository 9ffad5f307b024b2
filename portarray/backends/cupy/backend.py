"""CuPy as a backend."""

from portarray.backends.cupy.devices import Devices
from portarray.backends.cupy.launching import Launching
from portarray.backends.cupy.transfer import Transfer
from portarray.backends.cupy.tuned import TUNED

__all__ = ["BACKEND"]


class CuPyBackend(Devices, Transfer, Launching):
    """CuPy behind portarray."""

    accepts_scalars = True
    tuned_kernels = TUNED


BACKEND = CuPyBackend

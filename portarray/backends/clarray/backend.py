"""clarray as a backend."""

from typing import Any, ClassVar

from portarray import clarray
from portarray.backends.clarray.devices import Devices
from portarray.backends.clarray.launching import Launching
from portarray.backends.clarray.transfer import Transfer
from portarray.backends.clarray.tuned import TUNED

__all__ = ["BACKEND"]


class CLArrayBackend(Devices, Transfer, Launching):
    """portarray's interface to clarray."""

    standard: ClassVar[Any] = clarray
    accepts_scalars = True
    tuned_kernels = TUNED


BACKEND = CLArrayBackend

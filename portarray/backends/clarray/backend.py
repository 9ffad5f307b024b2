"""clarray as a backend."""

from portarray.backends.clarray.devices import Devices
from portarray.backends.clarray.transfer import Transfer
from portarray.backends.clarray.tuned import TUNED

__all__ = ["BACKEND"]


class CLArrayBackend(Devices, Transfer):
    """clarray behind portarray."""

    tuned_kernels = TUNED


BACKEND = CLArrayBackend

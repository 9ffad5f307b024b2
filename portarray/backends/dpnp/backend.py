"""dpnp as a backend."""

from portarray.backends.dpnp import host_tasks  # noqa: F401  (SYCL reads it when it is imported)
from portarray.backends.dpnp.devices import Devices
from portarray.backends.dpnp.launching import Launching
from portarray.backends.dpnp.transfer import Transfer
from portarray.backends.dpnp.tuned import TUNED

__all__ = ["BACKEND"]


class DpnpBackend(Devices, Transfer, Launching):
    """dpnp behind portarray."""

    accepts_scalars = True
    tuned_kernels = TUNED


BACKEND = DpnpBackend

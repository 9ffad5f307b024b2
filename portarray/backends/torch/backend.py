"""PyTorch as a backend."""

from collections.abc import Callable
from typing import Any

from portarray.backends.torch.capture import Capture
from portarray.backends.torch.compiling import Compiling
from portarray.backends.torch.devices import Devices
from portarray.backends.torch.gradients import OwnGradients
from portarray.backends.torch.launching import Launching
from portarray.backends.torch.namespace.unsigned import UNSIGNED
from portarray.backends.torch.transfer import Transfer
from portarray.backends.torch.tuned import TUNED

__all__ = ["BACKEND"]


class TorchBackend(Devices, Transfer, Launching, OwnGradients, Compiling, Capture):
    """PyTorch behind portarray."""

    # LAPACK's balancing of NaN and infinity, before general eigenvalues, ends the process.
    linalg_ignores_nonfinite = Devices.linalg_ignores_nonfinite | {"linalg.eig", "linalg.eigvals"}
    tuned_kernels = TUNED

    def caster(self, dtype: Any, target: Any) -> Callable[[Any], Any] | None:
        """Return a call of PyTorch's method, where that is the whole of ``astype``."""
        if (dtype.is_complex and not target.is_complex) or (
            dtype.is_floating_point and target in UNSIGNED
        ):
            return None
        return lambda x: x.to(dtype=target)


BACKEND = TorchBackend

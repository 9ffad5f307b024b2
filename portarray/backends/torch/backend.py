"""PyTorch as a backend."""

from portarray.backends.torch.capture import Capture
from portarray.backends.torch.compiling import Compiling
from portarray.backends.torch.devices import Devices
from portarray.backends.torch.gradients import OwnGradients
from portarray.backends.torch.launching import Launching
from portarray.backends.torch.transfer import Transfer
from portarray.backends.torch.tuned import TUNED

__all__ = ["BACKEND"]


class TorchBackend(Devices, Transfer, Launching, OwnGradients, Compiling, Capture):
    """PyTorch behind portarray."""

    # LAPACK's balancing of NaN and infinity, before general eigenvalues, ends the process.
    linalg_ignores_nonfinite = Devices.linalg_ignores_nonfinite | {"linalg.eig", "linalg.eigvals"}
    tuned_kernels = TUNED


BACKEND = TorchBackend

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

    # For general eigenvalues LAPACK balances the matrix, which crashes for NaN and infinity.
    heedless_linalg = Devices.heedless_linalg | {"linalg.eig", "linalg.eigvals"}
    tuned_kernels = TUNED


BACKEND = TorchBackend

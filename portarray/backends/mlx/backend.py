"""MLX as a backend."""

from portarray.backends.mlx.compiling import Compiling
from portarray.backends.mlx.devices import Devices
from portarray.backends.mlx.launching import Launching
from portarray.backends.mlx.transfer import Transfer
from portarray.backends.mlx.tuned import TUNED

__all__ = ["BACKEND"]


class MLXBackend(Devices, Transfer, Launching, Compiling):
    """MLX behind portarray."""

    heedless_linalg = frozenset(("linalg.svd", "linalg.svdvals"))

    tuned_kernels = TUNED


BACKEND = MLXBackend

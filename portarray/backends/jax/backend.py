"""JAX as a backend."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

import jax

from portarray.backends.jax.devices import Devices
from portarray.backends.jax.launching import Launching
from portarray.backends.jax.transfer import Transfer
from portarray.backends.jax.trees import Trees
from portarray.backends.jax.tuned import TUNED

__all__ = ["BACKEND"]


class JAXBackend(Devices, Transfer, Launching, Trees):
    """JAX behind portarray."""

    standard: ClassVar[Any] = jax.numpy
    folds_zeros = True
    unchecked_linalg = frozenset(("linalg.cholesky", "linalg.inv", "linalg.solve"))
    tuned_kernels = TUNED

    def compiled(
        self,
        function: Callable[..., Any],
        natives: Sequence[Any],
        names: Collection[str],
        *,
        dynamic: bool = False,
    ) -> Any:
        """See :meth:`portarray.backends.base.Backend.compiled`."""
        return jax.jit(function)


BACKEND = JAXBackend

"""JAX as a backend."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

import jax

from portarray.backends.jax.devices import Devices
from portarray.backends.jax.launching import Launching
from portarray.backends.jax.tracing import is_traced
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

    def stop_gradient(self, x: Any) -> Any:
        """See :meth:`portarray.backends.base.Backend.stop_gradient`."""
        return jax.lax.stop_gradient(x) if is_traced(x) else x

    def refuse_gradient(self, x: Any, error: Exception) -> Any:
        """See :meth:`portarray.backends.base.Backend.refuse_gradient`."""
        if not is_traced(x):
            return x

        def refused(primals: Any, tangents: Any) -> Any:
            raise error

        value = jax.custom_jvp(lambda x: x)
        value.defjvp(refused)
        return value(x)


BACKEND = JAXBackend

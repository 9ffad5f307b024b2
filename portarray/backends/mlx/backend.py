"""MLX as a backend."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from portarray.backends.mlx.devices import Devices
from portarray.backends.mlx.launching import Launching
from portarray.backends.mlx.tracing import is_traced
from portarray.backends.mlx.transfer import Transfer
from portarray.backends.mlx.tuned import TUNED
from portarray.backends.mlx.wrapping import WRAPPING

__all__ = ["BACKEND"]


_HANGING = frozenset(("linalg.eig", "linalg.eigh", "linalg.qr", "linalg.svd"))
"""Functions with several results, which MLX 0.32 waits for forever in some programs."""


class MLXBackend(Devices, Transfer, Launching):
    """MLX behind portarray."""

    folds_zeros = True
    linalg_ignores_nonfinite = frozenset(("linalg.svd", "linalg.svdvals"))
    tuned_kernels = TUNED

    def stop_gradient(self, x: Any) -> Any:
        """See :meth:`portarray.backends.base.Backend.stop_gradient`."""
        return mx.stop_gradient(x)

    def refuse_gradient(self, x: Any, error: Exception) -> Any:
        """See :meth:`portarray.backends.base.Backend.refuse_gradient`."""
        if type(x) is not mx.array or is_traced(x):  # without values there is no gradient
            return x

        def refused(*_: Any) -> Any:
            raise error

        value = mx.custom_function(lambda x: x)
        value.vjp(refused)
        value.jvp(refused)
        return value(x)

    def compilable(self, name: str, function: Callable[..., Any], dtype: np.dtype[Any]) -> Any:
        """See :meth:`portarray.backends.base.Backend.compilable`."""
        wrapping = WRAPPING.get(name) if dtype.kind == "i" and dtype.itemsize >= 4 else None
        return function if wrapping is None else wrapping(function)

    def compiled(
        self,
        function: Callable[..., Any],
        natives: Sequence[Any],
        names: Collection[str],
        *,
        dynamic: bool = False,
    ) -> Any:
        """See :meth:`portarray.backends.base.Backend.compiled`."""
        hanging = sorted(_HANGING.intersection(names))
        if hanging:
            raise NotImplementedError(f"a compiled function with {hanging[0]} may never return")
        run = mx.compile(function)
        # MLX builds its kernels when results are evaluated. It cannot build all of them (a complex
        # NaN is one that it cannot write) and needs a C++ compiler on CPUs.
        mx.eval(run(*natives))
        return run


BACKEND = MLXBackend

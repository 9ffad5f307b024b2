"""Registration of portarray's arrays as JAX pytrees of native arrays."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from portarray.backends.base import Backend
from portarray.backends.types import Arrays

__all__ = ["Trees"]


class Trees(Backend):
    """The hook of JAX's transformations."""

    def register_arrays(self, arrays: Arrays) -> None:
        """See :meth:`portarray.backends.base.Backend.register_arrays`."""
        unwrap, wrap = arrays.unwrap, arrays.wrap

        def flatten(x: Any) -> tuple[tuple[Any], None]:
            return (unwrap(x),), None

        def unflatten(_: None, leaves: Any) -> Any:
            (leaf,) = leaves
            if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype != jax.dtypes.float0:
                leaf = jax.numpy.asarray(leaf)  # JAX accepts them as leaves
            return wrap(leaf)

        jax.tree_util.register_pytree_node(arrays.array_type, flatten, unflatten)

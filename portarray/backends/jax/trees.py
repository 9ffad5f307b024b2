"""portarray's arrays as pytrees of JAX, whose leaves are the native arrays."""

from __future__ import annotations

from typing import Any

import jax

from portarray.backends.base import Backend
from portarray.backends.types import Arrays

__all__ = ["Trees"]


class Trees(Backend):
    """The hook of JAX's transformations."""

    def adopt(self, arrays: Arrays) -> None:
        """See :meth:`portarray.backends.base.Backend.adopt`."""
        unwrap, wrap = arrays.unwrap, arrays.wrap

        def flatten(x: Any) -> tuple[tuple[Any], None]:
            return (unwrap(x),), None

        def unflatten(_: None, leaves: Any) -> Any:
            return wrap(leaves[0])

        jax.tree_util.register_pytree_node(arrays.array_type, flatten, unflatten)

"""Compilation by XLA."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax

from portarray.backends.base import Backend


class Compiling(Backend):
    """The hook of compilation."""

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

"""Compilation by MLX."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import mlx.core as mx

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
        hanging = sorted(_HANGING.intersection(names))
        if hanging:
            raise NotImplementedError(f"a compiled function with {hanging[0]} may never return")
        return mx.compile(function)


_HANGING = frozenset(("linalg.eig", "linalg.eigh", "linalg.qr", "linalg.svd"))
"""Functions with several results, which MLX 0.32 waits for without end in some programs."""

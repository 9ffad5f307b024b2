"""Operations that need values, which traced arrays do not have.

``mx.compile`` and ``mx.vmap`` call functions with arrays that have only a shape and a dtype. MLX
cannot distinguish them from others, but refuses to compute them.
"""

from __future__ import annotations

import mlx.core as mx

__all__ = ["OTHER_THREAD", "evaluated", "explained", "is_traced"]

OTHER_THREAD = "There is no Stream("
"""MLX's error for an array that another thread created."""

_REFUSED = "during function transformations"


def is_traced(x: mx.array) -> bool:
    """Return whether an array is traced; compute it if it is not."""
    try:
        mx.eval(x)
    except ValueError as error:
        return _REFUSED in str(error)
    except RuntimeError as error:
        if OTHER_THREAD not in str(error):
            raise
        # It has values in that thread; operations that need them here raise.
    return False


def evaluated(x: mx.array) -> mx.array:
    """Compute an array and return it; raises errors of the computation.

    NumPy and memoryview try several protocols: the first would raise, the next read uninitialized
    memory.
    """
    try:
        mx.eval(x)
    except ValueError as error:
        plain = explained(error)
        if plain is None:
            raise
        raise plain from error
    return x


def explained(error: BaseException) -> TypeError | None:
    """Return a clearer error where MLX refuses to compute; None for other errors."""
    if isinstance(error, ValueError) and _REFUSED in str(error):
        return TypeError(
            "the array's values are needed, and they are not known while MLX transforms the "
            "function (mx.compile, mx.vmap): bool(), int(), float(), NumPy, masks as indices, "
            "other devices and results whose shape depends on values do not work there\n"
            "Hint: use pa.where, or do this outside the transformed function"
        )
    return None

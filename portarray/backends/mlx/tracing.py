"""Operations that need values, which arrays that MLX follows do not have.

``mx.compile`` and ``mx.vmap`` call functions with arrays that have a shape and a dtype alone. MLX
does not tell them from others, but refuses to compute them.
"""

from __future__ import annotations

import mlx.core as mx

__all__ = ["OTHER_THREAD", "evaluated", "explained", "is_traced"]

OTHER_THREAD = "There is no Stream("
"""What MLX says of an array that another thread has asked for."""

_REFUSED = "during function transformations"


def is_traced(x: mx.array) -> bool:
    """Tell whether an array has no values yet; computes one that has."""
    try:
        mx.eval(x)
    except ValueError as error:
        return _REFUSED in str(error)
    except RuntimeError as error:
        if OTHER_THREAD not in str(error):
            raise
        # It has values in that thread; whatever needs them here says so.
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
            "this needs an array's values, and they are not known while MLX transforms the "
            "function (mx.compile, mx.vmap). bool(), int(), float(), NumPy, masks as indices, "
            "other devices and results whose shape depends on values are out of reach there; use "
            "pa.where and the like, or do this outside the transformed function"
        )
    return None

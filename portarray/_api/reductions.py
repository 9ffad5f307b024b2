"""The call of a reduction over one, several or all axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call, slow_path

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Axes, DTypeLike


def reduced(
    name: str, x: Array, axis: Axes | None, keepdims: bool, dtype: DTypeLike | None = None
) -> Array:
    """Call a reduction by its standard name after checking its options."""
    if keepdims is not False:
        keepdims = arguments.flag(keepdims, "keepdims")
    if axis is not None:
        axis = arguments.axes(axis, x)
    if dtype is None:
        return call.options(name, x, axis=axis, keepdims=keepdims)
    arguments.numeric(dtype, name, x)
    return slow_path.apply(name, (x,), axis=axis, dtype=dtype, keepdims=keepdims)

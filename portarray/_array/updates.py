"""``x.at[index]``: copies of an array with some elements changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portarray._array import base, conversion, operands

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["Places", "Updates"]


class Updates:
    """What ``x.at`` is, to be indexed.

    Parameters
    ----------
    x : Array
        The array.
    """

    __slots__ = ("_x",)

    def __init__(self, x: Array) -> None:
        self._x = x

    def __getitem__(self, index: Any) -> Places:
        return Places(self._x, index)


class Places:
    """Elements of an array, ``x.at[index]``; its methods return copies of the array.

    Parameters
    ----------
    x : Array
        The array.
    index : int, slice, Array, ... or tuple
        Anything that ``x[index]`` takes. Repeated indices count as often as they occur.
    """

    __slots__ = ("_index", "_x")

    def __init__(self, x: Array, index: Any) -> None:
        self._x = x
        self._index = index

    def set(self, values: Any) -> Array:
        """Return a copy with the elements replaced; of repeated indices, any."""
        result = self._x.copy()
        result[self._index] = values
        return result

    def add(self, values: Any) -> Array:
        """Return a copy with values added to the elements."""
        return self._combined("scatter_add", values)

    def subtract(self, values: Any) -> Array:
        """Return a copy with values subtracted from the elements."""
        return self._combined("scatter_add", values, negative=True)

    def multiply(self, values: Any) -> Array:
        """Return a copy with the elements multiplied by values."""
        return self._combined("scatter_multiply", values)

    def max(self, values: Any) -> Array:
        """Return a copy with the larger of the elements and values."""
        return self._combined("scatter_max", values)

    def min(self, values: Any) -> Array:
        """Return a copy with the smaller of the elements and values."""
        return self._combined("scatter_min", values)

    def _combined(self, name: str, values: Any, *, negative: bool = False) -> Array:
        x = self._x
        method = f"x.at[...].{name.removeprefix('scatter_')}"
        values = conversion.operand(values, x, method)
        if type(values) is not type(x) and operands.scalar(values) is NotImplemented:
            raise operands.refused(values, method)
        values = -values if negative else values
        xp: Any = base.bound_namespace(x.device)
        places = xp.reshape(xp.arange(x.size), x.shape)[self._index]
        if type(values) is type(x):
            values = xp.reshape(xp.broadcast_to(values, places.shape), (-1,))
        flat = getattr(xp, name).__wrapped__(
            xp.reshape(x, (-1,)), xp.reshape(places, (-1,)), values
        )
        result: Array = xp.reshape(flat, x.shape)
        return result

"""What tasks read and write: the marks of arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from portarray._array import extents
from portarray.tasks.task import Task

__all__ = [
    *("CONTAINERS", "Access", "In", "InOut", "Out", "Tree", "flat", "leaves", "mapped", "marked"),
]


class Access:
    """An array, or the arrays of a list, tuple or dict, and whether a task reads and writes it."""

    __slots__ = ("array", "device")

    reads: ClassVar[bool]
    writes: ClassVar[bool]

    array: Any
    device: Any  # a Device; None for a container

    def __init__(self, array: Any) -> None:
        name = type(self).__name__
        if isinstance(array, Task):
            raise TypeError(
                f"{name}: {array!r} is the result of a task\nHint: pass it without {name}"
            )
        device = None if isinstance(array, _CONSTANT_TYPES) else extents.place_of(array)
        if device is None:
            if not isinstance(array, CONTAINERS):
                raise TypeError(
                    f"{name}: expected an array, or a list, tuple or dict of arrays, got "
                    f"{type(array).__name__}"
                )
            self.array, self.device = array, None
            return
        if self.writes and extents.is_native(array) and extents.is_immutable(device):
            raise TypeError(
                f"{name}: the array must be writable, but native arrays of {device} never change\n"
                f"Hint: use {name}(pa.asarray(x))"
            )
        self.array = array
        self.device = device

    def __repr__(self) -> str:
        if self.device is None:
            return f"{type(self).__name__}({type(self.array).__name__} of {len(self.array)})"
        shape = "x".join(map(str, self.array.shape)) or "0-d"
        return f"{type(self).__name__}({shape} on {self.device})"


CONTAINERS = (list, tuple, dict)
_CONSTANT_TYPES = (bool, int, float, complex, str, bytes, list, tuple, dict, type(None))


class In(Access):
    """Marks an argument of a task that is read.

    Parameters
    ----------
    array : Array or native array, or list, tuple or dict of these
        What the function gets; a copy where it runs on another device.

    See Also
    --------
    Out, InOut

    Examples
    --------
    >>> import portarray as pa
    >>> pa.tasks.In(pa.ones((2, 3), device="numpy"))
    In(2x3 on numpy:cpu:0)
    """

    __slots__ = ()

    reads, writes = True, False


class Out(Access):
    """Marks an argument of a task that is written as a whole and not read.

    Parameters
    ----------
    array : Array or native array, or list, tuple or dict of these
        What the function gets. On another device it is a new array, of which all elements are
        written back.

    See Also
    --------
    In, InOut

    Examples
    --------
    >>> import portarray as pa
    >>> pa.tasks.Out(pa.ones(3, device="numpy"))
    Out(3 on numpy:cpu:0)
    """

    __slots__ = ()

    reads, writes = False, True


class InOut(Access):
    """Marks an argument of a task that is read and written, or written in parts.

    Parameters
    ----------
    array : Array or native array, or list, tuple or dict of these
        What the function gets; on another device a copy, which is written back.

    See Also
    --------
    In, Out

    Examples
    --------
    >>> import portarray as pa
    >>> pa.tasks.InOut(pa.ones(3, device="numpy"))
    InOut(3 on numpy:cpu:0)
    """

    __slots__ = ()

    reads, writes = True, True


class Tree:
    """A list, tuple or dict with arrays or tasks in it, which are marked."""

    __slots__ = ("leaves", "value")

    def __init__(self, value: Any, leaves: Sequence[Any]) -> None:
        self.value = value
        self.leaves = leaves


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return a value, or a container of values, by a function; itself if nothing changes."""
    if not isinstance(value, CONTAINERS):
        return function(value)
    old = list(value.values() if isinstance(value, dict) else value)
    new = [mapped(item, function) for item in old]
    if all(map(operator.is_, old, new)):
        return value
    if isinstance(value, dict):
        return dict(zip(value, new, strict=True))
    if isinstance(value, list):
        return new
    return type(value)(*new) if hasattr(value, "_fields") else tuple(new)


def leaves(value: Any) -> Iterator[Any]:
    """Yield a value, or those in a container."""
    if not isinstance(value, CONTAINERS):
        yield value
        return
    for item in value.values() if isinstance(value, dict) else value:
        yield from leaves(item)


def marked(value: Any) -> Any:
    """Return an argument as it is, but arrays without a mark as read, in containers too."""
    if isinstance(value, Access):
        if value.device is not None:
            return value
    elif not isinstance(value, CONTAINERS):
        if isinstance(value, (Task, *_CONSTANT_TYPES)) or extents.place_of(value) is None:
            return value
        return In(value)
    whole = _inside(value, In)
    arrays = [leaf for leaf in leaves(whole) if isinstance(leaf, (Access, Task))]
    return Tree(whole, arrays) if arrays else value


def _inside(value: Any, mark: type[Access]) -> Any:
    """Return a container whose arrays are marked."""
    if isinstance(value, Access) and value.device is None:
        value, mark = value.array, type(value)
    if isinstance(value, CONTAINERS):
        return mapped(value, partial(_inside, mark=mark))
    if isinstance(value, (Access, Task, *_CONSTANT_TYPES)) or extents.place_of(value) is None:
        return value
    return mark(value)


def flat(values: list[Any]) -> list[Any]:
    """Return arguments, and of lists, tuples and dicts the arrays and tasks in them."""
    if Tree not in map(type, values):
        return values
    return [x for value in values for x in (value.leaves if isinstance(value, Tree) else [value])]

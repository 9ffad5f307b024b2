"""Namespaces for code that has arrays and wants functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from portarray._array import dtypes, namespaces, native_arrays, operands
from portarray._array.array import Array
from portarray._devices import selection

if TYPE_CHECKING:
    from portarray.typing import DeviceLike, Namespace


def namespace(device: DeviceLike | None = None) -> Namespace[Any]:
    """Return the standard's namespace of *native* arrays for a device.

    For code that wants no wrapper: functions take and return the library's own arrays, dtypes and
    devices, corrected and completed where the library differs from the standard.

    Parameters
    ----------
    device : device-like, optional
        None takes the default device.

    Returns
    -------
    Namespace
        Attributes under the standard's names, ``linalg`` and ``fft`` included.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> xp = pa.namespace("numpy")
    >>> xp.concat([np.ones(1), np.zeros(2)])
    array([1., 0., 0.])
    """
    return cast("Namespace[Any]", namespaces.namespace(selection.resolve(device)))


def array_namespace(*arrays: object) -> Any:
    """Return the namespace that arrays share.

    Parameters
    ----------
    *arrays : Array, native array, Python scalar or None
        At least one array. Scalars and None are passed over.

    Returns
    -------
    module or Namespace
        For portarray's arrays, ``x.__array_namespace__()`` of the first: portarray itself, but
        creation functions default to the device of `x`. For native arrays of one device,
        :func:`namespace` of it.

    Raises
    ------
    TypeError
        If there is no array, or arrays of several libraries or devices, or of portarray and
        others, are mixed.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.array_namespace(pa.ones(2), 3.0, None) == pa
    True
    >>> import numpy as np
    >>> xp = pa.array_namespace(np.ones(2))
    >>> xp.flip(np.asarray([1, 2]))
    array([2, 1])
    """
    ours: Array | None = None
    homes = {}
    for x in arrays:
        if type(x) is Array:
            ours = x if ours is None else ours
        elif x is None or isinstance(x, dtypes.SCALARS):
            continue
        else:
            home = native_arrays.device_of(x)
            if home is None:
                raise operands.refused(x, "array_namespace")
            homes[home] = x
    if ours is not None and not homes:
        return ours.__array_namespace__()
    if ours is None and len(homes) == 1:
        return namespace(next(iter(homes)))
    if ours is None and not homes:
        raise TypeError("array_namespace: expected at least one array")
    owners = [*(["portarray"] if ours is not None else []), *map(str, homes)]
    raise TypeError(
        f"array_namespace: arrays of {' and '.join(owners)} are mixed\n"
        f"Hint: make them portarray arrays on one device with pa.asarray(x, device=...)"
    )

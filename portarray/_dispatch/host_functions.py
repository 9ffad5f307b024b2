"""Host fallback: functions computed by NumPy on copies in host memory.

The last resort of :mod:`portarray._dispatch.native_functions`. ``_array/host_fallback.py`` warns,
or raises where the user's settings say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from portarray.backends.base import Backend

__all__ = ["dtypes_on", "function"]


def dtypes_on(backend: Backend, device: Any) -> Mapping[np.dtype[Any], Any]:
    """Return the dtypes of a native device, NumPy's to native."""
    where = backend.device_of_native(device)
    if where is None:  # device objects are not unique to the library, such as NumPy's
        where = backend.device_of_array(backend.from_host(np.zeros((), "?"), device, copy=True))
    return backend.dtypes(*where)


def function(
    backend: Backend, device: Any, name: str, compute: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function on native arrays that runs a standard function in NumPy.

    Parameters
    ----------
    backend : Backend
        Backend of the arguments and results.
    device : native device
        Device of the results.
    name : str
        The function's standard name.
    compute : callable
        NumPy's function of that name.
    """
    to_numpy = {native: dtype for dtype, native in dtypes_on(backend, device).items()}

    def bring(value: Any) -> Any:
        if backend.owns(value):
            return backend.to_host(value, copy=None)
        if isinstance(value, (list, tuple)):
            return type(value)(bring(item) for item in value)
        try:
            return to_numpy.get(value, value)
        except TypeError:  # unhashable options
            return value

    def put(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            return backend.from_host(np.asarray(value), device, copy=True)
        if isinstance(value, tuple):
            return tuple(put(item) for item in value)
        return value

    def on_host(*args: Any, **options: Any) -> Any:
        if "device" in options:
            options["device"] = None
        return put(compute(*map(bring, args), **{key: bring(v) for key, v in options.items()}))

    on_host.__name__ = name
    return on_host

"""Native arrays: wrapping them, their device, and the dispatch table for a dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import base, dispatch, dtypes, results
from portarray._devices import discovery
from portarray.backends import registry

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable
    from portarray._devices.device import Device

DType = np.dtype[Any]


def from_native(obj: Any, owner: Device, *, copy: bool | None) -> Array:
    """Wrap a native array of a device."""
    if type(obj) is np.ndarray:
        obj = canonical_values(obj)
    return results.wrap(owner._backend.normalize(obj, copy=copy), owner)


def native_of(x: Any) -> Any:
    """Return the native array of an Array, and anything else unchanged."""
    return x._native if type(x) is base.array_type else x


def copy_flag(copy: object) -> bool:
    """Return a ``copy=`` that is not None as bool; NumPy booleans are accepted."""
    if copy is True or copy is False:
        return copy
    if isinstance(copy, np.bool_):
        return bool(copy)
    raise TypeError(f"copy must be True, False or None, not {copy!r}")


def needs_copy(dtype: DType, target_dtype: DType) -> ValueError:
    return ValueError(
        f"copy=False, but converting {dtype} to {target_dtype} needs a copy\nHint: pass copy=None"
    )


def table_for(dtype: DType, device: Device, *, narrow: bool) -> DispatchTable:
    """Return the table for a dtype on a device; the nearest dtype's if ``narrow``."""
    available = dispatch.dtypes_of(device)
    table = available.get(dtype)
    if table is not None:
        return table
    near = dtypes.nearest(dtype, set(available))
    if narrow and near is not None:
        if not isinstance(narrow, (bool, np.bool_)):  # for example a dtype
            raise TypeError(
                f"narrow must be True or False, not {narrow!r}; {device} has {near} for {dtype}\n"
                f"Hint: choose another dtype with x.astype or asarray(..., dtype=)"
            )
        return available[near]
    raise dtypes.missing(dtype, device, set(available), moving=True)


def device_of(obj: object) -> Device | None:
    """Return the device of a native array, or None.

    Imports nothing: only backends of imported libraries can own the object.
    """
    if isinstance(obj, np.ndarray):
        # Subclasses (masked arrays, matrices, units) carry more than values; foreign byte order and
        # other dtypes are converted or refused first.
        if type(obj) is not np.ndarray or obj.dtype not in _OWNED:
            return None
    elif isinstance(obj, _PYTHON_VALUES):
        return None
    backend = registry.owner(obj)
    if backend is None:
        return None
    return discovery.get_device(backend.info.library, *backend.device_of_array(obj))


_PYTHON_VALUES = (*dtypes.SCALARS, str, bytes, list, tuple)


_OWNED = frozenset((*dtypes.STANDARD.values(), np.dtype(np.float16)))


def canonical_values(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a NumPy array as a view of the canonical dtype.

    NumPy has two 64-bit integer types (long and long long); PyTorch accepts only one.
    """
    dtype = dtypes.canonical(values.dtype)
    return values if values.dtype.num == dtype.num else values.view(dtype)


def is_traced(x: Array) -> bool:
    """Return whether an array has no values yet, because its library traces a function."""
    return x._dispatch.device._backend.is_traced(x._native)


def is_differentiated(x: Array) -> bool:
    """Return whether calls on an array are recorded for a gradient, by portarray or a library."""
    native = x._native
    trace = getattr(native, "trace", None)  # of a tracer; libraries' own is a function
    if getattr(trace, "reads_numbers", False):
        return True
    return not is_traced(x) and bool(x._dispatch.device._backend.is_watched(native))

"""``asarray``: from arrays, NumPy arrays, buffers, Python numbers and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray.clarray.arguments import default_dtype, dtype_on
from portarray.clarray.dtypes import ALL
from portarray.clarray.engine.copy import cast
from portarray.clarray.engine.copy import copy as _copy
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.interop import from_dlpack
from portarray.clarray.selection import device_of
from portarray.clarray.strided import Array

DType = np.dtype[Any]


def asarray(
    obj: object, /, *, dtype: Any = None, device: object = None, copy: bool | None = None
) -> Array:
    """Return an array with the elements of another object."""
    if isinstance(obj, Array):
        return _from_array(obj, dtype, device, copy)
    where = device_of(device)
    requested = None if dtype is None else dtype_on(dtype, where)
    if hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray):
        taken = from_dlpack(obj, device=where, copy=copy is not False)
        return _from_array(taken, requested, where, False if copy is False else None)
    if _has_own_dtype(obj):
        values = _viewed(obj)
        source = _known_dtype(values.dtype, obj)
        target = source if requested is None else requested
        if target != source:
            if copy is False:
                raise ValueError(
                    f"copy=False, but converting {source} to {target} needs a copy\n"
                    f"Hint: pass copy=None or leave dtype out"
                )
            return from_numpy(_converted(values, source, target), where)
        dtype_on(source, where)
        return from_numpy(values, where, copy=copy is not False)
    if copy is False:
        raise ValueError(
            f"copy=False, but an object of type {type(obj).__name__} has no memory to share\n"
            f"Hint: pass copy=None"
        )
    return from_numpy(_from_sequence(obj, requested, where), where)


def _from_array(x: Array, dtype: Any, device: object, copy: bool | None) -> Array:
    where = x.device if device is None else device_of(device)
    target = x.dtype if dtype is None else dtype_on(dtype, where)
    if where is x.device and target == x.dtype:
        return _copy(x) if copy else x
    if copy is False:
        conversion = f"{x.dtype} to {target}" if target != x.dtype else f"an array of {x.device}"
        raise ValueError(
            f"copy=False, but converting {conversion} needs a copy\nHint: pass copy=None"
        )
    _check_cast(x.dtype, target)
    if where is x.device:
        return cast(x, target)
    # Cast on the device that has both dtypes.
    if target in x.device.dtypes and target != x.dtype:
        x = cast(x, target)
    dtype_on(x.dtype, where)
    moved = from_numpy(to_numpy(x), where)
    return moved if moved.dtype == target else cast(moved, target)


def _has_own_dtype(obj: object) -> bool:
    """Return whether an object has a dtype, or is a buffer, rather than Python objects."""
    if hasattr(obj, "__array__") or hasattr(obj, "__array_interface__"):
        return True
    if isinstance(obj, (bool, int, float, complex, list, tuple)):
        return False
    try:
        memoryview(obj)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _viewed(obj: Any) -> np.ndarray[Any, Any]:
    """Return an object with a dtype as a NumPy array, without a copy if possible."""
    has_interface = hasattr(obj, "__array__") or hasattr(obj, "__array_interface__")
    return np.asarray(obj if has_interface else memoryview(obj))


def _known_dtype(dtype: DType, obj: object) -> DType:
    native = dtype.newbyteorder("=")
    if native not in ALL:
        raise TypeError(
            f"asarray: unsupported dtype {dtype} of {type(obj).__name__}; supported: "
            f"{', '.join(map(str, ALL))}"
        )
    return native


def _check_cast(source: DType, target: DType) -> None:
    if source.kind == "c" and target.kind not in "cb":
        raise TypeError(
            f"asarray: cannot cast {source} to {target}\n"
            f"Hint: take the real or imaginary part first"
        )


def _converted(values: np.ndarray[Any, Any], source: DType, target: DType) -> np.ndarray[Any, Any]:
    _check_cast(source, target)
    with np.errstate(all="ignore"):  # overflow gives infinity
        return values.astype(target)


def _from_sequence(obj: Any, requested: DType | None, device: Device) -> np.ndarray[Any, Any]:
    """Return a Python scalar or nested sequence as a NumPy array of a dtype of the device."""
    first = obj
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if isinstance(first, Array) or not device.host_memory:
        obj = _read(obj)
    values = np.asarray(obj)
    kind = values.dtype.kind
    if kind not in "biufc" and values.dtype not in ALL:
        raise _refusal(obj)
    if requested is not None and requested.kind in "iu":
        return _integers(values, obj, requested)
    if kind == "u" and values.dtype == np.uint64 and requested is None and not _has_numpy(obj):
        raise _too_wide(obj, default_dtype(device, "integral"))
    if kind == "f" and requested is None and _only_integers(values, obj):
        raise _too_wide(obj, default_dtype(device, "integral"))
    if requested is None:
        name = {"f": "real floating", "c": "complex floating"}.get(kind)
        # The dtypes of Python's numbers; NumPy scalars keep theirs.
        python_made = values.dtype in (np.float64, np.complex128)
        requested = default_dtype(device, name) if name and python_made else values.dtype
    return _converted(values, values.dtype, requested)


def _read(obj: Any) -> Any:
    """Return nested sequences with the arrays in them as NumPy arrays."""
    if isinstance(obj, (list, tuple)):
        return [_read(element) for element in obj]
    return to_numpy(obj) if isinstance(obj, Array) else obj


def _integers(values: np.ndarray[Any, Any], obj: Any, target: DType) -> np.ndarray[Any, Any]:
    """Return numbers as integers of a dtype, or raise an OverflowError."""
    _check_cast(values.dtype, target)
    if values.dtype.kind not in "bi":
        # Integers beyond int64 may have become floats.
        try:
            return np.asarray(obj, dtype=target)
        except OverflowError:
            raise _too_wide(obj, target) from None
    limits = np.iinfo(target)
    if values.size and values.dtype.kind == "i":
        low, high = int(values.min()), int(values.max())
        if low < limits.min or high > limits.max:
            raise _too_wide(low if low < limits.min else high, target)
    return values.astype(target)


def _leaves(obj: Any) -> list[Any]:
    if not isinstance(obj, (list, tuple)):
        return [obj]
    return [leaf for element in obj for leaf in _leaves(element)]


def _only_integers(values: np.ndarray[Any, Any], obj: Any) -> bool:
    """Return whether floats come from Python integers that exceed 64 bits."""
    if not values.size or not bool(np.any(np.abs(values) >= 2.0**63)):
        return False
    return all(isinstance(leaf, int) for leaf in _leaves(obj))


def _has_numpy(obj: Any) -> bool:
    """Return whether unsigned integers come from NumPy scalars or arrays."""
    return any(isinstance(leaf, (np.generic, np.ndarray)) for leaf in _leaves(obj))


def _too_wide(obj: Any, dtype: DType) -> OverflowError:
    limits = np.iinfo(dtype)
    return OverflowError(
        f"asarray: {obj!r:.80} does not fit {dtype} ({limits.min} to {limits.max})"
    )


def _refusal(obj: Any) -> Exception:
    leaves = _leaves(obj)
    if all(isinstance(leaf, (bool, int, np.integer)) for leaf in leaves):
        return _too_wide(obj, np.dtype(np.uint64))
    odd = next(
        (
            element
            for element in leaves
            if not isinstance(element, (bool, int, float, complex, np.number))
        ),
        obj,
    )
    return TypeError(
        f"asarray takes numbers and booleans, nested sequences and arrays of them, "
        f"got {odd!r:.80} of type {type(odd).__name__}"
    )

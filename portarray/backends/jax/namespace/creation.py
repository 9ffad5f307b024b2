"""Making JAX arrays.

Arrays are committed to the device that is asked for, so that what is computed from them stays
there. Default dtypes are the widest that the user's setting allows. What is small is made by NumPy:
JAX takes it over in a tenth of the time of its own functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray._dtypes.promotion import kind_of
from portarray.backends.common import sizes
from portarray.backends.common.python_values import check_ends, spaced
from portarray.backends.jax import tracing, transfer
from portarray.backends.jax.namespace.manipulation import counted

DType = np.dtype[Any]
Shape = int | Sequence[int]

_SMALL = 1 << 12  # elements


def default_dtype(value: Any) -> DType:
    """Return the widest dtype that there is of a Python scalar's kind."""
    kind = next(kind for kind in (bool, int, float, complex) if isinstance(value, kind))
    found: DType = jax.dtypes.canonicalize_dtype(np.dtype(kind))
    return found


def _is_small(shape: tuple[int, ...]) -> bool:
    # While JAX traces a function for unknown sizes they are objects.
    return all(type(size) is int for size in shape) and math.prod(shape) <= _SMALL


def placed(device: jax.Device | None, values: np.ndarray[Any, Any]) -> jax.Array:
    """Return a NumPy array that nobody else has as array on a device."""
    if device is None:
        return jnp.asarray(values)
    return transfer.from_host(values, device, copy=None, non_blocking=True)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: Any = None,
    device: jax.Device | None = None,
) -> jax.Array:
    """Return evenly spaced numbers ``start + i * step`` below stop."""
    numbers = spaced(start, stop, step)
    kept = default_dtype(0 if numbers.whole else 0.0) if dtype is None else np.dtype(dtype)
    counted((numbers.size,), kept)
    if not numbers.whole or kind_of(kept) not in "iu":
        # Computed in double precision, whatever JAX's widest is, and rounded once.
        values = numbers.start + np.arange(numbers.size) * numbers.step
        return placed(device, values.astype(kept))
    check_ends(numbers, kept, np.iinfo(kept))
    # Modulo 2**n all of it is right, also where the step leaves the dtype.
    bits = 8 * kept.itemsize
    first, step = (_wrapped(value, bits, kept) for value in (numbers.start, numbers.step))
    if numbers.size > _SMALL:
        steps = jnp.arange(numbers.size, dtype=kept, device=device)
        return jnp.asarray(steps * step + first)
    return placed(device, np.arange(numbers.size).astype(kept) * step + first)


def _wrapped(value: int, bits: int, dtype: DType) -> Any:
    """Return an integer modulo 2**bits as a scalar of a dtype."""
    return np.asarray(value % 2**bits, dtype=f"uint{bits}").view(dtype)[()]


@np.errstate(all="ignore")  # of what the dtype cannot hold
def asarray(
    obj: Any,
    /,
    *,
    dtype: Any = None,
    device: jax.Device | None = None,
    copy: bool | None = None,
) -> jax.Array:
    """Make an array of an array, a scalar, nested sequences or an object with a buffer or DLPack.

    Raises
    ------
    ValueError
        If ``copy=False`` and memory cannot be shared.
    TypeError
        For strings and objects.
    """
    kept = None if dtype is None else np.dtype(dtype)
    if isinstance(obj, (bool, int, float, complex)) and not isinstance(obj, np.generic):
        if copy is False:
            raise ValueError("copy=False, but a scalar has no memory to share; pass copy=None")
        return placed(device, np.asarray(obj, kept or default_dtype(obj)))
    if isinstance(obj, jax.Array):
        return _from_array(obj, kept, device, copy)
    if not isinstance(obj, (np.ndarray, np.generic)) and hasattr(obj, "__dlpack__"):
        found = transfer.from_dlpack(obj, device, copy=copy)
        return _from_array(found, kept, device, False if copy is False else None)
    if _holds_arrays(obj):
        return jnp.asarray(obj, dtype=kept, device=device)
    host = _host_array(obj, kept)
    shares = isinstance(obj, (np.ndarray, memoryview)) or hasattr(obj, "__buffer__")
    if copy is False and not shares:
        raise ValueError(
            f"copy=False, but a {type(obj).__name__} has no memory to share; pass copy=None"
        )
    place = jax.local_devices()[0] if device is None else device
    found = transfer.from_host(host, place, copy=copy)
    return _from_array(found, kept, device, False if copy is False else None)


def _from_array(
    x: jax.Array, dtype: DType | None, device: jax.Device | None, copy: bool | None
) -> jax.Array:
    dtype = dtype or x.dtype
    if dtype != x.dtype:
        if copy is False:
            raise ValueError(
                f"copy=False, but {x.dtype} cannot become {dtype} without a copy; "
                f"pass copy=None or copy=True"
            )
        x, copy = x.astype(dtype), None
    if device is not None:
        return transfer.move(x, device, copy=copy)
    return jnp.array(x, copy=True) if copy else x


def _holds_arrays(obj: Any) -> bool:
    """Tell whether nested sequences hold JAX's arrays, among them such as have no values yet."""
    if isinstance(obj, (list, tuple)):
        return any(map(_holds_arrays, obj))
    return isinstance(obj, jax.Array)


def _host_array(obj: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    host = np.asarray(obj, dtype=None if isinstance(obj, np.ndarray) else dtype)
    if dtype is None and not hasattr(obj, "dtype") and host.dtype.kind in "ifc":
        host = host.astype(jax.dtypes.canonicalize_dtype(host.dtype), copy=False)
    kept = host.dtype.newbyteorder("=")
    if kept.char in "gGOSUmM" or jax.dtypes.canonicalize_dtype(kept) != kept:
        raise TypeError(
            f"JAX has no dtype for {host.dtype} now; 64-bit dtypes exist as jax_enable_x64 says"
        )
    return host


def empty(shape: Shape, *, dtype: Any = None, device: jax.Device | None = None) -> jax.Array:
    """Return zeros: JAX has no uninitialized arrays."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(
    x: jax.Array, /, *, dtype: Any = None, device: jax.Device | None = None
) -> jax.Array:
    """Return zeros of x's shape."""
    return full_like(x, 0, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: jax.Device | None = None,
) -> jax.Array:
    """Return ones on the k-th diagonal and zeros elsewhere."""
    kept = dtype or default_dtype(0.0)
    columns = n_rows if n_cols is None else n_cols
    if _is_small(counted((n_rows, columns), kept)):
        return placed(device, np.eye(n_rows, columns, k=k, dtype=kept))
    return jnp.eye(n_rows, columns, k=k, dtype=kept, device=device)


def from_dlpack(
    x: object, /, *, device: jax.Device | None = None, copy: bool | None = None
) -> jax.Array:
    """Make an array of an object with ``__dlpack__``."""
    return transfer.from_dlpack(x, device, copy=copy)


def full(
    shape: Shape, fill_value: Any, *, dtype: Any = None, device: jax.Device | None = None
) -> jax.Array:
    """Return an array that is filled with one value, a scalar or a 0-d array."""
    is_array = isinstance(fill_value, jax.Array)
    kept = dtype or (fill_value.dtype if is_array else default_dtype(fill_value))
    shape = counted((shape,) if isinstance(shape, int) else tuple(shape), kept)
    if is_array or not _is_small(shape):
        return jnp.full(shape, fill_value, dtype=kept, device=device)
    with np.errstate(all="ignore"):  # of what the dtype cannot hold
        return placed(device, np.full(shape, fill_value, kept))


def full_like(
    x: jax.Array, /, fill_value: Any, *, dtype: Any = None, device: jax.Device | None = None
) -> jax.Array:
    """Return an array of x's shape that is filled with one value."""
    kept = dtype or x.dtype
    if tracing.is_traced(x):
        return jnp.full_like(x, fill_value, dtype=kept, device=device)
    return full(x.shape, fill_value, dtype=kept, device=device or next(iter(x.devices())))


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: jax.Device | None = None,
    endpoint: bool = True,
) -> jax.Array:
    """Return num evenly spaced numbers from start to stop."""
    # Computed in double precision, whatever JAX's widest is, and rounded once.
    values = np.linspace(start, stop, num, endpoint=endpoint)
    return placed(device, values.astype(dtype or default_dtype(values.item(0) if num else 0.0)))


def meshgrid(*arrays: jax.Array, indexing: str = "xy") -> tuple[jax.Array, ...]:
    """Return coordinate arrays of one shape; JAX's own have one dtype, too."""
    shape, own = sizes.grid([x.size for x in arrays], indexing)
    return tuple(
        jnp.broadcast_to(jnp.reshape(x, one), shape) for x, one in zip(arrays, own, strict=True)
    )


def ones(shape: Shape, *, dtype: Any = None, device: jax.Device | None = None) -> jax.Array:
    """Return ones."""
    return full(shape, 1, dtype=dtype or default_dtype(0.0), device=device)


def ones_like(x: jax.Array, /, *, dtype: Any = None, device: jax.Device | None = None) -> jax.Array:
    """Return ones of x's shape."""
    return full_like(x, 1, dtype=dtype, device=device)


def zeros(shape: Shape, *, dtype: Any = None, device: jax.Device | None = None) -> jax.Array:
    """Return zeros."""
    return full(shape, 0, dtype=dtype or default_dtype(0.0), device=device)


def zeros_like(
    x: jax.Array, /, *, dtype: Any = None, device: jax.Device | None = None
) -> jax.Array:
    """Return zeros of x's shape."""
    return full_like(x, 0, dtype=dtype, device=device)

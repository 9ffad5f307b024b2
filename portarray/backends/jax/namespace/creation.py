"""Creation of JAX arrays.

Arrays are committed to the requested device, so that results computed from them stay there. Default
dtypes are the widest that JAX's settings allow. NumPy makes small arrays: importing them takes a
tenth of the time of JAX's functions.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.common.creation import Creation
from portarray.backends.common.python_values import Spaced
from portarray.backends.jax import tracing, transfer
from portarray.backends.jax.namespace.manipulation import counted

DType = np.dtype[Any]

_SMALL = 1 << 12  # elements


def default_dtype(value: Any) -> DType:
    """Return the widest available dtype of a Python scalar's kind."""
    kind = next(kind for kind in (bool, int, float, complex) if isinstance(value, kind))
    dtype: DType = jax.dtypes.canonicalize_dtype(np.dtype(kind))
    return dtype


def _is_small(shape: tuple[int, ...]) -> bool:
    # Sizes that are unknown while JAX traces a function are objects.
    return all(type(size) is int for size in shape) and math.prod(shape) <= _SMALL


def placed(device: jax.Device | None, values: np.ndarray[Any, Any]) -> jax.Array:
    """Return a NumPy array that has no other reference as an array on a device."""
    if device is None:
        return jnp.asarray(values)
    return transfer.from_host(values, device, copy=None, non_blocking=True)


def _shape(shape: Any, dtype: Any) -> tuple[Any, ...]:
    return counted((shape,) if isinstance(shape, int) else tuple(shape), dtype)


@np.errstate(all="ignore")  # of values that the dtype cannot hold
def _asarray(obj: Any, /, *, dtype: Any = None, **options: Any) -> Any:
    dtype = None if dtype is None else np.dtype(dtype)
    if isinstance(obj, np.generic):  # keeps its dtype
        obj = np.asarray(obj)
    elif isinstance(obj, (list, tuple)) and _has_arrays(obj):
        return jnp.asarray(obj, dtype=dtype, device=options.get("device"))
    return Creation.asarray(_CREATION, obj, dtype=dtype, **options)


def _host_array(obj: Any, dtype: Any, device: Any) -> np.ndarray[Any, Any]:
    host = np.asarray(obj, dtype=None if isinstance(obj, np.ndarray) else dtype)
    if dtype is None and not hasattr(obj, "dtype") and host.dtype.kind in "ifc":
        host = host.astype(jax.dtypes.canonicalize_dtype(host.dtype), copy=False)
    native = host.dtype.newbyteorder("=")
    if native.char in "gGOSUmM" or jax.dtypes.canonicalize_dtype(native) != native:
        raise TypeError(
            f"asarray: unsupported dtype {host.dtype}\n"
            f"Hint: 64-bit dtypes need jax.config.update('jax_enable_x64', True)"
        )
    return host


def _filled(shape: Any, value: Any, dtype: Any, device: Any) -> jax.Array:
    if isinstance(value, jax.Array) or not _is_small(shape):
        return jnp.full(shape, value, dtype=dtype, device=device)
    with np.errstate(all="ignore"):  # of values that the dtype cannot hold
        return placed(device, np.full(shape, value, dtype))


def full_like(
    x: jax.Array, /, fill_value: Any, *, dtype: Any = None, device: jax.Device | None = None
) -> jax.Array:
    """Return an array of x's shape filled with one value."""
    dtype = dtype or x.dtype
    if tracing.is_traced(x):
        return jnp.full_like(x, fill_value, dtype=dtype, device=device)
    device = device or next(iter(x.devices()))
    return _filled(_shape(x.shape, dtype), fill_value, dtype, device)


def _identity(shape: Any, k: int, dtype: Any, device: Any) -> jax.Array:
    if _is_small(shape):
        return placed(device, np.eye(shape[0], shape[1], k, dtype))
    return jnp.eye(shape[0], shape[1], k, dtype, device=device)


def _spaced_floats(numbers: Spaced, dtype: Any, device: Any) -> jax.Array:
    counted((numbers.size,), dtype)
    # In double precision, even where JAX has none, and rounded once.
    values = numbers.start + np.arange(numbers.size) * numbers.step
    return placed(device, values.astype(dtype))


def _spaced_integers(numbers: Spaced, dtype: Any, device: Any) -> jax.Array:
    counted((numbers.size,), dtype)
    # Modulo 2**n intermediate results need not fit the dtype.
    first, step = (_wrapped(value, np.dtype(dtype)) for value in (numbers.start, numbers.step))
    if numbers.size > _SMALL:
        return jnp.asarray(jnp.arange(numbers.size, dtype=dtype, device=device) * step + first)
    return placed(device, np.arange(numbers.size).astype(dtype) * step + first)


def _evenly_spaced(
    start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, device: Any
) -> jax.Array:
    # In double precision, even where JAX has none, and rounded once.
    return placed(device, np.linspace(start, stop, num, endpoint=endpoint).astype(dtype))


def _wrapped(value: int, dtype: DType) -> Any:
    """Return an integer modulo 2**bits as a scalar of a dtype."""
    bits = 8 * dtype.itemsize
    return np.asarray(value % 2**bits, dtype=f"uint{bits}").view(dtype)[()]


def _has_arrays(obj: Any) -> bool:
    """Return whether nested sequences have JAX's arrays, including tracers."""
    if isinstance(obj, (list, tuple)):
        return any(map(_has_arrays, obj))
    return isinstance(obj, jax.Array)


_CREATION = Creation(
    library=jnp,
    array_type=jax.Array,
    transfer=transfer.Transfer,
    default_dtype=lambda value, device: default_dtype(value),
    shape=_shape,
    clone=jnp.array,
    asarray=_asarray,
    scalar=lambda value, dtype, device: placed(device, np.asarray(value, dtype)),
    current_device=lambda: jax.local_devices()[0],
    host_array=_host_array,
    tril=jnp.tril,
    triu=jnp.triu,
    # JAX has no uninitialized arrays.
    new=lambda name, shape, dtype, device: _filled(shape, int(name == "ones"), dtype, device),
    filled=_filled,
    empty_like=partial(full_like, fill_value=0),
    full_like=full_like,
    ones_like=partial(full_like, fill_value=1),
    zeros_like=partial(full_like, fill_value=0),
    identity=_identity,
    broadcast=lambda x, shape, grid: jnp.broadcast_to(jnp.reshape(x, shape), grid),
    spaced_floats=_spaced_floats,
    spaced_integers=_spaced_integers,
    evenly_spaced=_evenly_spaced,
)


__getattr__ = _CREATION.function

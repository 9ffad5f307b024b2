"""Making JAX arrays.

Arrays are committed to the device that is asked for, so that what is computed from them stays
there. Default dtypes are the widest that the user's setting allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.jax import devices, transfer
from portarray.backends.jax.namespace.manipulation import counted
from portarray.backends.jax.namespace.promotion import (
    Scalar,
    default_complex,
    default_float,
    default_integer,
    kind_of,
    together,
)
from portarray.backends.python_values import check_ends, spaced

DType = np.dtype[Any]
Shape = int | Sequence[int]


def _shape(shape: Shape, dtype: Any) -> tuple[int, ...]:
    return counted((shape,) if isinstance(shape, int) else tuple(shape), dtype)


def _scalar_default(value: Any) -> DType:
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if isinstance(value, int):
        return default_integer()
    return default_float() if isinstance(value, float) else default_complex()


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
    kept = (
        (default_integer() if numbers.whole else default_float())
        if dtype is None
        else np.dtype(dtype)
    )
    if numbers.whole and kind_of(kept) in "iu":
        check_ends(numbers, kept, np.iinfo(kept))
        # Modulo 2**n all of it is right, also where the step leaves the dtype.
        bits = 8 * kept.itemsize
        counted((numbers.size,), kept)
        steps = jnp.arange(numbers.size, dtype=kept, device=device)
        first = _wrapped(numbers.start, bits, kept)
        return jnp.asarray(steps * _wrapped(numbers.step, bits, kept) + first)
    # Computed in double precision, whatever JAX's widest is, and rounded once.
    values = (numbers.start + np.arange(numbers.size) * numbers.step).astype(kept)
    return jnp.asarray(values, dtype=kept, device=device)


def _wrapped(value: int, bits: int, dtype: DType) -> Any:
    """Return an integer modulo 2**bits as a scalar of a dtype."""
    unsigned = np.asarray(value % 2**bits, dtype=f"uint{bits}")
    return unsigned.view(dtype)[()]


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
    if isinstance(obj, jax.Array):
        return _from_array(obj, kept, device, copy)
    if isinstance(obj, (bool, int, float, complex)):
        if copy is False:
            raise ValueError("copy=False, but a scalar has no memory to share; pass copy=None")
        return jnp.asarray(obj, dtype=kept or _scalar_default(obj), device=device)
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
    if dtype is None and not hasattr(obj, "dtype"):  # Python's numbers
        host = host.astype(_default_of(host.dtype), copy=False)
    known = devices.dtypes("cpu", 0)
    if host.dtype.newbyteorder("=") not in known:
        raise TypeError(
            f"JAX has no dtype for {host.dtype} now; it has {', '.join(map(str, known))}"
        )
    return host


def _default_of(dtype: DType) -> DType:
    if dtype.kind == "i":
        return default_integer()
    if dtype.kind == "f":
        return default_float()
    return default_complex() if dtype.kind == "c" else dtype


def empty(shape: Shape, *, dtype: Any = None, device: jax.Device | None = None) -> jax.Array:
    """Return zeros: JAX has no uninitialized arrays."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(
    x: jax.Array, /, *, dtype: Any = None, device: jax.Device | None = None
) -> jax.Array:
    """Return zeros of x's shape."""
    return zeros_like(x, dtype=dtype, device=device)


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
    kept = dtype or default_float()
    counted((n_rows, n_rows if n_cols is None else n_cols), kept)
    return jnp.eye(n_rows, n_cols, k=k, dtype=kept, device=device)


def from_dlpack(
    x: object, /, *, device: jax.Device | None = None, copy: bool | None = None
) -> jax.Array:
    """Make an array of an object with ``__dlpack__``."""
    return transfer.from_dlpack(x, device, copy=copy)


def full(
    shape: Shape,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: jax.Device | None = None,
) -> jax.Array:
    """Return an array that is filled with one value, a scalar or a 0-d array."""
    if dtype is None:
        is_array = isinstance(fill_value, jax.Array)
        dtype = fill_value.dtype if is_array else _scalar_default(fill_value)
    return jnp.full(_shape(shape, dtype), fill_value, dtype=dtype, device=device)


def full_like(
    x: jax.Array,
    /,
    fill_value: Scalar | jax.Array,
    *,
    dtype: Any = None,
    device: jax.Device | None = None,
) -> jax.Array:
    """Return an array of x's shape that is filled with one value."""
    return jnp.full_like(x, fill_value, dtype=dtype or x.dtype, device=device)


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: jax.Device | None = None,
    endpoint: bool = True,
) -> jax.Array:
    """Return num evenly spaced numbers from start to stop."""
    if dtype is None:
        is_complex = isinstance(start, complex) or isinstance(stop, complex)
        dtype = default_complex() if is_complex else default_float()
    # Computed in double precision, whatever JAX's widest is, and rounded once.
    values = np.linspace(start, stop, num, endpoint=endpoint)
    return jnp.asarray(values.astype(dtype), dtype=dtype, device=device)


def meshgrid(*arrays: jax.Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[jax.Array, ...]:
    """Return coordinate arrays of one shape."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid's indexing must be 'xy' or 'ij', got {indexing!r}")
    return tuple(jnp.meshgrid(*together(arrays), indexing=indexing)) if arrays else ()


def ones(shape: Shape, *, dtype: Any = None, device: jax.Device | None = None) -> jax.Array:
    """Return ones."""
    kept = dtype or default_float()
    return jnp.ones(_shape(shape, kept), dtype=kept, device=device)


def ones_like(x: jax.Array, /, *, dtype: Any = None, device: jax.Device | None = None) -> jax.Array:
    """Return ones of x's shape."""
    return jnp.ones_like(x, dtype=dtype or x.dtype, device=device)


def tril(x: jax.Array, /, *, k: int = 0) -> jax.Array:
    """Return the lower triangle of matrices: what lies above the k-th diagonal is 0."""
    return jnp.tril(x, k)


def triu(x: jax.Array, /, *, k: int = 0) -> jax.Array:
    """Return the upper triangle of matrices: what lies below the k-th diagonal is 0."""
    return jnp.triu(x, k)


def zeros(shape: Shape, *, dtype: Any = None, device: jax.Device | None = None) -> jax.Array:
    """Return zeros."""
    kept = dtype or default_float()
    return jnp.zeros(_shape(shape, kept), dtype=kept, device=device)


def zeros_like(
    x: jax.Array, /, *, dtype: Any = None, device: jax.Device | None = None
) -> jax.Array:
    """Return zeros of x's shape."""
    return jnp.zeros_like(x, dtype=dtype or x.dtype, device=device)

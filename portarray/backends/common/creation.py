"""The standard's creation functions, on top of a few functions that each library supplies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from portarray._dtypes.promotion import Scalar, limits
from portarray.backends.common import sizes
from portarray.backends.common.python_values import (
    Spaced,
    check_ends,
    spaced,
    with_values,
    wrapped_64,
)

__all__ = ["Creation"]

DType = np.dtype[Any]
Shape = int | Sequence[int]
Function = Callable[..., Any]

_SCOPED = ("arange", "empty", "eye", "full", "linspace", "ones", "zeros")


def _of_shape(name: str) -> Function:
    def create(self: Creation, shape: Shape, *, dtype: Any = None, device: Any = None) -> Any:
        device = self.default_device() if device is None else device
        dtype = dtype or self.default_dtype(0.0, device)
        return self.new(name, self.shape(shape, dtype), dtype, device)

    return create


def _like(name: str) -> Function:
    def like(self: Creation, x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        device = self.device_of(x) if device is None else device
        return getattr(self, name)(x.shape, dtype=dtype or x.dtype, device=device)

    return like


def _triangle(name: str) -> Function:
    def triangle(self: Creation, x: Any, /, *, k: int = 0) -> Any:
        if x.ndim < 2:
            raise ValueError(f"{name}: needs at least 2 axes, got {x.ndim}")
        # A diagonal beyond the corners may not fit the library's integers.
        return getattr(self.library, name)(x, min(max(k, -x.shape[-2] - 1), x.shape[-1] + 1))

    return triangle


def _in_scope(scope: Function, function: Function) -> Function:
    @wraps(function)
    def scoped(*args: Any, device: Any = None, **options: Any) -> Any:
        with scope(device):
            return function(*args, device=device, **options)

    return scoped


def _no_memory(obj: Any) -> ValueError:
    return ValueError(
        f"asarray: copy=False, but a {type(obj).__name__} has no memory to share\n"
        f"Hint: pass copy=None"
    )


_DEFAULTS: Mapping[str, Any] = {
    "scope": None,
    "default_device": lambda: None,  # the library chooses
    "current_device": lambda: None,  # what it chooses, for host memory
    "device_of": lambda x: x.device,
    "shape": lambda shape, dtype: (shape,) if isinstance(shape, int) else tuple(shape),
    "astype": lambda x, dtype: x.astype(dtype),
    "constant": lambda value, like: value,
    "value": lambda x: x.item() if x.ndim == 0 else x,
}


@cache
def _integer_limits(dtype: DType) -> SimpleNamespace | None:
    if dtype.kind not in "iu":
        return None
    low, high = limits(dtype)
    return SimpleNamespace(min=low, max=high)


_FUNCTIONS = frozenset({
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like",
    "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
})  # fmt: skip


class Creation:
    """The creation functions of one library, from what differs between libraries.

    Parameters
    ----------
    library : module
        The library, for functions that agree with the standard.
    array_type : type
        Class of native arrays.
    transfer : type
        The backend's ``Transfer``.
    dtypes : mapping, optional
        NumPy dtypes to native ones.
    **hooks : callable
        ``default_dtype(scalar, device)``; ``filled``, ``identity`` and ``evenly_spaced``, which are
        ``full``, ``eye`` and ``linspace`` with all arguments set; ``clone(x)``;
        ``broadcast(x, shape, grid)``, which reshapes and broadcasts to a grid;
        ``counting(size, dtype, device)``, a new ``arange``; ``precise_dtype(dtype, device)``, in
        which a floating-point ``arange`` is computed; ``scope(device)``, a context that makes a
        device current; and replacements of the defaults above and of methods.
    """

    def __init__(
        self,
        library: Any,
        array_type: Any,
        transfer: Any,
        dtypes: Mapping[DType, Any] = MappingProxyType({}),
        **hooks: Any,
    ) -> None:
        self.library, self.array_type, self.transfer = library, array_type, transfer
        self.dtypes = dtypes
        self._numpy_dtypes = {native: dtype for dtype, native in dtypes.items()}
        vars(self).update({**_DEFAULTS, **hooks})
        if self.scope is not None:
            for name in _SCOPED:
                setattr(self, name, _in_scope(self.scope, getattr(self, name)))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def function(self, name: str) -> Any:
        """Return a creation function for a namespace's module, which must not have the hooks."""
        if name not in _FUNCTIONS:
            raise AttributeError(f"{name!r} is not a creation function")
        return getattr(self, name)

    def numpy_dtype(self, dtype: Any) -> DType:
        """Return the NumPy dtype of a native one."""
        return self._numpy_dtypes.get(dtype) or np.dtype(dtype)

    def supported(self, device: Any) -> Mapping[DType, Any]:
        """Return the dtypes of a device, NumPy's to native."""
        return self.dtypes

    def new(self, name: str, shape: Any, dtype: Any, device: Any) -> Any:
        """Return ``empty``, ``ones`` or ``zeros`` with all arguments set."""
        return getattr(self.library, name)(shape, dtype=dtype, device=device)

    def scalar(self, value: Scalar, dtype: Any, device: Any) -> Any:
        """Return a 0-d array of a Python scalar."""
        return self.from_host(value, dtype, device, None)

    def from_host(self, obj: Any, dtype: Any, device: Any, copy: bool | None) -> Any:
        """Return scalars, nested sequences or a buffer as an array."""
        values = self.host_array(obj, dtype, device)
        target = self.current_device() if device is None else device
        x = self.transfer.from_host(values, target, copy=copy)
        return self._converted(x, dtype, None, False if copy is False else None)

    def spaced_floats(self, numbers: Spaced, dtype: Any, device: Any) -> Any:
        """Return an ``arange`` of floating-point numbers, rounded to the dtype once."""
        precise = self.precise_dtype(dtype, device)
        return self.astype(self.ramp(numbers, precise, device), dtype)

    def spaced_integers(self, numbers: Spaced, dtype: Any, device: Any) -> Any:
        """Return an ``arange`` of integers; modulo 2**64 each step may leave the dtype."""
        wrapped = numbers._replace(start=wrapped_64(numbers.start), step=wrapped_64(numbers.step))
        return self.astype(self.ramp(wrapped, self.default_dtype(0, device), device), dtype)

    def ramp(self, numbers: Spaced, dtype: Any, device: Any) -> Any:
        """Return ``start + i * step``, computed in the dtype."""
        values = self.counting(numbers.size, dtype, device)
        if numbers.step != 1:
            values *= self.constant(numbers.step, values)
        if numbers.start != 0 or numbers.step < 0:  # 0 times a negative step is -0.0
            values += self.constant(numbers.start, values)
        return values

    def host_array(self, obj: Any, dtype: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return values as a NumPy array of a supported dtype."""
        if isinstance(obj, (list, tuple)):
            obj = with_values(obj, lambda item: isinstance(item, self.array_type), self.value)
        keeps = dtype is None or isinstance(obj, np.ndarray)
        host = np.asarray(obj, dtype=None if keeps else self.numpy_dtype(dtype))
        supported = self.supported(device)
        if host.dtype.newbyteorder("=") not in supported:
            names = ", ".join(map(str, supported))
            raise TypeError(f"asarray: unsupported dtype {host.dtype}; supported: {names}")
        return host

    def _converted(self, x: Any, dtype: Any, device: Any, copy: bool | None) -> Any:
        if dtype is not None and dtype != x.dtype:
            if copy is False:
                raise ValueError(
                    f"asarray: copy=False, but converting {x.dtype} to {dtype} copies\n"
                    f"Hint: pass copy=None or copy=True"
                )
            x, copy = self.astype(x, dtype), None
        if device is not None:
            return self.transfer.move(x, device, copy=copy)
        return self.clone(x) if copy else x

    # The standard's functions.

    empty, empty_like = _of_shape("empty"), _like("empty")
    ones, ones_like = _of_shape("ones"), _like("ones")
    zeros, zeros_like = _of_shape("zeros"), _like("zeros")
    tril, triu = _triangle("tril"), _triangle("triu")

    def arange(
        self,
        start: float,
        /,
        stop: float | None = None,
        step: float = 1,
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> Any:
        """Return evenly spaced numbers ``start + i * step`` below stop."""
        numbers = spaced(start, stop, step)
        device = self.default_device() if device is None else device
        dtype = dtype or self.default_dtype(0 if numbers.whole else 0.0, device)
        bounds = _integer_limits(self.numpy_dtype(dtype))
        if not numbers.whole or bounds is None:
            return self.spaced_floats(numbers, dtype, device)
        check_ends(numbers, dtype, bounds)
        return self.spaced_integers(numbers, dtype, device)

    def asarray(
        self, obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
    ) -> Any:
        """Convert an array, scalar, nested sequence, buffer or DLPack object to an array.

        Raises
        ------
        ValueError
            If ``copy=False`` and memory cannot be shared.
        TypeError
            For strings and objects.
        """
        if isinstance(obj, self.array_type):
            return self._converted(obj, dtype, device, copy)
        if isinstance(obj, (bool, int, float, complex)):
            if copy is False:
                raise _no_memory(obj)
            device = self.default_device() if device is None else device
            return self.scalar(obj, dtype or self.default_dtype(obj, device), device)
        if not isinstance(obj, (np.ndarray, np.generic)) and hasattr(obj, "__dlpack__"):
            x = self.transfer.from_dlpack(obj, device, copy=copy)
            return self._converted(x, dtype, None, False if copy is False else None)
        device = self.default_device() if device is None else device
        has_memory = hasattr(obj, "__buffer__") or isinstance(obj, (np.ndarray, memoryview))
        if copy is False and not has_memory:
            raise _no_memory(obj)
        if dtype is None and isinstance(obj, (list, tuple)):
            dtype = self._dtype_of_python(obj, device)
        return self.from_host(obj, dtype, device, copy)

    def _dtype_of_python(self, obj: Any, device: Any) -> Any:
        """Return the default dtype of a sequence of Python's numbers, None for other sequences."""
        first = obj
        while isinstance(first, (list, tuple)) and first:
            first = first[0]
        numbers = (int, float, complex, list, tuple)  # the latter two are empty
        if not isinstance(first, numbers) or isinstance(first, np.generic):
            return None
        sample = {"i": 0, "f": 0.0, "c": 0j}.get(np.asarray(obj).dtype.kind)
        return None if sample is None else self.default_dtype(sample, device)

    def eye(
        self,
        n_rows: int,
        n_cols: int | None = None,
        /,
        *,
        k: int = 0,
        dtype: Any = None,
        device: Any = None,
    ) -> Any:
        """Return ones on the k-th diagonal and zeros elsewhere."""
        device = self.default_device() if device is None else device
        dtype = dtype or self.default_dtype(0.0, device)
        shape = self.shape((n_rows, n_rows if n_cols is None else n_cols), dtype)
        return self.identity(shape, k, dtype, device)

    def from_dlpack(self, x: object, /, *, device: Any = None, copy: bool | None = None) -> Any:
        """Convert an object with ``__dlpack__`` to an array."""
        return self.transfer.from_dlpack(x, device, copy=copy)

    def full(self, shape: Shape, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
        """Return an array filled with one value, a scalar or a 0-d array."""
        if isinstance(fill_value, self.array_type):
            device = self.device_of(fill_value) if device is None else device
            dtype = dtype or fill_value.dtype
        else:
            device = self.default_device() if device is None else device
            dtype = dtype or self.default_dtype(fill_value, device)
        return self.filled(self.shape(shape, dtype), fill_value, dtype, device)

    def full_like(
        self, x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None
    ) -> Any:
        """Return an array of x's shape filled with one value."""
        device = self.device_of(x) if device is None else device
        return self.full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)

    def linspace(
        self,
        start: Scalar,
        stop: Scalar,
        /,
        num: int,
        *,
        dtype: Any = None,
        device: Any = None,
        endpoint: bool = True,
    ) -> Any:
        """Return num evenly spaced numbers from start to stop."""
        device = self.default_device() if device is None else device
        if dtype is None:
            is_complex = isinstance(start, complex) or isinstance(stop, complex)
            dtype = self.default_dtype(1j if is_complex else 1.0, device)
        return self.evenly_spaced(start, stop, num, endpoint, dtype, device)

    def meshgrid(self, *arrays: Any, indexing: Literal["xy", "ij"] = "xy") -> tuple[Any, ...]:
        """Return coordinate arrays of one shape."""
        for x in arrays:
            if x.ndim > 1:
                raise ValueError(f"meshgrid: arrays have at most 1 axis, got {x.ndim}")
        lengths = [x.shape[0] if x.ndim else 1 for x in arrays]
        grid, shapes = sizes.grid(lengths, indexing)
        broadcast = self.broadcast
        return tuple([broadcast(x, shape, grid) for x, shape in zip(arrays, shapes, strict=True)])

"""Interoperability: ``__array__``, ufuncs, DLPack, ``__array_namespace__`` and ``to_device``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, wraps
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from portarray._array import (
    base,
    conversion,
    dispatch,
    dtypes,
    host_access,
    namespaces,
    native_arrays,
    operands,
    results,
    slow_path,
)
from portarray._array.info import VERSION
from portarray._config import config
from portarray._devices import selection
from portarray._dlpack import host_capsule
from portarray._movement import array_moves, routes
from portarray._trees import node_types
from portarray.backends import registry

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

__all__ = [
    "Flat",
    "after_import",
    "beyond_standard",
    "check_name",
    "check_version",
    "install_hooks",
    "dlpack",
    "dlpack_device",
    "function",
    "method",
    "no_out",
    "to_device",
    "to_numpy",
    "ufunc",
    "view",
]

P = ParamSpec("P")
T = TypeVar("T")

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", VERSION)


def check_version(api_version: str) -> None:
    """Raise unless the standard has the version, and portarray supports it."""
    if api_version not in _VERSIONS:
        raise ValueError(
            f"__array_namespace__: unsupported api_version {api_version!r}; use one of "
            f"{', '.join(_VERSIONS)}"
        )


def to_device(
    x: Array, device: object, *, stream: object, copy: bool | None, narrow: bool
) -> Array:
    """Return an array on another device; see :meth:`portarray.Array.to_device`."""
    if stream is not None:
        raise ValueError(
            f"to_device: stream={stream!r} is not accepted; portarray orders the work of both "
            f"devices\n"
            f"Hint: pass stream=None"
        )
    copy = copy if copy is None else native_arrays.copy_flag(copy)
    if device is None:
        raise TypeError("to_device: None does not name a device\nHint: pass a device or its text")
    where = selection.resolve(device)
    host_access.tell_move(x.device, where)
    return array_moves.moved(x, where, copy=copy, narrow=narrow)


def to_numpy(x: Array, dtype: Any, copy: bool | None) -> np.ndarray[Any, np.dtype[Any]]:
    """Return an array's values for ``numpy.asarray``."""
    _check_on_host(x.device)
    host_access.tell("numpy.asarray", x.device)
    target_dtype = None if dtype is None else np.dtype(dtype)
    if target_dtype is None or target_dtype == x.dtype:
        return slow_path.host_view(x, copy=copy)
    if copy is False:
        raise ValueError(
            f"numpy.asarray: copy=False, but converting {x.dtype} to {target_dtype} needs a copy\n"
            f"Hint: pass copy=None"
        )
    return slow_path.read(x).astype(target_dtype)


def _check_on_host(device: Device) -> None:
    """Raise if NumPy cannot read the device's memory."""
    if not device._backend.on_host(device.native):
        raise TypeError(
            f"NumPy cannot read the memory of {device}\n"
            f"Hint: compute there with x.__array_namespace__(), or copy the values to the host: "
            f"numpy.asarray(x.to_device('numpy'))"
        )


def ufunc(function: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Dispatch a ufunc: NumPy's and SciPy's to our functions, another library's on host views.

    Raises
    ------
    TypeError
        For NumPy's ufuncs and methods that are not served, and, on devices whose memory is not host
        memory, for NumPy arrays among the inputs and for other foreign ufuncs.
    """
    name = function.__name__
    # NumPy scalars convert themselves to 0-d arrays before they compare.
    inputs = tuple(x[()] if type(x) is np.ndarray and x.ndim == 0 else x for x in inputs)
    if any(hasattr(x, "__array_ufunc__") and slow_path.is_foreign(x, name) for x in inputs):
        return NotImplemented  # units, labels: NumPy asks the operand's own class
    answers = numpy_functions()
    if not kwargs and answers.is_numpys(function) and _are_plain(inputs):
        return answers.ufunc(function, method, inputs, kwargs)
    arrays = [x for x in (*inputs, kwargs.get("where")) if isinstance(x, base.array_type)]
    count = len(inputs) if method in ("__call__", "outer") else 1
    if arrays:
        operators = (conversion.beside(x, arrays[0], f"ufunc {name}") for x in inputs[:count])
        inputs = (*operators, *inputs[count:])
    for x in inputs[:count]:
        if not isinstance(x, base.array_type) and operands.scalar(x) is NotImplemented:
            raise operands.refused(x, f"ufunc {name}")
    if answers.is_numpys(function):
        return answers.ufunc(function, method, inputs, kwargs)
    if method != "__call__":
        raise TypeError(
            f"{name}.{method}: methods of ufuncs of other libraries do not accept portarray arrays"
        )
    out = kwargs.pop("out", None)
    if kwargs:
        raise TypeError(f"{name}: unsupported arguments for portarray arrays: {', '.join(kwargs)}")
    answer = answers.special(function, inputs)
    if answer is NotImplemented:
        answer = _on_host(function, inputs)
    return answer if out is None else answers.store(answer, out, name)


def _are_plain(inputs: Sequence[Any]) -> bool:
    """Return whether operands are portarray's arrays and numbers."""
    return all(type(x) is base.array_type or type(x) in dtypes.NUMBERS for x in inputs)


def function(
    x: Array,
    called: Any,
    types: tuple[type, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Answer one of NumPy's functions; see :meth:`portarray.Array.__array_function__`."""
    return numpy_functions().function(called, types, args, kwargs, x)


def check_name(name: str) -> None:
    """Raise for a name beyond the standard while ``config.strict_names`` is True."""
    if config._strict_names:
        raise AttributeError(
            f"{name}: not in the standard, and config.strict_names is True\n"
            f"Hint: use the standard's functions, or allow it with pa.config(strict_names=False)"
        )


def beyond_standard(function: Callable[P, T]) -> Callable[P, T]:
    """Refuse a function while ``config.strict_names`` is True; it itself is ``__wrapped__``."""

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        check_name(function.__name__)
        return function(*args, **options)

    return checked


def method(name: str) -> Callable[..., Any]:
    """Return a method of arrays that computes what NumPy's function of its name does."""
    computed = getattr(np, name)

    def called(self: Array, *args: Any, **options: Any) -> Any:
        check_name(f"Array.{name}")
        types = (base.array_type,)
        return numpy_functions().function(computed, types, (self, *args), options, self)

    called.__name__ = name
    called.__qualname__ = f"Array.{name}"
    called.__doc__ = f"As :func:`numpy.{name}` of the array, computed on its device."
    return called


class Flat:
    """The elements of an array in order, behind ``x.flat``: read, written and iterated over."""

    __slots__ = ("_x",)

    def __init__(self, x: Array) -> None:
        check_name("Array.flat")
        self._x = x

    def _elements(self) -> Array:
        return self._x.reshape(-1)

    def __len__(self) -> int:
        return self._x.size

    def __iter__(self) -> Iterator[Array]:
        return iter(self._elements())

    def __getitem__(self, key: Any) -> Array:
        return self._elements()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        # A copy: whether writes through a reshaped array reach it depends on the library.
        elements = self._elements().copy()
        elements[key] = value
        self._x[...] = elements.reshape(self._x.shape)


def view(x: Array, dtype: object) -> Array:
    """Return the elements' bits as another dtype; see :meth:`portarray.Array.view`."""
    check_name("Array.view")
    target = x.dtype if dtype is None else dtypes.canonical(dtype)
    if target == x.dtype:
        return x[...]
    if x.ndim and target == _COMPONENTS.get(x.dtype.name):
        pa: Any = base.NAMESPACE[0]
        parts: Array = pa.stack([x.real, x.imag], axis=-1)
        return parts.reshape(*x.shape[:-1], 2 * x.shape[-1])
    device = x.device
    if not device._backend.on_host(device.native):
        raise TypeError(
            f"view: {device} does not show {x.dtype} as {target}, only complex numbers as their "
            f"parts\nHint: convert the values with x.astype(dtype), or move the array first: "
            f"x.to_device('numpy')"
        )
    return conversion.asarray(slow_path.host_view(x).view(target), device=device)


_COMPONENTS = {"complex64": "float32", "complex128": "float64"}


def _on_host(function: Any, inputs: tuple[Any, ...]) -> Any:
    """Run a foreign ufunc on host views; the result is an array of the inputs' device."""
    tables = [x._dispatch for x in inputs if isinstance(x, base.array_type)]
    device = tables[0].device
    for table in tables:
        dispatch.require_same_device(f"ufunc {function.__name__}", tables[0], table)
    _check_on_host(device)
    host_access.tell("ufunc", device, name=function.__name__)
    values = [slow_path.read(x) if isinstance(x, base.array_type) else x for x in inputs]
    result = function(*values)
    if isinstance(result, tuple):
        return tuple(
            conversion.from_host(np.asarray(r), device, take_ownership=True) for r in result
        )
    return conversion.from_host(np.asarray(result), device, take_ownership=True)


def no_out(name: str, out: object) -> None:
    """Raise if ``out=``, which NumPy's functions pass to methods, is not None."""
    if out is not None:
        raise TypeError(f"{name}: out= is not supported\nHint: write y[...] = x.{name}(...)")


def dlpack(
    x: Array,
    *,
    stream: Any,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> Any:
    """Return a DLPack capsule; see :meth:`portarray.Array.__dlpack__`."""
    device = x.device
    backend = device._backend
    copy = copy if copy is None else native_arrays.copy_flag(copy)
    max_version = _two_integers("max_version", max_version)
    dl_device = _two_integers("dl_device", dl_device)
    if stream is not None and backend.dlpack_device_of(device.native) == routes.HOST:
        if stream != -1:  # -1 asks for no synchronization
            raise BufferError(
                f"__dlpack__: stream={stream!r}, but {device} computes in host memory, which has "
                f"no streams\n"
                f"Hint: pass stream=None"
            )
        stream = None
    own_device = dlpack_device(x)
    target = dl_device or own_device
    if target not in (own_device, routes.HOST):
        raise BufferError(
            f"__dlpack__: dl_device={target}, but an array on {device} can be exported only to its "
            f"own DLPack device {own_device} and to the CPU {routes.HOST}"
        )
    if target == routes.HOST:
        host_access.tell("DLPack", device)
    if target != own_device and not backend.on_host(device.native):
        # Consumers may ask for host memory, which few libraries support.
        if copy is False:
            raise BufferError(
                f"__dlpack__: copy=False, but {device} does not have host memory\nHint: pass "
                f"copy=None"
            )
        return host_capsule(slow_path.host_view(x, copy=True), max_version=max_version)
    try:
        return backend.to_dlpack(
            x._native, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "__dlpack__", device)


def _two_integers(name: str, value: Any) -> tuple[int, int] | None:
    """Check a version or device that a DLPack consumer passes, and return it as a tuple."""
    if value is None:
        return None
    try:
        first, second = map(int, value)
    except (TypeError, ValueError):
        raise TypeError(
            f"__dlpack__: {name}={value!r} must be two integers, such as (1, 0)"
        ) from None
    return first, second


def dlpack_device(x: Array) -> tuple[int, int]:
    """Return DLPack's device type and index."""
    return x._dispatch.device._backend.dlpack_device(x._native)  # refuses a traced array


# --- libraries that learn of arrays when they are imported ----------------------------------------


def after_import(name: str, listener: Callable[[ModuleType], None]) -> None:
    """Have a function called with a module: now if it is imported, and else once it is."""
    module = sys.modules.get(name)
    if module is not None:
        listener(module)
    else:
        sys.meta_path.insert(0, _Finder(name, listener))


class _Finder:
    """A finder of ``sys.meta_path`` that waits for one module and then removes itself."""

    def __init__(self, name: str, listener: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.listener = listener

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """Return the module's specification with a loader that calls the listener."""
        if name != self.name:
            return None
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        spec = find_spec(name)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            load = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                self.listener(module)

            loader.exec_module = exec_module
        return spec


# --- other libraries' transformations, see library_transforms.py ----------------------------------


numpy_functions: Callable[[], Any]
"""Import the implementation of NumPy's functions and ufuncs, a higher layer."""


def install_hooks(answers: Callable[[], Any]) -> None:
    """Have the library of each backend told of arrays and functions, once it is loaded."""
    global numpy_functions
    numpy_functions = cache(answers)
    node_types.LEAVES.add(base.array_type)
    registry.when_loaded(
        lambda backend: _library_transforms().register_transforms(backend, after_import)
    )
    asarray: Any = base.NAMESPACE[0].asarray
    asarray._torchdynamo_inline = _read_first
    base.bound_namespace = namespaces.bound_namespace
    after_import("scipy.special._support_alternative_backends", namespaces.distinguish_in_scipy)
    conversion.asarray._torchdynamo_inline = namespaces.read_asarray  # type: ignore[attr-defined]


def _library_transforms() -> Any:
    from portarray._array import library_transforms  # only for those libraries

    return library_transforms


def _read_first(obj: Any, /, **options: Any) -> Any:
    """Make an array, as PyTorch's compiler reads it until the backend is loaded."""
    _load()
    return _loaded(obj, **options)


def _load() -> None:
    global _loaded
    for _ in registry.imported_backends():  # among them that of the compiler's library
        pass
    asarray: Any = base.NAMESPACE[0].asarray
    _loaded = asarray._torchdynamo_inline


# Called while the compiler reads.
_load._dynamo_marked_constant = True  # type: ignore[attr-defined]
_loaded: Any = None

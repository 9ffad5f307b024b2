"""Arrays inside the transformations of other libraries: ``jax.jit``, ``torch.compile`` and others.

What a library has to know of arrays and functions; its backend tells it, once it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any

from portarray._array import base, call, dispatch, native_arrays, results
from portarray._devices import discovery
from portarray.backends.types import Arrays

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.backends.base import Backend

__all__ = ["register_transforms"]


def register_transforms(backend: Backend, after_import: Callable[..., None]) -> None:
    """Make arrays known to the transformations of a backend's library."""
    title, library = backend.info.title, backend.info.library

    def unwrap(x: Array) -> Any:
        table = getattr(x, "_dispatch", None)
        native = x._native
        if table is None or backend.owns(native):
            return native
        if table.device._home is not table.device:
            raise TypeError(
                f"{title} cannot transform this array: portarray records its calls for a gradient\n"
                f"Hint: take the gradient with {title}, or call pa.grad inside the function that "
                f"{title} "
                f"transforms"
            )
        raise TypeError(
            f"{title} transforms only its own arrays, and this array is on {table.device}\n"
            f"Hint: move it first: x.to_device({library!r})"
        )

    def tables(device: Any) -> Any:
        where = backend.device_of_native(device)
        assert where is not None
        return dispatch.tables_of(discovery.get_device(library, *where))

    backend.register_arrays(
        Arrays(
            *(base.array_type, unwrap, _wrap, _native, _stored, _put, tables, _functions, _others),
            after_import,
        )
    )


def _wrap(x: Any) -> Array:
    """Return a native array as an array; others are carried, as pytrees are made of any leaves."""
    if type(x) is base.array_type:  # a Jacobian, where pytrees are pytrees' leaves
        return x
    device = native_arrays.device_of(x)
    return _stored(x, None) if device is None else results.wrap(x, device)


def _native(x: Array) -> Any:
    return x._native


def _stored(native: Any, table: Any) -> Array:
    # PyTorch's compiler reads this, and knows no other way to make an object.
    out: Array = object.__new__(base.array_type)
    out._native = native
    out._dispatch = table
    return out


def _put(x: Array, native: Any) -> None:
    x._native = native


_CHAPTERS = (
    *("arithmetic", "bitwise", "comparison", "complex", "creation", "data_type", "exponential"),
    *("fft", "indexing", "linalg", "linear_algebra", "logical", "manipulation", "rounding"),
    *("searching", "sets", "sorting", "statistical", "trigonometric", "utility"),
)
"""The categories of the standard in ``portarray/_api``; other modules move arrays or report."""


def _functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions of the standard and the kernels, and the methods, by name."""
    places = (*[f"portarray._api.{name}" for name in _CHAPTERS], "portarray.kernels")
    functions: dict[str, Callable[..., Any]] = {
        name: function
        for name, function in _public()
        if function.__module__.startswith(places) or name == "device"
    }
    for name, value in tuple(vars(base.array_type).items()):
        method = value.fget if isinstance(value, property) else value
        if type(method) is type(call.unary) is not FunctionType:
            method = _interpreted(method)
            setattr(base.array_type, name, method)
        if isinstance(method, FunctionType):
            functions[f"Array.{name}"] = method
    return functions


def _interpreted(compiled: Callable[..., Any]) -> Callable[..., Any]:
    """Return a Python function for a compiled method: PyTorch's compiler accepts no others."""

    @wraps(compiled)
    def method(self: Array, operand: Any, /) -> Any:
        return compiled(self, operand)

    return method


def _others() -> list[Callable[..., Any]]:
    """Return the other public functions, and those that all calls come through."""
    known_names = set(_functions())
    functions: list[Callable[..., Any]] = [f for name, f in _public() if name not in known_names]
    functions += [f for f in vars(call).values() if isinstance(f, FunctionType)]
    return [*functions, results.wrapped, results.wrapped_like]


def _public() -> Iterator[tuple[str, FunctionType]]:
    pa: Any = base.NAMESPACE[0]
    for prefix in ("", "fft.", "linalg.", "kernels."):
        part = getattr(pa, prefix[:-1]) if prefix else pa
        for name in part.__all__:
            function = vars(part).get(name)
            if isinstance(function, FunctionType):
                yield prefix + name, function

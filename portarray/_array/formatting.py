"""repr, str and format of arrays, and conversion to Python scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import dispatch, host_access, results, slow_path

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["formatted", "html", "item", "listed", "plain", "represent", "scalar"]

# Larger arrays are summarized, and only the elements shown are copied to the host.
_THRESHOLD = 1000
_EDGE = 3


def item(x: Array, kind: str = "item") -> Any:
    """Return the one element of an array as a Python scalar; ``kind`` is what asks for it."""
    if x.size != 1:
        raise ValueError(f"item: the array has shape {x.shape}, not one element")
    table = x._dispatch
    host_access.tell(kind, x.device)
    try:
        return table.functions["item"](x._native)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "item", table.device)


def listed(x: Array) -> Any:
    """Return the values of an array as nested lists of Python scalars."""
    host_access.tell("tolist", x.device)
    values = slow_path.read(x)
    try:
        return values.tolist()
    except MemoryError as error:
        results.reraise(error, "tolist")


def scalar(x: Array, target: str) -> Any:
    """Return the element of a 0-d array for ``bool()``, ``int()`` and the like.

    Raises
    ------
    TypeError
        If the array has axes, or is complex and a real number is requested.
    """
    if x.ndim and not (target == "bool" and x.size == 1):
        conversion = "the truth value" if target == "bool" else f"{target}()"
        hint = "use pa.any(x) or pa.all(x)" if target == "bool" else "index it first"
        error = ValueError if target == "bool" else TypeError
        raise error(f"{conversion} of an array of shape {x.shape} is ambiguous\nHint: {hint}")
    if x._dispatch.kind == "c" and target in ("int", "float"):
        raise TypeError(f"{target}: the array is complex\nHint: take pa.real(x) first")
    return item(x, target)


def _values(x: Array) -> np.ndarray[Any, Any]:
    """Return the values that are printed; of a large array only the edge items."""
    if x.size <= _THRESHOLD:
        return _peek(x)
    pieces = x
    for axis, length in enumerate(x.shape):
        if length > 2 * _EDGE + 1:
            # One more than is shown, so that NumPy still prints "...".
            ends = [*range(_EDGE + 1), *range(length - _EDGE, length)]
            table = dispatch.table_of(x.device, dispatch.default_dtype(x.device, "i"))
            index = results.wrap(
                table.functions["asarray"](ends, dtype=table.native, device=x.device.native),
                x.device,
            )
            pieces = slow_path.apply("take", (pieces, index), axis=axis)
    return _peek(pieces)


def _peek(x: Array) -> np.ndarray[Any, Any]:
    host_access.tell("print", x.device)
    try:
        return x._dispatch.device._backend.printable(x._native, x.device.native)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "printing", x.device)


def _body(x: Array, prefix: str, separator: str) -> str:
    threshold = _THRESHOLD if x.size <= _THRESHOLD else 0
    return np.array2string(
        _values(x), separator=separator, prefix=prefix, threshold=threshold, edgeitems=_EDGE
    )


def represent(x: Array) -> str:
    """Return ``Array([1., 2.], dtype=float64, device='numpy:cpu:0')``."""
    shape = f", shape={x.shape}" if x.size > _THRESHOLD or x.size == 0 else ""
    body = "[]" if x.size == 0 else _body(x, "Array(", ", ")
    tail = f"{shape}, dtype={x.dtype}, device='{x.device}')"
    fits = len(body.rsplit("\n", 1)[-1]) + len("Array(") + len(tail) <= 100
    return f"Array({body}{tail}" if fits else f"Array({body},\n      {tail[2:]}"


def plain(x: Array) -> str:
    """Return the values alone, as NumPy prints them."""
    if x.ndim == 0:
        return str(_peek(x)[()])
    return "[]" if x.size == 0 else _body(x, "", " ")


def html(x: Array) -> str:
    """Return a table of what an array is, above its values as :func:`plain` has them."""
    from portarray import _html  # only notebooks need it

    rows = (
        ("shape", x.shape),
        ("dtype", x.dtype),
        ("device", x.device),
        ("bytes", f"{x.nbytes:,}"),
    )
    return _html.table(rows, caption="portarray.Array", values=plain(x))


def formatted(x: Array, spec: str) -> str:
    """Format a 0-d array as its element; an array with axes takes only the empty specification."""
    if x.ndim == 0:
        return format(item(x), spec)
    if spec:
        raise TypeError(f"format: {spec!r} formats 0-d arrays, and the array has shape {x.shape}")
    return plain(x)

"""In-place operators and ``@``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from portarray._array import base, call, call_cache, conversion, slow_path
from portarray._array.base import GUARDS, before_write
from portarray._array.operands import common, refused
from portarray._array.results import reraise

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable

__all__ = ["inplace", "inplace_matmul", "matmul"]


def inplace(name: str) -> Callable[[Array, Any], Array]:
    """Return the method for ``x op= other``, which keeps the dtype and shape of x.

    Where both promote to a wider dtype of x's kind, the result is computed there and cast back, as
    NumPy, CuPy and PyTorch do; a result of another kind is refused.
    """

    def operator(self: Array, other: Any, /) -> Array:
        if GUARDS:
            before_write(self)
        own_table, first, second = self._dispatch, self._native, other
        kind = type(other)
        if kind is base.array_type:
            second = other._native
            is_direct = other._dispatch is own_table and second.shape == first.shape
        elif kind in own_table.scalars or (
            kind is int and own_table.low <= other <= own_table.high
        ):
            is_direct = True
        elif slow_path.is_foreign(other, name):
            return NotImplemented  # type: ignore[no-any-return]
        else:
            is_direct = False
        if is_direct:
            try:
                direct = own_table.inplace_functions[name]
            except KeyError:
                direct = call_cache.inplace(own_table, name)
            if direct is not None:
                try:
                    self._native = direct(first, second)
                    return self
                except Exception as error:  # noqa: BLE001  (translated and raised again)
                    if second is not other:
                        reraise(error, name, own_table.device, call=((first, second), {}))
                # Below a scalar is converted, as one beyond 64 bits has to be.
        table, (first, second) = common(name, (self, conversion.operand(other, self, name)))
        if table.kind != own_table.kind:
            raise TypeError(_conversion(name, own_table, table))
        direct = call_cache.inplace(table, name) if table is own_table else None
        if direct is not None:
            if getattr(second, "ndim", 0) > first.ndim or _grows(first, second):
                raise ValueError(_growth(name, first, second))
            try:
                self._native = direct(first, second)
            except Exception as error:  # noqa: BLE001  (translated and raised again)
                reraise(error, name, table.device, call=((first, second), {}))
            return self
        result = slow_path.called(name, table, (first, second), {})
        if result.shape != self.shape:
            raise ValueError(_growth(name, first, second))
        if result._dispatch.kind != own_table.kind:
            raise TypeError(_conversion(name, own_table, result._dispatch))
        self[...] = result
        return self

    return operator


def _conversion(name: str, table: DispatchTable, result: DispatchTable) -> str:
    return (
        f"in-place {name}: {result.dtype} values do not fit the {table.dtype} array, and in-place "
        f"operators keep its dtype\nHint: write x = x op y, or convert the operand first"
    )


def _grows(first: Any, second: Any) -> bool:
    """Return whether broadcasting would change the first operand's shape."""
    shape = getattr(second, "shape", ())
    offset = first.ndim - len(shape)
    return any(n not in (1, first.shape[offset + i]) for i, n in enumerate(shape))


def _growth(name: str, first: Any, second: Any) -> str:
    return (
        f"in-place {name}: an operand of shape {tuple(getattr(second, 'shape', ()))} cannot "
        f"be broadcast to x's shape {tuple(first.shape)}\nHint: write x = x op y"
    )


def matmul(x1: Any, x2: Any) -> Array:
    """Compute ``x1 @ x2``; scalars are refused."""
    if type(x1) is base.array_type and type(x2) is base.array_type:
        return call.aligned("matmul", x1, x2)
    x, operand = (x1, x2) if type(x1) is base.array_type else (x2, x1)
    if slow_path.is_foreign(operand, "matmul"):
        return NotImplemented  # type: ignore[no-any-return]
    taken = conversion.operand(operand, x, "matmul")
    if type(taken) is not base.array_type:
        raise refused(operand, "matmul", scalars=False)
    return matmul(x, taken) if x is x1 else matmul(taken, x)


def inplace_matmul(x1: Array, x2: Any) -> Array:
    """Compute ``x1 @= x2``, keeping the dtype and shape of x1."""
    result = matmul(x1, x2)
    if result is NotImplemented:
        return NotImplemented  # type: ignore[no-any-return]
    if result._dispatch.kind != x1._dispatch.kind:
        raise TypeError(_conversion("matmul", x1._dispatch, result._dispatch))
    if result.shape != x1.shape:
        raise ValueError(
            f"in-place matmul: the product has shape {result.shape}, and x has {x1.shape}\n"
            f"Hint: write x = x @ y"
        )
    x1[...] = result
    return x1

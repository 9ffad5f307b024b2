"""Element-wise operations as data: one OpenCL C expression for each kind of dtype.

Each is defined next to its public function::

    ADD = Operation("add", {**integer("(U)a + (U)b"), **floating("a + b")})

In an expression the operands are ``a``, ``b`` and ``c``, values of the compute type ``T``. Further
macros: ``R``, the real type of ``T`` (``float`` for ``float2``); ``C``, the complex type of ``R``
(floating-point only); ``U``, the unsigned type that integers are calculated in so that overflow
wraps (``uint``, or ``ulong`` for 64 bits), and the others of
:func:`~portarray.clarray.engine.casting.macros`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from portarray.clarray.dtypes import kind_of, real_dtype_of

DType = np.dtype[Any]

_BOOL: DType = np.dtype(np.bool_)
_KIND_NAMES = {
    "bool": "bool",
    "signed": "signed integer",
    "unsigned": "unsigned integer",
    "real": "real floating-point",
    "complex": "complex floating-point",
}


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An expression over operands ``a``, ``b``, ``c``; compared by identity."""

    name: str
    forms: Mapping[str, str]
    result: Literal["same", "bool", "real"] = "same"
    needs: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    choice: bool = False

    def operand_dtype(self, position: int, dtype: DType) -> DType:
        """Return the dtype that an operand is read as where ``dtype`` is computed in."""
        return _BOOL if self.choice and position == 0 else dtype

    def files(self, dtype: DType) -> tuple[str, ...]:
        """Return the files of ``kernels/`` that a computation in a dtype needs."""
        if isinstance(self.needs, tuple):
            return self.needs
        return self.needs.get(kind_of(dtype), ())

    def result_dtype(self, dtype: DType) -> DType:
        """Return the dtype of the result of a computation in ``dtype``."""
        if kind_of(dtype) not in self.forms:
            raise self.refusal(dtype)
        if self.result == "bool":
            return _BOOL
        return real_dtype_of(dtype) if self.result == "real" else dtype

    def refusal(self, dtype: DType) -> TypeError:
        """Return the error for a dtype that the operation does not take."""
        kinds = " or ".join(_KIND_NAMES[kind] for kind in self.forms)
        return TypeError(
            f"{self.name} takes arrays of a {kinds} dtype, got {dtype}\n"
            f"Hint: convert with astype first"
        )


def integer(expression: str) -> dict[str, str]:
    """Return an expression as the form for signed and unsigned integers."""
    return {"signed": expression, "unsigned": expression}


def floating(expression: str) -> dict[str, str]:
    """Return an expression as the form for real and complex numbers."""
    return {"real": expression, "complex": expression}


def numeric(expression: str) -> dict[str, str]:
    """Return an expression as the form for every kind but bool."""
    return {**integer(expression), **floating(expression)}


def every(expression: str) -> dict[str, str]:
    """Return an expression as the form for every kind."""
    return {"bool": expression, **numeric(expression)}

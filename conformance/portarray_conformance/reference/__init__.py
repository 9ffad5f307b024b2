"""An Array API namespace on plain NumPy under portarray's rules: what portarray promises.

It states the rules a second time and imports nothing of portarray, so that programs can be run on
both and compared. It computes in a wider format, rounds once, and marks undefined results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal

from portarray_conformance.reference import (  # noqa: F401  (each registers its functions)
    creation,
    decompositions,
    dtype_functions,
    elementwise,
    fourier,
    kinds,
    movement,
    norms,
    ordering,
    products,
    reductions,
    registry,
)
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.kinds import (
    AxisError,
    Data,
    DTypeNotSupportedError,
    LinAlgError,
    Undefined,
    UnknownDeviceError,
)

__all__ = [
    "Array",
    "AxisError",
    "DTypeNotSupportedError",
    "LinAlgError",
    "Reference",
    "UnknownDeviceError",
    "Undefined",
]

DEFAULTS = {
    "real floating": "float64",
    "integral": "int64",
    "complex floating": "complex128",
    "indexing": "int64",
}


class _Info:
    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        return self._ctx.device

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        self._ctx.check_device(device)
        names = {"f": "real floating", "c": "complex floating", "i": "integral"}
        defaults = {names[kind]: dtype for kind, dtype in self._ctx.default.items()}
        return {**defaults, "indexing": self._ctx.index}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        self._ctx.check_device(device)
        letters = _letters(kind)
        return {
            name: dtype
            for name, dtype in self._ctx.dtypes.items()
            if name in kinds.STANDARD and kinds.letter(dtype) in letters
        }

    def devices(self) -> tuple[Any, ...]:
        return (self._ctx.device,)


def _letters(kind: Any) -> str:
    if kind is None:
        return "biufc"
    if isinstance(kind, tuple):
        return "".join(map(_letters, kind))
    if kind not in kinds.KINDS:
        raise ValueError(f"kind={kind!r} is none of {', '.join(kinds.KINDS)}")
    return kinds.KINDS[kind]


class Reference:
    """portarray's promises for a device with some dtypes.

    Parameters
    ----------
    dtypes : sequence of str
        The dtypes that the device has.
    defaults : mapping
        The names of its default dtypes by kind, as in ``__array_namespace_info__``.
    noise : int, optional
        Seed of errors within the suite's bounds, which every inexact result then gets; two runs
        with different seeds differ where a result depends on rounding.
    views : bool or "either"
        Whether a view sees writes to its base: True as in NumPy, False as with immutable arrays.
        With "either", elements that would differ are marked as undefined.
    device : object
        The value of ``x.device`` and ``device=``.
    subnormals : bool
        Whether the device keeps subnormal numbers; with False they are marked as undefined.
    """

    def __init__(
        self,
        dtypes: Sequence[str] = kinds.STANDARD,
        defaults: Mapping[str, str] = DEFAULTS,
        *,
        noise: int | None = None,
        views: bool | Literal["either"] = "either",
        device: Any = "cpu",
        subnormals: bool = True,
    ) -> None:
        self._ctx = ctx = Context(dtypes, defaults, noise, views, device, subnormals)
        self.xp: Any = SimpleNamespace(__name__="reference")
        ctx.xp = self.xp
        self.xp.linalg, self.xp.fft = SimpleNamespace(), SimpleNamespace()
        self.xp.linalg.LinAlgError = LinAlgError
        for name in elementwise.IMPLEMENTATIONS:
            self._add(name, _elementwise(ctx, name))
        for name, entry in registry.FUNCTIONS.items():
            self._add(name, registry.bind(ctx, entry))
        for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
            setattr(self.xp.linalg, name, getattr(self.xp, name))
        for name, dtype in ctx.dtypes.items():
            setattr(self.xp, name, dtype.type)
        for name in ("e", "inf", "nan", "pi"):
            setattr(self.xp, name, getattr(math, name))
        self.xp.newaxis = None
        self.xp.Array = Array
        self.xp.DTypeNotSupportedError = DTypeNotSupportedError
        self.xp.__array_api_version__ = "2025.12"
        self.xp.__array_namespace_info__ = lambda: _Info(ctx)

    def _add(self, name: str, function: Any) -> None:
        self._ctx.functions[name] = function
        *extension, last = name.split(".")
        owner = getattr(self.xp, extension[0]) if extension else self.xp
        setattr(owner, last, function)

    def restart(self) -> None:
        """Draw the same errors again, from the first on."""
        if self._ctx.noise is not None:
            self._ctx.noise.restart()

    def to_numpy(self, array: Array) -> Data:
        """Return a copy of an array's values."""
        return array._data.copy()

    def dtype_name(self, dtype: Any) -> str:
        """Return a dtype's name."""
        return kinds.canonical(dtype).name

    def is_array(self, obj: object) -> bool:
        """Return whether an object is an array of this reference."""
        return type(obj) is Array and obj._ctx is self._ctx


def _elementwise(ctx: Context, name: str) -> Any:
    def unary(x: Any, /) -> Array:
        return ctx.unary(name, x)

    def binary(x1: Any, x2: Any, /) -> Array:
        return ctx.binary(name, x1, x2)

    function = unary if name in elementwise.UNARY else binary
    function.__name__ = name
    return function

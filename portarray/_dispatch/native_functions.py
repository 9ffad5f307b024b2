"""The functions of one native device: resolution, promotion and dtype conversion for all backends.

A function of the standard is looked for in the backend's category files, then in its library's own
standard namespace where it names one, then among the shared compositions, then on the host. What it
is handed are *aligned* operands: arrays of one dtype, of a kind that the function computes on.
Calls of portarray's functions, the support table and ``pa.namespace`` all ask here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any

import numpy as np

from portarray._dispatch import (
    alignment,
    argument_rules,
    categories,
    clip_bounds,
    host_functions,
    linalg_checks,
)
from portarray._dtypes.accepted import Accepts
from portarray._dtypes.promotion import Kind, kind_of
from portarray.backends import registry
from portarray.backends.base import Backend
from portarray.backends.types import Served, served_by

__all__ = [
    "CONSTANTS",
    "MissingDTypeError",
    "NativeFunctions",
    "NativeNamespace",
    "default_dtype",
]

CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}

DType = np.dtype[Any]
Function = Callable[..., Any]


class MissingDTypeError(TypeError):
    """The device lacks a dtype that a function has to compute in."""

    def __init__(self, dtype: DType) -> None:
        super().__init__(
            f"the operands promote to {dtype}, which the device does not support\n"
            f"Hint: convert one first"
        )
        self.dtype = dtype


_WIDEST: dict[str, tuple[DType, ...]] = {
    "i": (np.dtype("int64"), np.dtype("int32")),
    "f": (np.dtype("float64"), np.dtype("float32")),
    "c": (np.dtype("complex128"), np.dtype("complex64")),
}


def default_dtype(available: Mapping[DType, Any], kind: str) -> DType:
    """Return the default dtype of a kind: the widest one available.

    ``kind`` is ``"f"``, ``"i"`` or ``"c"``. The standard requires the real and the complex default
    to match: with complex64 but not complex128, the default is float32.

    Raises
    ------
    MissingDTypeError
        If the device has none of the kind.
    """
    wide, narrow = _WIDEST["c"]
    single = kind == "f" and wide not in available and narrow in available
    for dtype in _WIDEST[kind][single:]:
        if dtype in available:
            return dtype
    raise MissingDTypeError(_WIDEST[kind][0])


class NativeFunctions:
    """The functions of one native device, for aligned arrays of each dtype.

    Parameters
    ----------
    backend : Backend
        The library.
    device : native device
        The device.
    """

    def __init__(self, backend: Backend, device: Any) -> None:
        self.backend = backend
        self.device = device
        self.namespace = NativeNamespace(self)
        self._dtypes: dict[object, Mapping[DType, Any]] = {}
        self._names: dict[Any, DType] = {}

    @property
    def dtypes(self) -> Mapping[DType, Any]:
        """The dtypes that the device has now, NumPy's to native."""
        setting = self.backend.configuration()
        dtypes = self._dtypes.get(setting)
        if dtypes is None:
            dtypes = self._dtypes[setting] = host_functions.dtypes_on(self.backend, self.device)
            self._names.update({native: dtype for dtype, native in dtypes.items()})
        return dtypes

    def numpy_dtype(self, native: Any) -> DType:
        """Return the NumPy dtype of a native one."""
        try:
            return self._names[native]
        except KeyError:
            available = self.dtypes
            if native in self._names:
                return self._names[native]
            raise TypeError(
                f"{native} is not a dtype of the array API standard; "
                f"supported: {', '.join(map(str, available))}"
            ) from None

    def native_dtype(self, dtype: DType) -> Any:
        """Return the native dtype of a NumPy dtype; raises MissingDTypeError if there is none."""
        try:
            return self.dtypes[dtype]
        except KeyError:
            raise MissingDTypeError(dtype) from None

    def default(self, kind: str) -> DType:
        """Return the default dtype of a kind; see :func:`default_dtype`."""
        return default_dtype(self.dtypes, kind)

    def resolve(self, name: str, dtype: DType | None = None) -> tuple[Any, Served]:
        """Return the function of a name for arrays of a dtype, and how it is served.

        Without a dtype: a function that does not depend on it, a constant or a dtype.

        Raises
        ------
        AttributeError
            If the name is not in the standard.
        TypeError
            If the function does not take the dtype.
        """
        rule = categories.accepted(name)
        resolved = None
        if dtype is not None and rule is not None and kind_of(dtype) not in rule.kinds:
            resolved = self._converted(name, rule, dtype)
        elif dtype is not None and dtype.itemsize == 2 and kind_of(dtype) == "f":
            resolved = self._of_half(name, rule, dtype)
        function, how = resolved or self._look_up(name, dtype)
        if dtype is not None and name == "clip":
            function = clip_bounds.clipping(self, function, dtype)
        elif dtype is not None and name == "linalg.trace" and kind_of(dtype) == "c":
            function = argument_rules.accumulating(self, "trace", function)
        return function, how

    def served(self, name: str) -> Served:
        """Return how a function is served, whatever the dtype."""
        serves = self.backend.serves(self.device, name)
        return categories.served(self.backend, name, on_device=serves)

    def _look_up(self, name: str, dtype: DType | None) -> tuple[Any, Served]:
        """Return the first implementation of a name, in the order of the module's docstring."""
        function = categories.own_function(self.backend, name, dtype)
        if function is not None and self.backend.serves(self.device, name):
            return self._with_checks(name, self._wrapped(name, function)), served_by(function)
        composition = categories.composition(name)
        if composition is not None:
            if name.startswith("special.") and self.backend.array_type is np.ndarray:
                composition = np.errstate(all="ignore")(composition)  # poles are valid results
            return self._with_checks(name, partial(composition, self.namespace)), "composed"
        if self.backend is _host_functions().backend:
            raise AttributeError(f"{name!r} is not in the array API standard")
        return host_functions.function(
            self.backend, self.device, name, _host_function(name)
        ), "host"

    def _of_half(self, name: str, rule: Accepts | None, dtype: DType) -> tuple[Any, Served] | None:
        """Return or refuse what no library computes in half precision; None for all other names."""
        if name in linalg_checks.DECOMPOSED:
            raise TypeError(
                f"{name}: unsupported dtype {dtype}\nHint: convert to float32 with pa.astype first"
            )
        if name == "linalg.matrix_norm":
            return self._narrow_norm(dtype)
        if not name.startswith(("fft.", "special.")) or rule is None:
            return None
        single = np.dtype(np.float32)
        function, how = self.resolve(name, single)
        through = self._casting(dtype, function, self.cast(dtype, single))
        if name.startswith("fft."):
            return through, how
        back = self.cast(single, dtype)
        return lambda *args: back(through(*args)), how

    def _narrow_norm(self, dtype: DType) -> tuple[Any, Served]:
        """Return the composition of norms, without those of the singular values."""
        composed = categories.composition("linalg.matrix_norm")
        assert composed is not None
        composition = partial(composed, self.namespace)

        def norm(x: Any, /, **options: Any) -> Any:
            if options.get("ord") in ("nuc", 2, -2):
                raise TypeError(
                    f"linalg.matrix_norm: ord={options['ord']!r} does not support {dtype}\n"
                    f"Hint: convert to float32 with pa.astype first"
                )
            return composition(x, **options)

        return self._with_checks("linalg.matrix_norm", norm), "composed"

    def _wrapped(self, name: str, function: Any) -> Any:
        return self.backend.wrap_function(name, function) if callable(function) else function

    def _with_checks(self, name: str, function: Any) -> Any:
        return (
            linalg_checks.checked(name, function, self)
            if name in linalg_checks.CHECKED
            else function
        )

    def _converted(self, name: str, rule: Accepts, dtype: DType) -> tuple[Function, Served]:
        """Return a function for a dtype that is converted first, or refuse it."""
        if not rule.accepts(kind_of(dtype)):
            raise TypeError(_refusal(name, rule, dtype))
        if rule.instead:
            return self.resolve(rule.instead, dtype)
        if rule.to == "truth":
            function, how = self.resolve(name, np.dtype(bool))
            different, _ = self.resolve("not_equal", dtype)
            operand = self.operand(dtype)
            truth = self._casting(dtype, function, lambda x: different(x, operand(0)), bool)
            return truth, how
        wide = np.dtype("uint8") if rule.to.startswith("uint8") else self.default(rule.to[0])
        function, how = self.resolve(name, wide)
        through = self._casting(dtype, function, self.cast(dtype, wide))
        if rule.to == "uint8 and back":
            back = self.cast(wide, dtype)
            return lambda *args, **options: back(through(*args, **options)), how
        return through, how

    def cast(self, dtype: DType, target: DType) -> Function:
        """Return a function that casts arrays of one dtype to another."""
        if dtype == target:
            return lambda x: x
        astype, native = self.resolve("astype", dtype)[0], self.native_dtype(target)
        return lambda x: astype(x, native)

    def _casting(
        self,
        dtype: DType,
        function: Function,
        cast: Function,
        convert_number: Function | None = None,
    ) -> Function:
        """Wrap a function so that array operands of a dtype are cast first, and Python numbers."""
        is_array = self.backend.owns
        array_type: Any = self.backend.array_type
        native = self.native_dtype(dtype)

        def convert(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return [convert(item) for item in x]
            if convert_number is not None and isinstance(x, (int, float, complex)):
                return convert_number(x)
            # Traced functions get NumPy's scalars, which its functions return for 0-d arrays.
            is_native = is_array(x) or isinstance(x, np.generic)
            return cast(x) if is_native and x.dtype == native else x

        def casting(*args: Any, **options: Any) -> Any:
            converted = [
                cast(x) if type(x) is array_type and x.dtype == native else convert(x) for x in args
            ]
            return function(*converted, **options)

        return casting

    def operand(self, dtype: DType) -> Function:
        """Return a function that converts a Python scalar to an operand of a dtype."""
        if self.backend.accepts_scalars:
            return lambda value: value
        make, native = self.resolve("asarray")[0], self.native_dtype(dtype)
        return lambda value: make(value, dtype=native, device=self.device)

    # The library's own functions for direct calls, or None; see :mod:`portarray.backends.base`.

    def plain(self, name: str, dtype: DType) -> Function | None:
        """Return the row of ``DIRECT``: arrays alone, called by position."""
        return self._direct("DIRECT", name, dtype) or self._direct("BY_DTYPE", name, dtype)

    def with_scalar(self, name: str, dtype: DType) -> Function | None:
        """Return the function for an array and a Python scalar that the dtype can represent."""
        function = self._direct("WITH_PYTHON_SCALAR", name, dtype)
        if function is None and self.backend.accepts_scalars:
            function = self._direct("BY_DTYPE", name, dtype)
        return function

    def inplace(self, name: str, dtype: DType) -> Function | None:
        """Return the row of ``IN_PLACE``: ``x1 op= x2`` in x1's memory."""
        return self._direct("IN_PLACE", name, dtype)

    def _direct(self, table: str, name: str, dtype: DType) -> Function | None:
        rule = categories.accepted(name)
        if rule is not None and kind_of(dtype) not in rule.kinds:  # converted first
            return None
        function = categories.row(self.backend, table, name, dtype)
        if function is None or table == "IN_PLACE":
            return function
        wrapped: Function = self._wrapped(name, function)
        return wrapped


_KIND_NAMES: dict[Kind, str] = {
    "b": "boolean",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "real floating-point",
    "c": "complex floating-point",
}


def _refusal(name: str, rule: Accepts, dtype: DType) -> str:
    kinds = [title for kind, title in _KIND_NAMES.items() if rule.accepts(kind)]
    hint = (
        "use logical_xor, logical_and or logical_not for boolean arrays"
        if kind_of(dtype) == "b" and name in ("subtract", "negative")
        else "take pa.real(x) or pa.imag(x) first"
        if kind_of(dtype) == "c"
        else "convert with pa.astype first"
    )
    return f"{name}: unsupported dtype {dtype}; supported kinds: {', '.join(kinds)}\nHint: {hint}"


def _host_function(name: str) -> Function:
    """Return NumPy's function of a name, imported lazily."""
    function: Function = attrgetter(name)(_host_functions().namespace)
    return function


@cache
def _host_functions() -> NativeFunctions:
    return NativeFunctions(registry.load_backend("numpy"), "cpu")


class NativeNamespace:
    """The standard's namespace on the native arrays of one device.

    Operands are promoted and converted as for portarray's arrays, without wrapping. Returned by
    :func:`portarray.namespace`.
    """

    def __init__(self, functions: NativeFunctions, prefix: str = "") -> None:
        self._functions = functions
        self._prefix = prefix

    @property
    def device(self) -> Any:
        """The native device."""
        return self._functions.device

    def numpy_dtype(self, x: Any) -> DType:
        """Return the NumPy dtype of a native array or dtype."""
        return self._functions.numpy_dtype(x.dtype if self._functions.backend.owns(x) else x)

    def native_dtype(self, dtype: DType) -> Any:
        """Return the native dtype of a NumPy dtype."""
        return self._functions.native_dtype(dtype)

    def default_dtype(self, kind: str) -> DType:
        """Return the device's default dtype of a kind, as a NumPy dtype."""
        return self._functions.default(kind)

    @property
    def index_dtype(self) -> Any:
        """The widest signed integer dtype of the device: that of indices and of sums."""
        return self._functions.native_dtype(self._functions.default("i"))

    @property
    def unsigned_dtype(self) -> Any:
        """The widest unsigned integer dtype of the device."""
        wide = np.dtype("uint64")
        return self._functions.dtypes.get(wide) or self._functions.native_dtype(np.dtype("uint32"))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        full = self._prefix + name
        if full in categories.EXTENSIONS:
            value: Any = NativeNamespace(self._functions, f"{name}.")
        elif full in CONSTANTS:
            value = CONSTANTS[full]
        else:
            native = next((n for d, n in self._functions.dtypes.items() if d.name == full), None)
            value = alignment.promoting(self._functions, full) if native is None else native
        # Cached in the instance.
        self.__dict__[name] = value
        return value

    def __repr__(self) -> str:
        part = f".{self._prefix[:-1]}" if self._prefix else ""
        title = self._functions.backend.info.title
        return f"<namespace{part} of {title} arrays on {self.device}>"

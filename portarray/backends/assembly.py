"""The functions of one native device: resolution, promotion and dtype conversion for all backends.

A function of the standard is looked for in the backend's chapter files, then in its library's own
standard namespace where it names one, then among the shared compositions, then on the host. What it
is handed are *aligned* operands: arrays of one dtype, of a kind that the function computes on.
Calls of portarray's functions, the support table and ``pa.namespace`` all ask here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from operator import attrgetter
from types import ModuleType
from typing import Any

import numpy as np

from portarray.backends import host, matrices, promotion, registry, rules
from portarray.backends.base import Backend
from portarray.backends.kinds import ACCEPTED, OPERANDS, Accepts
from portarray.backends.promotion import Kind, kind_of
from portarray.backends.types import Served, served_by

__all__ = [
    "CHAPTERS",
    "MissingDTypeError",
    "NativeFunctions",
    "NativeNamespace",
    "accepted",
    "chapter_files",
    "served",
]

CHAPTERS = (
    "creation",
    "data_type",
    "arithmetic",
    "comparison",
    "exponential",
    "trigonometric",
    "rounding",
    "bitwise",
    "logical",
    "complex",
    "indexing",
    "linear_algebra",
    "manipulation",
    "searching",
    "sets",
    "sorting",
    "statistical",
    "utility",
    "linalg",
    "fft",
)
"""The standard's chapters, which are the names of chapter files."""

EXTENSIONS = ("linalg", "fft")
CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}

DType = np.dtype[Any]
Function = Callable[..., Any]


class MissingDTypeError(TypeError):
    """The device lacks a dtype that a function has to compute in."""

    def __init__(self, dtype: DType) -> None:
        super().__init__(f"the operands meet in {dtype}, which the device lacks; convert one first")
        self.dtype = dtype


# --- functions of a backend -----------------------------------------------------------------------


@cache
def chapter_files(package: str) -> dict[str, ModuleType]:
    """Return the modules of a package by chapter; under "" one that has several chapters.

    That is the package itself, or a single file of a backend that corrects little.
    """
    if not package:
        return {}
    found = {"": import_module(package)}
    if hasattr(found[""], "__path__"):
        names = {chapter: f"{package}.{chapter}" for chapter in CHAPTERS}
        found |= {
            chapter: import_module(name) for chapter, name in names.items() if find_spec(name)
        }
    return found


def _in_chapters(package: str, name: str, table: str = "") -> Any:
    """Return what a package's chapter files have for a standard name, or None.

    With ``table`` (such as ``"ROWS"``) it is looked up in the tables of that name.
    """
    *extension, short = name.split(".")
    found = chapter_files(package)
    for chapter in extension or ("", *CHAPTERS[: -len(EXTENSIONS)]):
        if chapter in found:
            own = found[chapter]
            value = getattr(own, table, {}).get(short) if table else getattr(own, short, None)
            if value is not None:
                return value
    return None


def row(backend: Backend, table: str, name: str, dtype: DType) -> Function | None:
    """Return a function from a table of a backend's chapter files, by dtype, or None.

    Keys of a row are kind letters (``"iuf"``) or dtype names (``"uint16 uint32"``), separated by
    blanks; a name takes precedence over a kind.
    """
    rows: Mapping[str, Function] | None = _in_chapters(backend.chapters, name, table)
    by_kind = None
    for key, function in (rows or {}).items():
        for word in key.split():
            if word == dtype.name:
                return function
            if kind_of(dtype) in word and promotion.KIND_ORDER.keys() >= set(word):
                by_kind = function
    return by_kind


def _spellings(name: str) -> tuple[str, ...]:
    """Return the names of a function: linalg repeats some of the main namespace."""
    return (name, name.removeprefix("linalg.")) if name.startswith("linalg.") else (name,)


def _own(backend: Backend, name: str, dtype: DType | None) -> Any:
    """Return a backend's own function of a name, or None."""
    if name in _DTYPE_RULES:  # portarray's for every library
        return None
    for spelling in _spellings(name):
        found = None if dtype is None else row(backend, "ROWS", spelling, dtype)
        if found is None:
            found = _in_chapters(backend.chapters, spelling)
        if found is not None:
            return found
    for spelling in _spellings(name):
        with suppress(AttributeError):
            return attrgetter(spelling)(backend.standard)
    return None


_DTYPE_RULES = frozenset(("can_cast", "finfo", "iinfo", "isdtype", "result_type"))


def _composition(name: str) -> Function | None:
    """Return the shared composition of a name, or None."""
    found = (_in_chapters("portarray.backends.composed", one) for one in _spellings(name))
    return next((function for function in found if function is not None), None)


@cache
def accepted(name: str) -> Accepts | None:
    """Return the kinds of dtype that a function takes; None where it takes them all.

    The row stands in kinds.py, or beside the shared composition of the name.
    """
    found = ACCEPTED.get(name)
    return found or _in_chapters("portarray.backends.composed", name, "ACCEPTED")


def served(backend: Backend, name: str) -> Served:
    """Return how a backend serves a function of the standard; needs no device."""
    rows = _in_chapters(backend.chapters, name, "ROWS")
    own = next(iter(rows.values())) if rows else _own(backend, name, None)
    if own is not None:
        return served_by(own)
    return "host" if _composition(name) is None else "composed"


# --- the functions of a device --------------------------------------------------------------------

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
        found = self._dtypes.get(setting)
        if found is None:
            found = self._dtypes[setting] = host.dtypes_on(self.backend, self.device)
            self._names.update({native: dtype for dtype, native in found.items()})
        return found

    def numpy_dtype(self, native: Any) -> DType:
        """Return the NumPy dtype of a native one."""
        try:
            return self._names[native]
        except KeyError:
            available = self.dtypes
            if native in self._names:
                return self._names[native]
            raise TypeError(
                f"{native} is no dtype of the array API standard; "
                f"use one of {', '.join(map(str, available))}"
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

    def serve(self, name: str, dtype: DType | None = None) -> tuple[Any, Served]:
        """Return the function of a name for arrays of a dtype, and how it is served.

        Without a dtype: a function that does not depend on it, a constant or a dtype.

        Raises
        ------
        AttributeError
            If the name is not in the standard.
        TypeError
            If the function does not take the dtype.
        """
        rule = accepted(name)
        if dtype is not None and rule is not None and kind_of(dtype) not in rule.kinds:
            function, how = self._converted(name, rule, dtype)
            return (self._clipping(function, dtype) if name == "clip" else function), how
        if dtype is not None and dtype.itemsize == 2 and kind_of(dtype) == "f":
            if name in matrices.DECOMPOSED:
                raise TypeError(
                    f"{name} does not take {dtype}; convert with pa.astype to float32 first"
                )
            if name == "linalg.matrix_norm":
                return self._narrow_norm(dtype)
            if name.startswith("fft.") and rule is not None:
                single = np.dtype(np.float32)
                function, how = self.serve(name, single)
                return self._casting(dtype, function, self.cast(dtype, single)), how
        own = _own(self.backend, name, dtype)
        if own is not None:
            if name == "clip" and dtype is not None:
                return self._clipping(own, dtype), served_by(own)
            if name == "linalg.trace" and dtype is not None and kind_of(dtype) == "c":
                return _accumulating(self, "trace", own), served_by(own)
            return self._ruled(name, self._guarded(name, own)), served_by(own)
        composition = _composition(name)
        if composition is not None:
            return self._ruled(name, partial(composition, self.namespace)), "composed"
        if self.backend is _host_functions().backend:
            raise AttributeError(f"the array API standard has no {name!r}")
        return host.function(self.backend, self.device, name, _host_function(name)), "host"

    def _narrow_norm(self, dtype: DType) -> tuple[Any, Served]:
        """Return the composition of norms, without those of the singular values."""
        composed = _composition("linalg.matrix_norm")
        assert composed is not None
        composition = partial(composed, self.namespace)

        def norm(x: Any, /, **options: Any) -> Any:
            if options.get("ord") in ("nuc", 2, -2):
                raise TypeError(
                    f"linalg.matrix_norm with ord={options['ord']!r} does not take {dtype}; "
                    f"convert with pa.astype to float32 first"
                )
            return composition(x, **options)

        return self._ruled("linalg.matrix_norm", norm), "composed"

    def _guarded(self, name: str, own: Any) -> Any:
        return self.backend.guard_memory(name, own) if callable(own) else own

    def _ruled(self, name: str, function: Any) -> Any:
        return matrices.checked(name, function, self) if name in matrices.CHECKED else function

    def _converted(self, name: str, rule: Accepts, dtype: DType) -> tuple[Function, Served]:
        """Return a function for a dtype that is converted first, or refuse it."""
        if not rule.takes(kind_of(dtype)):
            raise TypeError(_refusal(name, rule, dtype))
        if rule.instead:
            return self.serve(rule.instead, dtype)
        if rule.to == "truth":
            function, how = self.serve(name, np.dtype(bool))
            different, _ = self.serve("not_equal", dtype)
            operand = self._operand(dtype)
            truth = self._casting(dtype, function, lambda x: different(x, operand(0)), bool)
            return truth, how
        wide = np.dtype("uint8") if rule.to.startswith("uint8") else self.default(rule.to[0])
        function, how = self.serve(name, wide)
        through = self._casting(dtype, function, self.cast(dtype, wide))
        if rule.to == "uint8 and back":
            back = self.cast(wide, dtype)
            return lambda *args, **options: back(through(*args, **options)), how
        return through, how

    def _clipping(self, clip: Function, dtype: DType) -> Function:
        """Return a library's ``clip`` with bounds of x's dtype, numbers that it holds, or None."""

        def limit(value: Any, lower: bool) -> Any:
            if value is None:
                return None
            if not hasattr(value, "dtype"):
                return rules.bound(value, dtype, lower=lower)
            given = self.numpy_dtype(value.dtype)
            if given == dtype:
                return value
            within = rules.bound_array(given, dtype)
            if within is not None:
                make, native = self.serve("asarray")[0], self.native_dtype(given)
                for name, end in zip(("maximum", "minimum"), within, strict=True):
                    held = make(end, dtype=native, device=self.device)
                    value = self.serve(name, given)[0](value, held)
            return self.cast(given, dtype)(value)

        def clipping(x: Any, /, min: Any = None, max: Any = None) -> Any:
            return clip(x, limit(min, True), limit(max, False))

        return clipping

    def cast(self, dtype: DType, target: DType) -> Function:
        """Return a function that casts arrays of one dtype to another."""
        if dtype == target:
            return lambda x: x
        astype, native = self.serve("astype", dtype)[0], self.native_dtype(target)
        return lambda x: astype(x, native)

    def _casting(
        self, dtype: DType, function: Function, cast: Function, number: Function | None = None
    ) -> Function:
        """Wrap a function so that array operands of a dtype are cast first, and Python numbers."""
        is_array, native = self.backend.owns, self.native_dtype(dtype)

        def one(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return [one(item) for item in x]
            if number is not None and isinstance(x, (int, float, complex)):
                return number(x)
            return cast(x) if is_array(x) and x.dtype == native else x

        def casting(*args: Any, **options: Any) -> Any:
            return function(*map(one, args), **options)

        return casting

    def _operand(self, dtype: DType) -> Function:
        """Return a function that converts a Python scalar to an operand of a dtype."""
        if self.backend.takes_scalars:
            return lambda value: value
        make, native = self.serve("asarray")[0], self.native_dtype(dtype)
        return lambda value: make(value, dtype=native, device=self.device)

    # The library's own functions for direct calls, or None; see :mod:`portarray.backends.base`.

    def plain(self, name: str, dtype: DType) -> Function | None:
        """Return the row of ``PLAIN``: arrays alone, called by position."""
        return self._short("PLAIN", name, dtype) or self._short("ROWS", name, dtype)

    def with_scalar(self, name: str, dtype: DType) -> Function | None:
        """Return the row of ``WITH_SCALAR``: an array and a Python scalar that the dtype holds."""
        found = self._short("WITH_SCALAR", name, dtype)
        if found is None and self.backend.takes_scalars:
            found = self._short("ROWS", name, dtype)
        return found

    def inplace(self, name: str, dtype: DType) -> Function | None:
        """Return the row of ``INPLACE``: ``x1 op= x2`` in x1's memory."""
        return self._short("INPLACE", name, dtype)

    def _short(self, table: str, name: str, dtype: DType) -> Function | None:
        rule = accepted(name)
        if rule is not None and kind_of(dtype) not in rule.kinds:  # converted first
            return None
        found = row(self.backend, table, name, dtype)
        if found is None or table == "INPLACE":
            return found
        guarded: Function = self._guarded(name, found)
        return guarded

    # --- promotion of native operands -------------------------------------------------------------

    def promoting(self, name: str) -> Function:
        """Return a function of native arrays and Python scalars that aligns them first."""
        found = self._promoting(name)
        check = _CHECKS.get(name)
        return found if check is None else check(self, name, found)

    def _promoting(self, name: str) -> Function:
        rule, operands = accepted(name), OPERANDS.get(name)
        if rule is None and operands is None and not self._has_rows(name):
            return self.serve(name)[0]  # type: ignore[no-any-return]
        known: dict[Any, Function] = {}
        setting = self.backend.configuration
        changes = setting() is not None  # dtypes depend on settings
        if operands == slice(0, 2) and not changes:

            def of_two(x1: Any, x2: Any, /, **options: Any) -> Any:
                key = getattr(x1, "dtype", x1.__class__), getattr(x2, "dtype", x2.__class__)
                try:
                    try:
                        function = known[key]
                    except KeyError:
                        function = known[key] = self._aligning(name, operands, x1, x2)
                    return function(x1, x2, **options) if options else function(x1, x2)
                except Exception as error:
                    self._refuse_others(error, name, x1, x2)
                    raise

            return of_two

        if operands is not None:

            def of_several(*args: Any, **options: Any) -> Any:
                key = tuple([getattr(x, "dtype", x.__class__) for x in args])
                if changes:
                    key = (*key, setting())
                try:
                    try:
                        function = known[key]
                    except KeyError:
                        function = known[key] = self._aligning(name, operands, *args)
                    return function(*args, **options)
                except Exception as error:
                    self._refuse_others(error, name, *args)
                    raise

            return self._joining(name, of_several) if name in _JOINS else of_several

        def of_one(x: Any, /, *args: Any, **options: Any) -> Any:
            try:
                key = (x.dtype, setting()) if changes else x.dtype
                try:
                    function = known[key]
                except KeyError:
                    function = known[key] = self.serve(name, self.numpy_dtype(x.dtype))[0]
                return function(x, *args, **options)
            except Exception as error:
                self._refuse_others(error, name, x)
                raise

        return of_one

    def _refuse_others(self, error: Exception, name: str, *operands: Any) -> None:
        """Say what to pass, once a call has failed, in the place of what is no array here."""
        for x in operands:
            if not self.backend.owns(x) and (
                hasattr(x, "dtype") or not isinstance(x, (bool, int, float, complex, type(None)))
            ):
                kind = type(x)
                raise TypeError(
                    f"{name} takes {self.backend.info.title} arrays here, not "
                    f"{kind.__module__}.{kind.__qualname__}; make one of it with xp.asarray(x), "
                    f"where xp is this namespace"
                ) from error
        if not any(map(self.backend.owns, operands)):
            raise TypeError(
                f"{name} needs at least one array, got "
                f"{', '.join(type(x).__name__ for x in operands)}; "
                f"make one with xp.asarray(x), where xp is this namespace"
            ) from error

    def _has_rows(self, name: str) -> bool:
        return _in_chapters(self.backend.chapters, name, "ROWS") is not None

    def common(self, *operands: Any) -> DType:
        """Return the dtype that native arrays and Python scalars promote to."""
        dtypes = [self.numpy_dtype(x.dtype) for x in operands if hasattr(x, "dtype")]
        if not dtypes:
            kinds = ", ".join(type(x).__name__ for x in operands)
            raise TypeError(f"at least one operand must be an array, got {kinds}")
        dtype = promotion.promote(*dtypes)
        for x in operands:
            if not hasattr(x, "dtype"):
                dtype = promotion.scalar_dtype(x, dtype, self.default)
        return dtype

    def _aligning(self, name: str, where: slice, *args: Any) -> Function:
        """Return a function that converts operands of these dtypes first."""
        operands = args[where]
        dtype = self.common(*operands)
        function = self.serve(name, dtype)[0]
        if name in _JOINS:
            function = partial(_of_list, function)
        native = self.native_dtype(dtype)
        converters: list[Function | None] = [None for _ in args]
        for place in range(*where.indices(len(args))):
            x = args[place]
            if not hasattr(x, "dtype"):
                converters[place] = self._scalar_converter(name, dtype)
            elif x.dtype != native:
                converters[place] = self.cast(self.numpy_dtype(x.dtype), dtype)
        if not any(converters):
            return function  # type: ignore[no-any-return]

        def aligned(*values: Any, **options: Any) -> Any:
            pairs = zip(converters, values, strict=True)
            return function(*[x if as_ is None else as_(x) for as_, x in pairs], **options)

        return aligned

    def _scalar_converter(self, name: str, dtype: DType) -> Function | None:
        """Return a function that converts a Python scalar to an operand; None if none is needed."""
        if not self.backend.takes_scalars:
            operand = self._operand(dtype)
            return lambda x: operand(promotion.checked(x, dtype))
        # Out-of-range integers are compared by value.
        if kind_of(dtype) not in "iu" or name in promotion.COMPARISONS:
            return None
        return lambda x: promotion.checked(x, dtype)

    def _joining(self, name: str, aligned: Function) -> Function:
        """Return a function of one list of arrays, made of one that takes them one by one."""

        def joining(arrays: Any, /, **options: Any) -> Any:
            arrays = list(arrays)
            if not arrays:  # the library says what it makes of none
                return self.serve(name, np.dtype(bool))[0](arrays, **options)
            return aligned(*arrays, **options)

        return joining


_JOINS = ("concat", "stack")


def _whole_arange(functions: NativeFunctions, name: str, arange: Function) -> Function:
    def checked(start: Any, /, stop: Any = None, step: Any = 1, **options: Any) -> Any:
        if stop is None:
            start, stop = 0, start
        native = options.get("dtype")
        if native is not None and step != 0:
            dtype = functions.numpy_dtype(native)
            if kind_of(dtype) in "iu":
                start, stop, step = rules.whole_steps(start, stop, step, dtype)
        return arange(start, stop, step, **options)

    return checked


def _accumulating(functions: NativeFunctions, name: str, function: Function) -> Function:
    def checked(x: Any, /, *args: Any, dtype: Any = None, **options: Any) -> Any:
        if dtype is None:
            return function(x, *args, **options)
        rules.check_accumulated(name, functions.numpy_dtype(x.dtype), functions.numpy_dtype(dtype))
        return function(x, *args, dtype=dtype, **options)

    return checked


def _transforming(functions: NativeFunctions, name: str, function: Function) -> Function:
    several = name.endswith("n")

    def checked(x: Any, /, **options: Any) -> Any:
        if functions.backend.owns(x):
            shape = tuple(x.shape)
            if several:
                rules.check_all_transformed(name, shape, options.get("s"), options.get("axes"))
            else:
                rules.check_transformed(name, shape, options.get("n"), options.get("axis", -1))
        return function(x, **options)

    return checked


_TRANSFORMS = frozenset(
    (
        *("fft.fft", "fft.fftn", "fft.hfft", "fft.ifft", "fft.ifftn"),
        *("fft.ihfft", "fft.irfft", "fft.irfftn", "fft.rfft", "fft.rfftn"),
    )
)

_CHECKS: dict[str, Callable[[NativeFunctions, str, Function], Function]] = {
    "arange": _whole_arange,
    **dict.fromkeys(("sum", "prod", "cumulative_sum", "cumulative_prod"), _accumulating),
    **dict.fromkeys(_TRANSFORMS, _transforming),
}
"""Rules for native namespaces; portarray's own functions ask for them before the call."""


def _of_list(function: Function, /, *arrays: Any, **options: Any) -> Any:
    return function(list(arrays), **options)


_KIND_NAMES: dict[Kind, str] = {
    "b": "boolean",
    "i": "signed integer",
    "u": "unsigned integer",
    "f": "real floating-point",
    "c": "complex floating-point",
}


def _refusal(name: str, rule: Accepts, dtype: DType) -> str:
    kinds = [title for kind, title in _KIND_NAMES.items() if rule.takes(kind)]
    hint = (
        "; for boolean arrays use logical_xor, logical_and or logical_not"
        if kind_of(dtype) == "b" and name in ("subtract", "negative")
        else "; convert with pa.astype first"
    )
    return f"{name} takes {', '.join(kinds)} arrays, not {dtype}{hint}"


def _host_function(name: str) -> Function:
    """Return NumPy's function of a name, imported lazily."""
    found: Function = attrgetter(name)(_host_functions().namespace)
    return found


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
        if full in EXTENSIONS:
            value: Any = NativeNamespace(self._functions, f"{name}.")
        elif full in CONSTANTS:
            value = CONSTANTS[full]
        else:
            native = next((n for d, n in self._functions.dtypes.items() if d.name == full), None)
            value = self._functions.promoting(full) if native is None else native
        # Cached in the instance.
        self.__dict__[name] = value
        return value

    def __repr__(self) -> str:
        part = f".{self._prefix[:-1]}" if self._prefix else ""
        title = self._functions.backend.info.title
        return f"<namespace{part} of {title} arrays on {self.device}>"

"""The suite finds faults that were planted in NumPy, and finds none where none was planted.

Each fault is one that a real library could have: most answers stay right. The same cases with
the same inputs pass on NumPy as it is, so these tests fail if the suite finds too little and if
it finds too much.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import array_api_compat.numpy as xp
import numpy as np
import pytest
from portarray_conformance import Result, Target, all_cases, run

EXAMPLES = 50  # what the command draws by default
Function = Callable[..., Any]

# Cases that NumPy itself fails, and so say nothing about a planted fault.
NUMPY_FAILS = {
    # Complex numbers with an infinite or nan part: NumPy's answer has the wrong part nan.
    ("expm1", "complex special"),
    ("sign", "complex special"),
    # Fewer elements than the correction: NumPy divides by zero, the standard says nan.
    ("std", "special"),
    ("var", "special"),
    # NumPy accepts vectors of two elements.
    ("linalg.cross", "errors"),
}


def namespace(base: ModuleType, name: str, wrong: object) -> ModuleType:
    """Copy a namespace with one of its functions replaced, also in an extension of it."""
    copy = ModuleType(base.__name__)
    vars(copy).update(vars(base))
    extension, _, last = name.rpartition(".")
    if extension:
        wrong = namespace(getattr(base, extension), last, wrong)
    setattr(copy, extension or last, wrong)
    return copy


def results(module: ModuleType, function: str) -> list[Result]:
    cases = [c for c in all_cases([function]) if (c.function, c.aspect) not in NUMPY_FAILS]
    assert cases, f"nothing is left to check {function} with"
    target = Target(label=module.__name__, xp=module, library="numpy")
    return run(target, cases, examples=EXAMPLES, quick=True)


def check(function: str, sound: ModuleType, faulty: ModuleType) -> None:
    for result in results(sound, function):
        assert result.status in ("passed", "not run"), f"{result.message}\n{result.example}"
    failures = [result for result in results(faulty, function) if result.status == "failed"]
    assert failures, f"no case of {function} found the fault"
    assert all(result.message for result in failures)


FAULTS: dict[str, tuple[str, Function]] = {}


def fault(name: str, function: str) -> Callable[[Function], Function]:
    """Plant a fault with a name in a function of the standard."""

    def plant(wrong: Function) -> Function:
        FAULTS[name] = (function, wrong)
        return wrong

    return plant


# Promotion and dtypes


@fault("a sum keeps the small dtype of its input", "sum")
def _(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return xp.sum(x, axis=axis, dtype=dtype or x.dtype, keepdims=keepdims)


@fault("the first operand decides the dtype", "multiply")
def _(x1: Any, x2: Any, /) -> Any:
    out = xp.multiply(x1, x2)
    return out.astype(x1.dtype) if isinstance(x1, np.ndarray) else out


@fault("unsigned and signed integers meet one size too small", "result_type")
def _(*items: Any) -> Any:
    out = xp.result_type(*items)
    dtypes = {getattr(item, "dtype", item) for item in items}
    return np.dtype(np.int8) if dtypes == {np.dtype("u1"), np.dtype("i1")} else out


@fault("bool counts as numeric", "isdtype")
def _(dtype: Any, kind: Any) -> bool:
    return xp.isdtype(dtype, kind) or (kind == "numeric" and dtype == np.bool_)


@fault("a copy that was asked for is not made", "astype")
def _(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    return xp.astype(x, dtype, copy=False)


# Arguments that are dropped


@fault("var drops its correction", "var")
def _(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return xp.var(x, axis=axis, keepdims=keepdims)


@fault("std turns its correction into a whole number", "std")
def _(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    return xp.std(x, axis=axis, correction=int(correction), keepdims=keepdims)


@fault("cumulative_sum drops include_initial", "cumulative_sum")
def _(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
    return xp.cumulative_sum(x, axis=axis, dtype=dtype)


@fault("isin drops invert", "isin")
def _(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    return xp.isin(x1, x2)


@fault("diff drops n", "diff")
def _(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Any:
    return xp.diff(x, axis=axis, n=min(n, 1), prepend=prepend, append=append)


@fault("triu drops k", "triu")
def _(x: Any, /, *, k: int = 0) -> Any:
    return xp.triu(x)


@fault("linspace drops endpoint", "linspace")
def _(start: Any, stop: Any, /, num: int, *, endpoint: bool = True, **options: Any) -> Any:
    return xp.linspace(start, stop, num, **options)


@fault("meshgrid drops indexing", "meshgrid")
def _(*arrays: Any, indexing: str = "xy") -> Any:
    return xp.meshgrid(*arrays)


@fault("an inverse transform drops its norm", "fft.ifft")
def _(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    return xp.fft.ifft(x, n=n, axis=axis)


@fault("svd drops full_matrices", "linalg.svd")
def _(x: Any, /, *, full_matrices: bool = True) -> Any:
    return xp.linalg.svd(x, full_matrices=False)


@fault("every norm is the two-norm", "linalg.vector_norm")
def _(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    return xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims)


# Axes and order


@fault("permute_dims takes the inverse permutation", "permute_dims")
def _(x: Any, /, axes: tuple[int, ...]) -> Any:
    return xp.permute_dims(x, tuple(np.argsort(axes).tolist()))


@fault("take counts a negative axis from the front", "take")
def _(x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    return xp.take(x, indices, axis=-1 - axis if axis is not None and axis < 0 else axis)


@fault("stack appends where it should insert", "stack")
def _(arrays: Any, /, *, axis: int = 0) -> Any:
    return xp.stack(arrays, axis=axis - 1 if axis < 0 and arrays[0].ndim else axis)


@fault("cross works on the last axis whatever is said", "linalg.cross")
def _(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    last = xp.linalg.cross(xp.moveaxis(x1, axis, -1), xp.moveaxis(x2, axis, -1))
    return last if x1.ndim == x2.ndim else xp.moveaxis(last, -1, axis)


@fault("a sort in descending order is not stable", "argsort")
def _(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    out = xp.argsort(x, axis=axis, stable=stable)
    return xp.flip(out, axis=axis) if descending else out


@fault("an unstable sort names one of equal values again", "argsort")
def _(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    out = xp.argsort(x, axis=axis, descending=descending, stable=stable)
    if stable or x.ndim != 1:
        return out
    return np.array([next(j for j in out if x[j] == x[i]) for i in out], dtype=out.dtype)


@fault("nonzero gives its first axis for the second", "nonzero")
def _(x: Any, /) -> Any:
    out = xp.nonzero(x)
    return out if len(out) < 2 else (out[0], *out[:-1])


# Inputs that are changed


@fault("sort works in place", "sort")
def _(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    out = xp.sort(x, axis=axis, descending=descending, stable=stable)
    x[...] = out
    return out.copy()


@fault("negative works in place", "negative")
def _(x: Any, /) -> Any:
    out = xp.negative(x)
    x[...] = out
    return out


@fault("abs makes zeros of its input positive", "abs")
def _(x: Any, /) -> Any:
    out = xp.abs(x)
    np.copyto(x, np.zeros((), x.dtype), where=x == 0)
    return out


@fault("add writes into its first operand", "add")
def _(x1: Any, x2: Any, /) -> Any:
    out = xp.add(x1, x2)
    if isinstance(x1, np.ndarray) and (x1.shape, x1.dtype) == (out.shape, out.dtype):
        x1[...] = out
    return out


@fault("subtract writes into its second operand", "subtract")
def _(x1: Any, x2: Any, /) -> Any:
    out = xp.subtract(x1, x2)
    if isinstance(x2, np.ndarray) and (x2.shape, x2.dtype) == (out.shape, out.dtype):
        x2[...] = out
    return out


@fault("searchsorted is one off on equal values", "searchsorted")
def _(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    return xp.searchsorted(x1, x2, side="right", sorter=sorter)


@fault("argmax takes the last of equal values", "argmax")
def _(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None or x.ndim == 0:
        flat = xp.reshape(x, (-1,))
        out = flat.size - 1 - xp.argmax(xp.flip(flat))
        return xp.reshape(xp.asarray(out), (1,) * x.ndim if keepdims else ())
    return x.shape[axis] - 1 - xp.argmax(xp.flip(x, axis=axis), axis=axis, keepdims=keepdims)


# Special values


@fault("maximum ignores nan", "maximum")
def _(x1: Any, x2: Any, /) -> Any:
    return np.fmax(x1, x2)


@fault("min ignores nan", "min")
def _(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return np.fmin.reduce(x, axis=axis, keepdims=keepdims)


@fault("unique_values takes all nans for one", "unique_values")
def _(x: Any, /) -> Any:
    return np.unique(x)


@fault("negative loses the sign of zero", "negative")
def _(x: Any, /) -> Any:
    return np.zeros((), x.dtype) - x


@fault("hypot overflows on the way", "hypot")
def _(x1: Any, x2: Any, /) -> Any:
    return xp.sqrt(x1 * x1 + x2 * x2)


@fault("logaddexp overflows on the way", "logaddexp")
def _(x1: Any, x2: Any, /) -> Any:
    return xp.log(xp.exp(x1) + xp.exp(x2))


@fault("a complex nan is seen in the real part only", "isnan")
def _(x: Any, /) -> Any:
    return xp.isnan(x.real)


# Values


@fault("expm1 is exp minus 1", "expm1")
def _(x: Any, /) -> Any:
    return xp.exp(x) - np.ones((), x.dtype)


@fault("halves are rounded up", "round")
def _(x: Any, /) -> Any:
    return xp.floor(x + 0.5) if x.dtype.kind == "f" else xp.round(x)


@fault("floor_divide goes toward zero", "floor_divide")
def _(x1: Any, x2: Any, /) -> Any:
    out = xp.floor_divide(x1, x2)
    return xp.where(out < 0, -xp.floor_divide(-x1, x2), out) if out.dtype.kind == "i" else out


@fault("a remainder has the sign of the dividend", "remainder")
def _(x1: Any, x2: Any, /) -> Any:
    return np.fmod(x1, x2)


@fault("a right shift fills with zeros", "bitwise_right_shift")
def _(x1: Any, x2: Any, /) -> Any:
    if x1.dtype.kind != "i":
        return xp.bitwise_right_shift(x1, x2)
    bare = x1.view(f"u{x1.dtype.itemsize}")
    return (
        xp.bitwise_right_shift(bare, x2.astype(bare.dtype))
        .view(x1.dtype)
        .astype(xp.result_type(x1, x2))
    )


@fault("clip forgets the lower bound where there is an upper one", "clip")
def _(x: Any, /, min: Any = None, max: Any = None) -> Any:
    return xp.clip(x, None if max is not None else min, max)


@fault("vecdot does not conjugate", "vecdot")
def _(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return xp.sum(xp.moveaxis(x1 * x2, axis, -1), axis=-1, dtype=xp.result_type(x1, x2))


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    function, wrong = FAULTS[name]
    check(function, xp, namespace(xp, function, wrong))


# Faults of the array itself: a class of NumPy's arrays with one method replaced


def arrays_of(methods: dict[str, Function]) -> ModuleType:
    """Return NumPy's namespace with arrays of a class that has these methods."""
    kind = type("Shaped", (np.ndarray,), {"__getitem__": getitem} | methods)

    def asarray(x: Any, /, **options: Any) -> Any:
        return xp.asarray(x, **options).view(kind)

    return namespace(xp, "asarray", asarray)


def getitem(self: Any, key: Any) -> Any:
    """Return arrays always; NumPy's class returns a scalar for one item."""
    out = np.ndarray.__getitem__(self, key)
    return out if isinstance(out, np.ndarray) else np.asarray(out).view(type(self))


def iadd_copies(self: Any, other: Any) -> Any:
    """Return the sum in a new array, which other names of the old one do not see."""
    return self + other


def imul_at_right(self: Any, other: Any) -> Any:
    """Return a promoted result, which an in-place operator must not do."""
    return np.multiply(self, other)


def setitem_drops_steps(self: Any, key: Any, value: Any) -> None:
    """Assign to the wrong items where a slice goes backward."""
    keys = key if isinstance(key, tuple) else (key,)
    turned = tuple(
        slice(k.stop, k.start, -k.step) if isinstance(k, slice) and (k.step or 1) < 0 else k
        for k in keys
    )
    np.ndarray.__setitem__(self, turned, value)


def getitem_of_a_mask_is_sorted(self: Any, key: Any) -> Any:
    """Return the elements that a mask selects in another order."""
    out = getitem(self, key)
    masked = isinstance(key, np.ndarray) and key.dtype == np.bool_
    return out[::-1] if masked and out.ndim else out


def lt_is_le(self: Any, other: Any) -> Any:
    """Count equal values as less."""
    return np.less_equal(self, other)


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        ("__iadd__", iadd_copies),
        ("__imul__", imul_at_right),
        ("__setitem__", setitem_drops_steps),
        ("__getitem__", getitem_of_a_mask_is_sorted),
        ("__lt__", lt_is_le),
    ],
)
def test_a_fault_of_the_array_is_found(method: str, wrong: Function) -> None:
    check(f"array.{method}", arrays_of({}), arrays_of({method: wrong}))


def test_there_are_enough_faults() -> None:
    assert len(FAULTS) >= 36
    assert len(set(FAULTS.values())) == len(FAULTS)

"""``pa.verify``: what a function computes on a device, beside float64 on NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from portarray._array.array import Array
from portarray._transforms import trees
from portarray._transforms.standard import pa
from portarray.errors import VerificationError

__all__ = ["check_close", "check_finite", "verify"]

Function = Callable[..., Any]
Values = np.ndarray[Any, Any]

ROUNDINGS = 64
"""Units of rounding that each call may add, relative to the largest number of a result."""

_SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5)


def verify(
    function: Function,
    /,
    *inputs: Any,
    devices: Any = None,
    property: str | Function = "close",
    examples: int = 50,
    seed: int = 0,
) -> None:
    """Look for arguments for which a function is wrong.

    Parameters
    ----------
    function : callable
        Takes arrays and returns an array or a tree of arrays.
    *inputs : Array
        Arguments; others are drawn with their shapes and dtypes, and they are tried first.
    devices : device, or sequence of them, optional
        Where it is called; by default where the arguments are.
    property : {"close", "finite"} or callable, default: "close"
        What must hold. ``"close"``: results are those of float64 on NumPy up to rounding.
        ``"finite"``: they have no infinities and no NaN. A function takes the arguments and the
        result and returns a truth value.
    examples : int, default: 50
        How many arguments are drawn: numbers of all sizes up to the hundreds, and integers, zeros
        and equal ones among them.
    seed : int, default: 0
        What they are drawn from.

    Raises
    ------
    VerificationError
        If the property does not hold; it has the simplest arguments that were found.
    TypeError, ValueError
        If there are no arguments, or the property is none.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.verify(pa.sin, pa.ones(3), devices="numpy")
    >>> pa.verify(pa.log, pa.ones(3), property="finite")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    VerificationError: log on numpy:cpu:0: the result is not finite: -inf
      argument 0: Array([0., 1., 1.], dtype=float64, device='numpy:cpu:0')
    """
    if not inputs or not all(type(x) is Array for x in inputs):
        raise TypeError("verify takes arrays as arguments, whose shapes and dtypes others have")
    if property not in ("close", "finite") and not callable(property):
        raise ValueError(f"property={property!r}; use 'close', 'finite' or a function")
    several = devices if isinstance(devices, (list, tuple)) else [devices]
    for one in several:
        device = inputs[0].device if one is None else pa.device(one)
        given = [np.asarray(pa.to_device(x, "numpy")) for x in inputs]
        rng = np.random.default_rng(seed)
        for values in [given, *(_drawn(given, rng) for _ in range(examples))]:
            if _wrong(function, values, device, property):
                simple = _simplified(function, values, device, property)
                reason = _wrong(function, simple, device, property)
                arrays = tuple([pa.asarray(x, device=device) for x in simple])
                raise VerificationError(_name(function), str(device), reason, arrays)


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _drawn(given: Sequence[Values], rng: np.random.Generator) -> list[Values]:
    out = []
    for x in given:
        if x.dtype == bool:
            values = rng.integers(0, 2, x.shape).astype(bool)
        elif x.dtype.kind in "iu":
            low = 0 if x.dtype.kind == "u" else -9
            values = rng.integers(low, 10, x.shape).astype(x.dtype)
        else:
            size = rng.choice([1e-3, 0.1, 1, 1, 10, 100])
            values = rng.normal(size=x.shape) * size
            if x.dtype.kind == "c":
                values = values + 1j * rng.normal(size=x.shape) * size
            if rng.random() < 0.3:
                values = np.round(values)
            values = np.asarray(values).astype(x.dtype)
        out.append(values)
    return out


def _wrong(
    function: Function, values: Sequence[Values], device: Any, wanted: str | Function
) -> str:
    """Return what is wrong with the results for some arguments, empty if nothing is."""
    arrays = [pa.asarray(x, device=device, copy=True) for x in values]
    output = function(*arrays)
    if wanted == "finite":
        return _not_finite(output)
    if wanted == "close":
        return _difference(function, tuple(arrays), {}, output)
    assert callable(wanted)
    return "" if bool(wanted(*arrays, output)) else "the property does not hold"


def _simplified(
    function: Function, values: Sequence[Values], device: Any, wanted: str | Function
) -> list[Values]:
    """Return the simplest arguments like some for which a function is wrong."""
    found = [x.copy() for x in values]
    for n, x in enumerate(found):
        for place in [(...,), *np.ndindex(*x.shape)][:200]:
            for simple in _SIMPLE:
                before = x[place].copy() if x[place].shape else x[place]
                if x.dtype.kind in "iub" and simple != int(simple):
                    continue
                if x.dtype.kind == "u" and simple < 0:
                    continue
                found[n] = x.copy()
                found[n][place] = simple
                if np.array_equal(found[n][place], before):
                    found[n] = x
                    break
                if _wrong(function, found, device, wanted):
                    x = found[n]
                    break
                found[n] = x
    return found


def _leaves(output: Any) -> Iterator[tuple[str, Array]]:
    return ((path, x) for path, x in trees.arrays(output) if type(x) is Array)


def _not_finite(output: Any) -> str:
    for path, x in _leaves(output):
        if x._table.kind in "fc" and not bool(pa.all(pa.isfinite(x))):
            values = np.asarray(pa.to_device(x, "numpy")).reshape(-1)
            first = values[~np.isfinite(values)][0]
            return f"the result{path} is not finite: {first}"
    return ""


def _difference(function: Function, args: Any, named: Any, output: Any, calls: int = 1) -> str:
    """Return by how much results differ from those of float64 on NumPy, empty if by little."""

    def wide(x: Any) -> Any:
        if type(x) is not Array:
            return x
        there = pa.to_device(x, "numpy")
        kind = x._table.kind
        if kind in "fc":
            return pa.astype(there, pa.float64 if kind == "f" else pa.complex128)
        return pa.asarray(there, copy=True)

    with np.errstate(all="ignore"):
        reference = function(*trees.mapped(wide, tuple(args)), **trees.mapped(wide, named))
    pairs = zip(_leaves(output), _leaves(reference), strict=True)
    for (path, x), (_, y) in pairs:
        got = np.asarray(pa.to_device(x, "numpy"))
        want = np.asarray(pa.to_device(y, "numpy"))
        if got.shape != want.shape:
            return f"the result{path} has shape {got.shape}, in float64 on NumPy {want.shape}"
        if x._table.kind not in "fc":
            if not np.array_equal(got, want):
                return f"the result{path} differs from that of float64 on NumPy"
            continue
        info = pa.finfo(x.dtype)
        both = np.isfinite(want) & (np.abs(want) < float(info.max) / 4)
        if not np.array_equal(np.isnan(got), np.isnan(want)):
            return f"the result{path} is NaN in other places than in float64 on NumPy"
        scale = float(np.max(np.abs(want[both]), initial=0))
        most = float(info.eps) * ROUNDINGS * max(calls, 1) * scale + float(info.smallest_normal)
        apart = np.abs(got[both].astype(want.dtype) - want[both])
        if not (apart <= most).all():
            return (
                f"the result{path} differs from that of float64 on NumPy by up to "
                f"{float(np.max(apart)):.3g}, where rounding explains {most:.3g}"
            )
    return ""


def check_close(
    name: str, function: Function, args: Any, named: Any, output: Any, calls: int
) -> None:
    """Raise where results are not those of float64 on NumPy."""
    why = _difference(function, args, named, output, calls)
    if why:
        device = next((x.device for _, x in _leaves(output)), "no device")
        raise VerificationError(name, str(device), why)


def check_finite(name: str, output: Any) -> None:
    """Raise where results are not finite."""
    why = _not_finite(output)
    if why:
        device = next((x.device for _, x in _leaves(output)), "no device")
        raise VerificationError(name, str(device), why)

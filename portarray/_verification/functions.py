"""``pa.verify``: compare a function on a device with float64 on NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from portarray._array.array import Array
from portarray._namespace import pa
from portarray._trees import array_trees
from portarray.errors import VerificationError

__all__ = ["check_close", "check_finite", "verify"]

Function = Callable[..., Any]
Values = np.ndarray[Any, Any]

ROUNDINGS = 64
"""Rounding error that each call may add, in ``eps`` of the largest value of a result."""

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
    """Search for arguments for which a function is wrong.

    Parameters
    ----------
    function : callable
        Takes arrays and returns an array or a tree of arrays.
    *inputs : Array
        Arguments to try first; more are drawn with the same shapes and dtypes.
    devices : device, or sequence of them, optional
        Where the function runs; by default the device of the arguments.
    property : {"close", "finite"} or callable, default: "close"
        What must hold. ``"close"``: results equal those of float64 on NumPy up to rounding.
        ``"finite"``: results contain no infinities and no NaN. A callable takes the arguments and
        the result and returns a truth value.
    examples : int, default: 50
        The number of drawn arguments: values of magnitudes up to hundreds, including integers,
        zeros and equal values.
    seed : int, default: 0
        Seed of the random generator.

    Raises
    ------
    VerificationError
        If the property does not hold; it contains the simplest failing arguments found.
    TypeError, ValueError
        If there are no arguments, or `property` is invalid.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.verify(pa.sin, pa.ones(3), devices="numpy")
    >>> pa.verify(pa.log, pa.ones(3), property="finite")
    Traceback (most recent call last):
    portarray.errors.VerificationError: log on numpy:cpu:0: the result is not finite: -inf
      argument 0: Array([0., 0., 0.], dtype=float64, device='numpy:cpu:0')
    """
    if not inputs or not all(type(x) is Array for x in inputs):
        raise TypeError("verify: takes at least one argument, and only arrays")
    if property not in ("close", "finite") and not callable(property):
        raise ValueError(f"verify: property={property!r} is not 'close', 'finite' or a function")
    requests = devices if isinstance(devices, (list, tuple)) else [devices]
    for requested in requests:
        device = inputs[0].device if requested is None else pa.device(requested)
        first_values = [np.asarray(pa.to_device(x, "numpy")) for x in inputs]
        rng = np.random.default_rng(seed)
        for values in [first_values, *(_drawn(first_values, rng) for _ in range(examples))]:
            if _wrong(function, values, device, property):
                simple = _simplified(function, values, device, property)
                reason = _wrong(function, simple, device, property)
                arrays = tuple([pa.asarray(x, device=device) for x in simple])
                raise VerificationError(_name(function), str(device), reason, arrays)


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _drawn(examples: Sequence[Values], rng: np.random.Generator) -> list[Values]:
    out = []
    for x in examples:
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
    function: Function, values: Sequence[Values], device: Any, requirement: str | Function
) -> str:
    """Return why the results for some arguments are wrong, "" if they are right."""
    arrays = [pa.asarray(x, device=device, copy=True) for x in values]
    with np.errstate(all="ignore"):  # wrong results are reported below
        output = function(*arrays)
    if requirement == "finite":
        return _not_finite(output)
    if requirement == "close":
        return _difference(function, tuple(arrays), {}, output)
    assert callable(requirement)
    return "" if bool(requirement(*arrays, output)) else "the property does not hold"


def _simplified(
    function: Function, values: Sequence[Values], device: Any, requirement: str | Function
) -> list[Values]:
    """Return arguments with simple values for which a function is still wrong."""
    simplest = [x.copy() for x in values]
    for n, x in enumerate(simplest):
        for index in [(...,), *np.ndindex(*x.shape)][:200]:
            for simple in _SIMPLE:
                previous = x[index].copy() if x[index].shape else x[index]
                if x.dtype.kind in "iub" and simple != int(simple):
                    continue
                if x.dtype.kind == "u" and simple < 0:
                    continue
                simplest[n] = x.copy()
                simplest[n][index] = simple
                if np.array_equal(simplest[n][index], previous):
                    simplest[n] = x
                    break
                if _wrong(function, simplest, device, requirement):
                    x = simplest[n]
                    break
                simplest[n] = x
    return simplest


def _leaves(output: Any) -> Iterator[tuple[str, Array]]:
    return ((path, x) for path, x in array_trees.arrays(output) if type(x) is Array)


def _not_finite(output: Any) -> str:
    for path, x in _leaves(output):
        if x._dispatch.kind in "fc" and not bool(pa.all(pa.isfinite(x))):
            values = np.asarray(pa.to_device(x, "numpy")).reshape(-1)
            first = values[~np.isfinite(values)][0]
            return f"the result{path} is not finite: {first}"
    return ""


def _difference(function: Function, args: Any, named: Any, output: Any, calls: int = 1) -> str:
    """Return how results differ from those of float64 on NumPy, "" if only by rounding."""

    def wide(x: Any) -> Any:
        if type(x) is not Array:
            return x
        there = pa.to_device(x, "numpy")
        kind = x._dispatch.kind
        if kind in "fc":
            return pa.astype(there, pa.float64 if kind == "f" else pa.complex128)
        return pa.asarray(there, copy=True)

    with np.errstate(all="ignore"):
        reference = function(
            *array_trees.mapped(wide, tuple(args)), **array_trees.mapped(wide, named)
        )
    pairs = zip(_leaves(output), _leaves(reference), strict=True)
    for (path, x), (_, y) in pairs:
        got = np.asarray(pa.to_device(x, "numpy"))
        want = np.asarray(pa.to_device(y, "numpy"))
        if got.shape != want.shape:
            return f"the result{path} has shape {got.shape}, but {want.shape} in float64 on NumPy"
        if x._dispatch.kind not in "fc":
            if not np.array_equal(got, want):
                return f"the result{path} differs from that of float64 on NumPy"
            continue
        info = pa.finfo(x.dtype)
        both = np.isfinite(want) & (np.abs(want) < float(info.max) / 4)
        if not np.array_equal(np.isnan(got), np.isnan(want)):
            return f"the result{path} is NaN at other indices than in float64 on NumPy"
        scale = float(np.max(np.abs(want[both]), initial=0))
        most = float(info.eps) * ROUNDINGS * max(calls, 1) * scale + float(info.smallest_normal)
        apart = np.abs(got[both].astype(want.dtype) - want[both])
        if not (apart <= most).all():
            return (
                f"the result{path} differs from that of float64 on NumPy by up to "
                f"{float(np.max(apart)):.3g}, but rounding explains only {most:.3g}"
            )
    return ""


def check_close(
    name: str, function: Function, args: Any, named: Any, output: Any, calls: int
) -> None:
    """Raise unless results are those of float64 on NumPy."""
    _check(name, output, _difference(function, args, named, output, calls))


def check_finite(name: str, output: Any) -> None:
    """Raise unless results are finite."""
    _check(name, output, _not_finite(output))


def _check(name: str, output: Any, why: str) -> None:
    if why:
        device = next((x.device for _, x in _leaves(output)), "no device")
        raise VerificationError(name, str(device), why)

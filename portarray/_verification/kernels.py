"""Every kernel on a device against the float64 reference, with inputs that are drawn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from portarray._array import dispatch
from portarray._config import config
from portarray._devices import selection

if TYPE_CHECKING:
    from portarray._devices.device import Device
    from portarray._verification.comparison import VerificationRow
    from portarray.typing import DeviceLike

# The comparison is imported where it is used: programs that only compute do without.

Version = Literal["table", "generic"]


class Verification(NamedTuple):
    """What :func:`verify` found on a device.

    Parameters
    ----------
    device : Device
        Where.
    rows : tuple of VerificationRow
        One for each kernel and dtype.
    examples, seed : int
        What was asked for.
    tolerance : float
        How many times its bound an error may be.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import portarray as pa
    >>> found = pa.kernels.verify("numpy", "silu", examples=2)
    >>> [row.dtype for row in found.rows]
    ['float32', 'float64', 'float16']
    >>> found.cases, found.ok, found.failures
    (6, True, ())
    """

    device: Device
    rows: tuple[VerificationRow, ...]
    examples: int
    seed: int
    tolerance: float
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether all results were within bounds."""
        return not self.failures

    @property
    def failures(self) -> tuple[VerificationRow, ...]:
        """The rows with results out of bounds."""
        return tuple(row for row in self.rows if row.outside)

    @property
    def cases(self) -> int:
        """Number of compared calls."""
        return sum(row.cases for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as dictionaries, for JSON."""
        return {
            "device": str(self.device),
            "name": self.device.name,
            "ok": self.ok,
            "cases": self.cases,
            "examples": self.examples,
            "seed": self.seed,
            "tolerance": self.tolerance,
            "seconds": round(self.seconds, 3),
            "rows": [row.as_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        lines = [f"{'kernel':14} {'dtype':9} {'cases':>5} {'outside':>7} {'worst':>9}  versions"]
        for row in self.rows:
            versions = ", ".join(f"{name} ({n})" for name, n in row.versions.items())
            lines.append(
                f"{row.kernel:14} {row.dtype:9} {row.cases:5} {row.outside:7} {row.worst:9.3g}"
                f"  {versions}"
            )
        for row in self.failures:
            lines.append(f"{row.case}\n  {row.problem}")
        outside = sum(row.outside for row in self.rows)
        lines.append(
            f"{self.device}: {self.cases} cases, {outside} out of bounds "
            f"(errors are in units of their bounds)"
        )
        return "\n".join(lines)


def verify(
    device: DeviceLike | None = None,
    kernels: str | Iterable[str] | None = None,
    tolerance: float | None = None,
    *,
    examples: int = 10,
    seed: int = 0,
    version: Version = "table",
    progress: Callable[[int, int], object] | None = None,
) -> Verification:
    """Compare kernels on a device with a reference in float64.

    Shapes, values, options and views of the arguments are drawn from ``seed``, in every
    floating-point dtype that the device has of float32, float64, float16 and bfloat16. Shape, dtype
    and device of the results are checked; that they are finite where the reference is, and NaN or
    infinite where it is; that their error is within a bound, element by element
    (:mod:`portarray._verification.bounds`); and that the arguments are unchanged.

    Parameters
    ----------
    device : device-like, optional
        None takes the default device.
    kernels : str or iterable of str, optional
        Names of kernels; None takes all.
    tolerance : float, optional
        How many times its bound an error may be: 2 allows twice the error everywhere, 0.5 half of
        it. None is 1.
    examples : int
        Calls of each kernel in each dtype.
    seed : int
        What they are drawn from; another one draws others.
    version : {"table", "generic"}
        Whether to verify the versions that calls are served by, or the generic ones alone.
    progress : callable, optional
        Called with the number of rows that are done, and of all.

    Returns
    -------
    Verification
        One row for each kernel and dtype; ``.ok`` is whether all of them are within bounds.

    Raises
    ------
    ValueError
        If a name is unknown or a number is out of range.

    Notes
    -----
    With the default 10 examples this takes some 5 seconds on most devices. JAX compiles kernels
    anew for every shape, dtype and option, and takes half a minute.

    Examples
    --------
    >>> import portarray as pa
    >>> found = pa.kernels.verify("numpy", ["softmax", "rms_norm"], examples=3)
    >>> found.ok
    True
    >>> found.rows[0].kernel, found.rows[0].dtype, found.rows[0].cases
    ('softmax', 'float32', 3)
    """
    from portarray._verification.comparison import DTYPES, Case, verified

    where = selection.resolve(device)
    names = _names(kernels)
    factor = _factor(tolerance)
    _check(examples, seed, version)
    began = time.perf_counter()
    available = {dtype.name for dtype in dispatch.dtypes_of(where)}
    pairs = [(name, dtype) for name in names for dtype in DTYPES if dtype in available]
    rows = []
    with config(tuned_kernels=False) if version == "generic" else nullcontext():
        for done, (name, dtype) in enumerate(pairs):
            if progress is not None:
                progress(done, len(pairs))
            cases = (Case(name, dtype, seed, index) for index in range(examples))
            rows.append(verified(name, dtype, cases, where, factor, _call))
    if progress is not None:
        progress(len(pairs), len(pairs))
    return Verification(where, tuple(rows), examples, seed, factor, time.perf_counter() - began)


def _call(name: str, arrays: tuple[Any, ...], options: dict[str, Any]) -> tuple[str, Any]:
    """Return which version serves a call of a kernel, and the result."""
    from portarray.kernels.explain import KERNELS, explain  # their package imports this module

    name = name.removeprefix("packed_")
    explained = explain(name, *arrays, **options)
    result = KERNELS[name][1](*arrays, **options)
    return explained.function if explained.version == "tuned" else "generic", result


def _names(kernels: str | Iterable[str] | None) -> list[str]:
    """Return the requested kernels, in the table's order."""
    from portarray._verification.cases import DRAWN

    if kernels is None:
        return list(DRAWN)
    names = [kernels] if isinstance(kernels, str) else list(kernels)
    for name in names:
        if name not in DRAWN:
            raise ValueError(f"verify: unknown kernel {name!r}; known: {', '.join(DRAWN)}")
    if not names:
        raise ValueError("verify: kernels=[] is empty\nHint: pass None for all kernels")
    return [name for name in DRAWN if name in names]


def _factor(tolerance: float | None) -> float:
    if tolerance is None:
        return 1.0
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
        raise TypeError(f"verify: tolerance={tolerance!r} must be a number")
    if not 0 < tolerance < float("inf"):
        raise ValueError(f"verify: tolerance={tolerance} must be positive and finite")
    return float(tolerance)


def _check(examples: int, seed: int, version: str) -> None:
    for name, value, least in (("examples", examples, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"verify: {name}={value!r} must be an int")
        if value < least:
            raise ValueError(f"verify: {name}={value} must be at least {least}")
    if version not in ("table", "generic"):
        raise ValueError(f"verify: version={version!r} must be 'table' or 'generic'")

"""Every kernel on a device against the float64 reference, with inputs that are drawn."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from portarray._array import call, dispatch, dtypes
from portarray._array.array import Array
from portarray._config import config
from portarray._devices import selection

if TYPE_CHECKING:
    from portarray._devices.device import Device
    from portarray.kernels.bounds import Precision
    from portarray.kernels.cases import Drawn, Part

# The reference, the bounds and the drawing are imported where they are used: programs that only
# compute need none of them.

__all__ = ["DTYPES", "Case", "Verification", "VerificationRow", "verify"]

DTYPES = ("float32", "float64", "float16", "bfloat16")
"""Dtypes that kernels are verified in, where a device has them."""

Values = np.ndarray[Any, np.dtype[Any]]
Version = Literal["table", "generic"]


@dataclass(frozen=True, slots=True)
class Case:
    """One drawn call of a kernel.

    Parameters
    ----------
    kernel : str
        Its name.
    dtype : str
        Of its floating-point arrays.
    seed, number : int
        What the call is drawn from.
    """

    kernel: str
    dtype: str
    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.kernel} {self.dtype}, case {self.number} of seed {self.seed}: {self.draw()}"

    def draw(self) -> Drawn:
        """Return the arguments as they are drawn, in NumPy's memory."""
        from portarray.kernels.cases import draw

        return draw(self.kernel, self.dtype, self.seed, self.number)

    def arguments(self, device: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments on a device, with the views that they are.

        Parameters
        ----------
        device : device-like
            Where to.

        Returns
        -------
        tuple
            Positional arguments of the kernel.
        dict
            Keyword arguments.
        """
        return _placed(self.draw(), selection.device(device))


@dataclass(frozen=True, slots=True)
class VerificationRow:
    """One kernel in one dtype.

    Parameters
    ----------
    kernel, dtype : str
        What was verified.
    cases : int
        How many calls.
    outside : int
        How many of them were out of bounds, or wrong otherwise.
    worst : float
        The largest error, in units of its bound; infinity where a result cannot be compared.
    case : Case or None
        The call in which that was; the first that was wrong, where one was.
    problem : str
        What was wrong in it, or an empty string.
    versions : mapping
        How many calls each version served: a tuned one by its name, or ``"generic"``.
    """

    kernel: str
    dtype: str
    cases: int
    outside: int
    worst: float
    case: Case | None
    problem: str = ""
    versions: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return everything, fit for JSON; an infinite error is None."""
        return {
            "kernel": self.kernel,
            "dtype": self.dtype,
            "cases": self.cases,
            "outside": self.outside,
            "worst": self.worst if np.isfinite(self.worst) else None,
            "problem": self.problem,
            "versions": dict(self.versions),
            "seed": None if self.case is None else self.case.seed,
            "number": None if self.case is None else self.case.number,
            "input": None if self.case is None else str(self.case.draw()),
        }


@dataclass(frozen=True, slots=True)
class Verification:
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
    """

    device: Device
    rows: tuple[VerificationRow, ...]
    examples: int
    seed: int
    tolerance: float
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether nothing was out of bounds."""
        return not self.failures

    @property
    def failures(self) -> tuple[VerificationRow, ...]:
        """The rows in which something was wrong."""
        return tuple(row for row in self.rows if row.outside)

    @property
    def cases(self) -> int:
        """How many calls were compared."""
        return sum(row.cases for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dictionaries, lists, texts and numbers, fit for JSON."""
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
    device: object = None,
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
    (:mod:`portarray.kernels.bounds`); and that the arguments are unchanged.

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
        One row for each kernel and dtype; ``.ok`` tells whether all is within bounds.

    Raises
    ------
    ValueError
        If a name is no kernel's, or a number is out of its range.

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
            cases = (Case(name, dtype, seed, number) for number in range(examples))
            rows.append(_row(name, dtype, cases, where, factor))
    if progress is not None:
        progress(len(pairs), len(pairs))
    return Verification(where, tuple(rows), examples, seed, factor, time.perf_counter() - began)


def _names(kernels: str | Iterable[str] | None) -> list[str]:
    """Return the kernels that are asked for, each once, in the table's order."""
    from portarray.kernels.cases import DRAWN

    if kernels is None:
        return list(DRAWN)
    asked = [kernels] if isinstance(kernels, str) else list(kernels)
    for name in asked:
        if name not in DRAWN:
            raise ValueError(f"{name!r} is no kernel; there are {', '.join(DRAWN)}")
    if not asked:
        raise ValueError("kernels=[] names none; None means all")
    return [name for name in DRAWN if name in asked]


def _factor(tolerance: float | None) -> float:
    if tolerance is None:
        return 1.0
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
        raise TypeError(f"tolerance={tolerance!r} is no number; it multiplies the bounds")
    if not 0 < tolerance < float("inf"):
        raise ValueError(f"tolerance={tolerance} is out of range; it multiplies the bounds")
    return float(tolerance)


def _check(examples: int, seed: int, version: str) -> None:
    for name, value, least in (("examples", examples, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name}={value!r} is no int")
        if value < least:
            raise ValueError(f"{name}={value} is below {least}")
    if version not in ("table", "generic"):
        raise ValueError(f"version={version!r} is neither 'table' nor 'generic'")


def _row(
    kernel: str, dtype: str, cases: Iterator[Case], device: Device, factor: float
) -> VerificationRow:
    """Verify a kernel in a dtype."""
    worst, at, problem = -1.0, None, ""
    number = outside = 0
    versions: Counter[str] = Counter()
    for case in cases:
        number += 1
        try:
            served, found = _verified(case, device)
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises is the finding
            served, found = "", (float("inf"), f"{type(error).__name__}: {error}")
        versions.update([served] if served else [])
        error_found, said = found
        wrong = error_found > factor
        outside += wrong
        if error_found > worst:
            worst, at, problem = error_found, case, said if wrong else ""
    return VerificationRow(kernel, dtype, number, outside, worst, at, problem, dict(versions))


def _verified(case: Case, device: Device) -> tuple[str, tuple[float, str]]:
    """Return which version served a case, the error in units of its bound, and what it is."""
    from portarray import kernels
    from portarray.kernels import bounds, reference
    from portarray.kernels.bounds import Precision

    drawn = case.draw()
    arrays, options = _placed(drawn, device)
    explained = kernels.explain(case.kernel, *arrays, **options)
    result = getattr(kernels, case.kernel)(*arrays, **options)
    exact = [one if one is None or isinstance(one, int) else one.exact for one in drawn.arrays]
    plain = {name: _exact(value) for name, value in drawn.options.items() if name != "dtype"}
    wide = dtypes.canonical("float64") in dispatch.dtypes_of(device)
    precision = Precision(case.dtype, "float64" if wide else "float32")
    results = result if isinstance(result, tuple) else (result,)
    with np.errstate(all="ignore"):
        wanted = getattr(reference, case.kernel)(*exact, **plain)
        limit = getattr(bounds, _BOUNDS.get(case.kernel, case.kernel))
        found = (0.0, "")
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for one, want in zip(results, wanted, strict=True):
            bound = limit(precision, want, *exact, **plain)
            found = max(found, _judged(one, want, bound, precision, device))
    changed = _changed(drawn, (*arrays, *options.values()))
    if changed:
        found = float("inf"), f"the call changed its argument {changed}"
    return explained.function if explained.version == "tuned" else "generic", found


_BOUNDS = {"relu": "exact", "embedding": "exact"}


def _exact(value: Any) -> Any:
    """Return an option for the reference: arrays in float64, arrays of one integer as that."""
    if isinstance(value, tuple):
        return tuple(map(_exact, value))
    if not hasattr(value, "exact"):
        return value
    exact = value.exact
    return int(exact) if exact.ndim == 0 else exact


def _judged(
    result: object, want: Values, bound: Values, precision: Precision, device: Device
) -> tuple[float, str]:
    """Return a result's largest error in units of its bound, and what it is."""
    if not isinstance(result, Array):
        return float("inf"), f"the result is no Array but {type(result).__name__}"
    for name, seen, due in (
        ("dtype", result.dtype.name, precision.dtype),
        ("shape", result.shape, want.shape),
        ("device", str(result.device), str(device)),
    ):
        if seen != due:
            return float("inf"), f"the result's {name} is {seen}, due is {due}"
    if not result.size:
        return 0.0, ""
    got = call.host_view(result).astype(np.float64)
    bound = np.broadcast_to(bound, want.shape)
    with np.errstate(all="ignore"):
        error = np.abs(got - want) / bound
        error = np.where(got == want, 0.0, error)
        error = np.where(np.isnan(want), np.where(np.isnan(got), 0.0, np.inf), error)
        # What the dtype may not hold is infinite, or its largest number where that is near enough.
        over = np.isfinite(want) & (np.abs(want) + bound >= precision.largest)
        beyond = (np.sign(got) == np.sign(want)) & (np.abs(got) + bound >= precision.largest)
        error = np.where(over & beyond, 0.0, error)
        error = np.where(np.isnan(error) | (np.isfinite(want) & ~np.isfinite(bound)), np.inf, error)
    place = np.unravel_index(int(np.argmax(error)), error.shape)
    at = ", ".join(str(int(one)) for one in place)
    return float(error[place]), (
        f"result[{at}] is {got[place]!s}, due is {want[place]!s} with an error of at most "
        f"{bound[place]:.3g}"
    )


def _placed(drawn: Drawn, device: Device) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return drawn arguments on a device."""
    from portarray.kernels.cases import Part

    def place(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(place, value))
        return _on(value, device) if isinstance(value, Part) else value

    return tuple(map(place, drawn.arrays)), {k: place(v) for k, v in drawn.options.items()}


def _on(part: Part, device: Device) -> Array:
    """Return a drawn array on a device, lying in memory as it should."""
    from portarray._api.creation import asarray
    from portarray._api.manipulation import permute_dims

    values = part.values
    if values.dtype not in dispatch.dtypes_of(device):  # int64
        values = values.astype(dispatch.default_dtype(device, "i"))
    if part.view == "transposed":
        backwards = tuple(reversed(range(values.ndim)))
        stored = asarray(np.ascontiguousarray(values.transpose(backwards)), device=device)
        return permute_dims(stored, backwards)
    if part.view == "strided":
        return asarray(np.repeat(values, 2, axis=-1), device=device)[..., ::2]
    if part.view == "offset":
        padded = np.concatenate([values[..., :1], values], axis=-1)
        return asarray(padded, device=device)[..., 1:]
    return asarray(values, device=device, copy=True)


def _changed(drawn: Drawn, given: tuple[Any, ...]) -> str:
    """Return the name of an argument that no longer holds what was drawn, or an empty string."""
    flat = [x for one in given for x in (one if isinstance(one, tuple) else (one,))]
    arrays = [x for x in flat if isinstance(x, Array)]
    for part, x in zip(drawn.parts(), arrays, strict=True):
        values = part.exact
        if not np.array_equal(call.host_view(x).astype(values.dtype), values):
            return part.name
    return ""

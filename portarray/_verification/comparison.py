"""One kernel in one dtype against the float64 reference, with inputs that are drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._api.creation.values import asarray
from portarray._api.manipulation.order import permute_dims
from portarray._array import dispatch, dtypes, slow_path
from portarray._array.array import Array
from portarray._devices import selection
from portarray._saving import CLASSES
from portarray._verification import bounds, reference
from portarray._verification.bounds import Precision
from portarray._verification.cases import Drawn, PackedPart, Part, draw

if TYPE_CHECKING:
    from portarray._devices.device import Device
    from portarray.typing import DeviceLike

DTYPES = ("float32", "float64", "float16", "bfloat16")
"""Dtypes that kernels are verified in, where a device has them."""

Values = np.ndarray[Any, np.dtype[Any]]
Call = Callable[[str, tuple[Any, ...], dict[str, Any]], tuple[str, Any]]
"""Calls a kernel by its name; returns which version served the call, and the result."""


@dataclass(frozen=True, slots=True)
class Case:
    """One drawn call of a kernel.

    Parameters
    ----------
    kernel : str
        Its name.
    dtype : str
        Of its floating-point arrays.
    seed, index : int
        What the call is drawn from.
    """

    kernel: str
    dtype: str
    seed: int
    index: int

    def __str__(self) -> str:
        return f"{self.kernel} {self.dtype}, case {self.index} of seed {self.seed}: {self.draw()}"

    def draw(self) -> Drawn:
        """Return the arguments as they are drawn, in NumPy's memory."""
        return draw(self.kernel, self.dtype, self.seed, self.index)

    def arguments(self, device: DeviceLike) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments on a device, with the views that they are."""
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
            "number": None if self.case is None else self.case.index,
            "input": None if self.case is None else str(self.case.draw()),
        }


def verified(
    kernel: str, dtype: str, cases: Iterator[Case], device: Device, factor: float, call_kernel: Call
) -> VerificationRow:
    """Verify a kernel in a dtype."""
    worst, at, problem = -1.0, None, ""
    index = outside = 0
    versions: Counter[str] = Counter()
    for case in cases:
        index += 1
        try:
            served, worst_of_case = _compared(case, device, call_kernel)
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises is the finding
            served, worst_of_case = "", (float("inf"), f"{type(error).__name__}: {error}")
        versions.update([served] if served else [])
        error_found, said = worst_of_case
        wrong = error_found > factor
        outside += wrong
        if error_found > worst:
            worst, at, problem = error_found, case, said if wrong else ""
    return VerificationRow(kernel, dtype, index, outside, worst, at, problem, dict(versions))


def _compared(case: Case, device: Device, call_kernel: Call) -> tuple[str, tuple[float, str]]:
    """Return which version served a case, the error in units of its bound, and what it is."""
    drawn = case.draw()
    arrays, options = _placed(drawn, device)
    served, result = call_kernel(case.kernel, arrays, options)
    exact = [part if part is None or isinstance(part, int) else part.exact for part in drawn.arrays]
    plain = {name: _exact(value) for name, value in drawn.options.items() if name != "dtype"}
    wide = dtypes.canonical("float64") in dispatch.dtypes_of(device)
    precision = Precision(case.dtype, "float64" if wide else "float32")
    results = result if isinstance(result, tuple) else (result,)
    with np.errstate(all="ignore"):
        name = case.kernel.removeprefix("packed_")
        expected = getattr(reference, name)(*exact, **plain)
        limit = getattr(bounds, _BOUNDS.get(name, name))
        worst = (0.0, "")
        expected = expected if isinstance(expected, tuple) else (expected,)
        for part, want in zip(results, expected, strict=True):
            bound = limit(precision, want, *exact, **plain)
            worst = max(worst, _judged(part, want, bound, precision, device))
    changed = _changed(drawn, (*arrays, *options.values()))
    if changed:
        worst = float("inf"), f"the call modified its argument {changed}"
    return served, worst


_BOUNDS = {"relu": "exact", "embedding": "exact"}


def _exact(value: Any) -> Any:
    """Return an option for the reference: arrays in float64, 0-d arrays of integers as int."""
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
        return float("inf"), f"the result is {type(result).__name__}, not Array"
    for name, actual, due in (
        ("dtype", result.dtype.name, precision.dtype),
        ("shape", result.shape, want.shape),
        ("device", str(result.device), str(device)),
    ):
        if actual != due:
            return float("inf"), f"the result's {name} is {actual}, expected {due}"
    if not result.size:
        return 0.0, ""
    got = slow_path.host_view(result).astype(np.float64)
    bound = np.broadcast_to(bound, want.shape)
    with np.errstate(all="ignore"):
        error = np.abs(got - want) / bound
        error = np.where(got == want, 0.0, error)
        error = np.where(np.isnan(want), np.where(np.isnan(got), 0.0, np.inf), error)
        # What overflows the dtype may be infinite, or the largest number within the bound.
        over = np.isfinite(want) & (np.abs(want) + bound >= precision.largest)
        beyond = (np.sign(got) == np.sign(want)) & (np.abs(got) + bound >= precision.largest)
        error = np.where(over & beyond, 0.0, error)
        error = np.where(np.isnan(error) | (np.isfinite(want) & ~np.isfinite(bound)), np.inf, error)
    worst_index = np.unravel_index(int(np.argmax(error)), error.shape)
    at = ", ".join(str(int(coordinate)) for coordinate in worst_index)
    return float(error[worst_index]), (
        f"result[{at}] is {got[worst_index]!s}, expected {want[worst_index]!s} with an error of at "
        f"most {bound[worst_index]:.3g}"
    )


def _placed(drawn: Drawn, device: Device) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return drawn arguments on a device."""

    def put(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(put, value))
        if isinstance(value, PackedPart):
            parts = {"data": put(value.stored)}
            if value.scales is not None:
                parts["scales"] = put(value.scales)
            return CLASSES["packed"].load().unflattened(parts, value.layout)
        return _on(value, device) if isinstance(value, Part) else value

    return tuple(map(put, drawn.arrays)), {k: put(v) for k, v in drawn.options.items()}


def _on(part: Part, device: Device) -> Array:
    """Return a drawn array on a device, in its memory layout."""
    values = part.values
    if values.dtype not in dispatch.dtypes_of(device):  # int64, on devices without it
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


def _changed(drawn: Drawn, arguments: tuple[Any, ...]) -> str:
    """Return the name of an argument that no longer holds what was drawn, or an empty string."""
    arguments = tuple([
        x if getattr(x, "layout", None) is None else (x.data, x.scales) for x in arguments
    ])  # fmt: skip
    flat = [
        x
        for argument in arguments
        for x in (argument if isinstance(argument, tuple) else (argument,))
    ]
    arrays = [x for x in flat if isinstance(x, Array)]
    for part, x in zip(drawn.parts(), arrays, strict=True):
        if part.name == "out":
            continue
        values = part.exact
        if not np.array_equal(slow_path.host_view(x).astype(values.dtype), values):
            return part.name
    return ""

"""Compare a target's answers with the expected ones; readable messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from portarray_conformance import ulp
from portarray_conformance.target import NumpyArray, Target


def show(value: object) -> str:
    """Return one input as text: dtype, shape and values of an array, ``repr`` of the rest."""
    if isinstance(value, np.ndarray):
        values = np.array2string(value, threshold=24, separator=", ", max_line_width=200)
        return f"{value.dtype} {value.shape} {' '.join(values.split())}"
    return repr(value)


@dataclass(frozen=True)
class Call:
    """One call of the namespace under test as named in messages, and its inputs by name."""

    text: str
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def fail(self, problem: str, *, extra: str = "") -> AssertionError:
        """Return an error that describes the problem of this call."""
        lines = [f"{self.text}: {problem}"]
        if extra:
            lines.append(extra)
        lines += [f"  {name}: {show(value)}" for name, value in self.inputs.items()]
        return AssertionError("\n".join(lines))

    def at(self, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        """Return the elements of the inputs that broadcast to one index of the result."""
        elements = []
        for name, value in self.inputs.items():
            if isinstance(value, np.ndarray):
                try:
                    broadcast = np.broadcast_to(value, shape)
                except ValueError:
                    continue  # not an elementwise input
                elements.append(f"{name} = {broadcast[index]!r}")
        return f"  there: {', '.join(elements)}" if elements else ""


def check_dtype(target: Target, x: Any, dtype: str, call: Call) -> None:
    """Fail unless x has the dtype of that name."""
    name = target.dtype_name(x.dtype)
    if name != dtype:
        raise call.fail(f"got dtype {name}, wanted {dtype}")


def check_shape(x: Any, shape: tuple[int, ...], call: Call) -> None:
    """Fail unless x has that shape."""
    if tuple(x.shape) != tuple(shape):
        raise call.fail(f"got shape {tuple(x.shape)}, wanted {tuple(shape)}")


def fetch(target: Target, x: Any, dtype: str, shape: tuple[int, ...], call: Call) -> NumpyArray:
    """Check that x is an array of that dtype and shape, and return it as a NumPy array."""
    if not target.is_array(x):
        raise call.fail(f"got {type(x).__name__} {x!r:.100}, wanted an array")
    check_dtype(target, x, dtype, call)
    check_shape(x, shape, call)
    return target.get(x)


def same(
    target: Target,
    x: Any,
    want: npt.ArrayLike,
    call: Call,
    *,
    dtype: str | None = None,
    signed_zeros: bool = True,
) -> None:
    """Fail unless x equals a NumPy array exactly: dtype, shape, values, NaN and signs of zeros.

    The expected dtype is that of ``want`` or ``dtype``.
    """
    expected = np.asarray(want)
    name = dtype or expected.dtype.name
    got = fetch(target, x, name, expected.shape, call)
    expected = expected.astype(name)
    wrong = ~equal(got, expected, signed_zeros=signed_zeros)
    if np.any(wrong):
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise call.fail(
            f"{int(np.sum(wrong))} of {wrong.size} elements differ; first at {index}: "
            f"got {got[index]!r}, wanted {expected[index]!r}",
            extra=call.at(index, got.shape),
        )


def equal(got: NumpyArray, want: NumpyArray, *, signed_zeros: bool = True) -> NumpyArray:
    """Return where two arrays have the same values; NaN equals NaN, and zeros have signs."""
    if got.dtype.kind == "c":
        real = equal(got.real, want.real, signed_zeros=signed_zeros)
        imag = equal(got.imag, want.imag, signed_zeros=signed_zeros)
        return np.asarray(real & imag)
    same = np.asarray(got == want)
    if got.dtype.kind == "f":
        same = same | (np.isnan(got) & np.isnan(want))
        if signed_zeros:
            same = same & ((want != 0) | (np.signbit(got) == np.signbit(want)))
    return np.asarray(same)


def close(
    target: Target,
    x: Any,
    want: NumpyArray,
    call: Call,
    *,
    dtype: str,
    bound: float,
    signed_zeros: bool = True,
    where: NumpyArray | None = None,
) -> None:
    """Fail where a floating-point answer is off by more than the bound, in ULP of its dtype.

    ``want`` is the exact answer in a wider format; ``where`` restricts the comparison.
    """
    got = fetch(target, x, dtype, want.shape, call)
    errors = np.asarray(ulp.error(got, want, signed_zeros=signed_zeros))
    if where is not None:
        errors = np.where(where, errors, 0.0)
    if dtype in ("float64", "complex128"):
        bound = bound + ulp.REFERENCE_ERROR
    if errors.size and not np.max(errors) <= bound:
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(errors)), errors.shape))
        raise call.fail(
            f"{int(np.sum(errors > bound))} of {errors.size} elements are off by more than "
            f"{bound:g} ULP of {dtype}; worst at {index}: got {got[index]!r}, "
            f"wanted {want[index]!r}, {errors[index]:.4g} ULP",
            extra=call.at(index, got.shape),
        )


def within(
    target: Target,
    x: Any,
    want: NumpyArray,
    call: Call,
    *,
    dtype: str,
    size: float | NumpyArray,
    bound: float,
) -> None:
    """Fail where an answer is farther from the exact one than ``bound * eps * size``.

    The norm-wise measure for sums, products of matrices, decompositions and transforms, in which
    single elements may cancel. ``eps`` is that of the result's dtype; ``size`` is a norm of the
    inputs, as a number or for each element.
    """
    got = fetch(target, x, dtype, want.shape, call)
    limits = np.finfo(np.dtype(dtype))
    # Below the smallest normal number libraries may flush to zero, and digits are lost anyhow.
    tolerance = bound * float(limits.eps) * np.asarray(size) + float(limits.smallest_normal)
    with np.errstate(all="ignore"):
        distance = np.abs(got.astype(want.dtype) - want)
        both_nan = np.isnan(got) & np.isnan(want)
        wrong = ~(((distance <= tolerance) & np.isfinite(want)) | both_nan | (got == want))
    if np.any(wrong):
        index = tuple(int(i) for i in np.argwhere(wrong)[0])
        allowed = float(np.broadcast_to(tolerance, wrong.shape)[index])
        raise call.fail(
            f"{int(np.sum(wrong))} of {wrong.size} elements are off by more than {bound:g} "
            f"epsilon of {dtype} at scale; first at {index}: got {got[index]!r}, wanted "
            f"{want[index]!r}, difference {float(distance[index]):.4g}, allowed {allowed:.4g}",
            extra=call.at(index, got.shape),
        )


REFUSALS: tuple[type[Exception], ...] = (
    *(TypeError, ValueError, IndexError, OverflowError, BufferError),
    RuntimeError,  # PyTorch and other C++ code raise it for any mistake
)
"""Exceptions for refused arguments; the standard leaves the choice open."""

_FAULTS = (
    NotImplementedError,
    RecursionError,
)  # kinds of RuntimeError that do not refuse arguments


def raises(
    function: Any,
    call: Call,
    rule: str,
    /,
    *arguments: Any,
    also: tuple[type[Exception], ...] = (),
    **keywords: Any,
) -> None:
    """Fail unless calling the function raises an exception that refuses the arguments.

    Others show a fault of the library rather than of the call: AttributeError, AssertionError,
    MemoryError, SystemError. ``rule`` is the reason for the exception, for the message;
    ``also`` are further exceptions that refuse these arguments.
    """
    try:
        result = function(*arguments, **keywords)
    except Exception as error:
        if isinstance(error, (*REFUSALS, *also)) and not isinstance(error, _FAULTS):
            return
        names = ", ".join(kind.__name__ for kind in REFUSALS)
        said = f"{type(error).__name__}: {error!s:.100}"
        raise call.fail(f"got {said}; wanted one of {names}: {rule}") from error
    raise call.fail(f"got {result!r:.100}, wanted an exception: {rule}")

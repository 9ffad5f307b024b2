"""Compares one value with the reference's, by the spread of what noisy references give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from portarray_conformance.programs.allowed import Allowed
from portarray_conformance.programs.program import Snap

NumpyArray = npt.NDArray[Any]

# How many times the spread of the noisy results a target may be off, and ULP beside.
SPREAD = 4.0
ULPS = 2.0


def text_of(snap: Snap | None) -> str:
    """Return a value on one line, with the dtype and all digits."""
    if snap is None:
        return "nothing"
    if snap.kind == "array":
        value = snap.value
        if value.dtype.name == "bfloat16":
            value = value.astype(np.float32)
        shown = np.array2string(
            value, separator=", ", threshold=60, max_line_width=10**6,
            formatter={"float_kind": lambda x: repr(float(x)) if x.dtype == np.float64 else str(x)},
        )  # fmt: skip
        return f"{' '.join(shown.split())} {snap.what} {snap.value.shape}"
    if snap.kind == "tuple":
        return f"{snap.what}: ({', '.join(text_of(item) for item in snap.value)})"
    if snap.kind == "broken":
        return f"reading it raises {snap.what}: {snap.value}"
    return f"{snap.value!r} {snap.what}".strip()


@dataclass(slots=True)
class Comparison:
    """Compares one value with the reference's; keeps the texts of what differs."""

    allowed: Allowed
    loose: frozenset[str]
    got: str = ""
    wanted: str = ""

    def problem(self, got: Snap, want: Snap, noisy: Sequence[Snap], part: str = "") -> str:
        """Return the kind of difference, or an empty text."""
        if got.kind != want.kind:
            return f"{got.kind} for {want.kind}"
        if got.kind == "tuple":
            return self._tuple(got, want, noisy)
        if got.kind != "array":
            if got.what != want.what:
                return f"type {got.what} for {want.what}"
            if got.kind == "python" and isinstance(want.value, (float, complex)):
                one = Snap("array", "", np.asarray(got.value))
                other = Snap("array", "", np.asarray(want.value))
                few = [Snap("array", "", np.asarray(n.value)) for n in noisy if n.kind == "python"]
                return self._values(one, other, few)
            return "" if got.same(want) or self.allowed.value(got, want) else "value"
        if got.what != want.what:
            return "" if self.allowed.dtype(got, want) else f"dtype {got.what} for {want.what}"
        if got.value.shape != want.value.shape:
            unstable = any(n.kind != "array" or n.value.shape != want.value.shape for n in noisy)
            return "" if unstable or self.allowed.value(got, want) else "shape"
        if part in self.loose or (not part and "result" in self.loose):
            return ""
        return self._values(got, want, noisy)

    def _tuple(self, got: Snap, want: Snap, noisy: Sequence[Snap]) -> str:
        if got.what != want.what:
            return f"type {got.what} for {want.what}"
        if len(got.value) != len(want.value):
            return "number of items"
        names = got.what.partition("(")[2].rstrip(")").split(",")
        for place, (one, other) in enumerate(zip(got.value, want.value, strict=True)):
            few = [n.value[place] for n in noisy if n.kind == "tuple" and len(n.value) > place]
            name = names[place] if place < len(names) else str(place)
            problem = self.problem(one, other, few, name)
            if problem:
                self.got = self.got or f"{name}: {text_of(one)}"
                self.wanted = self.wanted or f"{name}: {text_of(other)}"
                return problem
        return ""

    def _values(self, got: Snap, want: Snap, noisy: Sequence[Snap]) -> str:
        few = [n.value for n in noisy if n.kind == "array" and n.value.shape == want.value.shape]
        wrong = wrong_elements(got.value, want.value, few, ULPS)
        wrong &= ~self.allowed.elements(got, want)
        for sample in (want, *noisy):
            if sample.unsure is not None and sample.unsure.shape == wrong.shape:
                wrong &= ~sample.unsure
        if not np.any(wrong):
            return ""
        return _kind_of_value(got.value, want.value, wrong)


def _kind_of_value(got: NumpyArray, want: NumpyArray, wrong: NumpyArray) -> str:
    one, other = got[wrong], want[wrong]
    if other.dtype.kind not in "fcV":
        return "value"
    one, other = _wide(one), _wide(other)
    if np.all((one == other) | (np.isnan(one) & np.isnan(other))):
        return "value: sign of zero"
    if np.any(np.isnan(one) != np.isnan(other)):
        return "value: NaN"
    if np.any(np.isinf(one) != np.isinf(other)):
        return "value: infinity"
    return "value"


def _wide(x: NumpyArray) -> NumpyArray:
    """Return floating-point values in a format in which differences do not overflow."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x.astype(np.float64)


def _unit(x: NumpyArray, dtype: np.dtype[Any]) -> NumpyArray:
    """Return one ULP of the dtype at each finite value."""
    if dtype.name == "bfloat16":
        nmant, minexp = 7, -126
    else:
        limits = np.finfo(dtype)
        nmant, minexp = int(limits.nmant), int(limits.minexp)
    _, exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 0))
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - 1, minexp) - nmant))


def wrong_elements(
    got: NumpyArray, want: NumpyArray, noisy: Sequence[NumpyArray], ulps: float
) -> NumpyArray:
    """Return where a value is farther from the reference than the noise allows."""
    if want.dtype.kind == "c":
        return _wrong_complex(got, want, noisy, ulps)
    if want.dtype.kind not in "fV":
        unstable = np.zeros(want.shape, dtype=bool)
        for one in noisy:
            unstable |= np.asarray(one != want)
        return np.asarray(got != want) & ~unstable
    with np.errstate(all="ignore"):
        one, exact = _wide(got), _wide(want)
        others = [_wide(n) for n in noisy]
        unstable = np.zeros(want.shape, dtype=bool)
        spread = np.zeros(want.shape)
        for other in others:
            finite = np.isfinite(other) & np.isfinite(exact)
            unstable |= ~finite & ~((other == exact) | (np.isnan(other) & np.isnan(exact)))
            zeros = (exact == 0) & (one == 0) & (other == 0)
            unstable |= zeros & (np.signbit(other) != np.signbit(exact))
            spread = np.maximum(spread, np.where(finite, np.abs(other - exact), 0))
        signs = (one == exact) & ((exact != 0) | (np.signbit(one) == np.signbit(exact)))
        equal = signs | (np.isnan(one) & np.isnan(exact))
        near = np.abs(one - exact) <= SPREAD * spread + ulps * _unit(exact, want.dtype)
        near &= (spread > 0) & np.isfinite(one) & np.isfinite(exact)
        return np.asarray(~(equal | near | unstable))


def _wrong_complex(
    got: NumpyArray, want: NumpyArray, noisy: Sequence[NumpyArray], ulps: float
) -> NumpyArray:
    """Judge complex values by their distance in the plane; others component by component."""
    parts_wrong = np.zeros(want.shape, dtype=bool)
    for part in ("real", "imag"):
        parts_wrong |= wrong_elements(
            getattr(got, part), getattr(want, part), [getattr(n, part) for n in noisy], ulps
        )
    with np.errstate(all="ignore"):
        exact, one = _wide(want), _wide(got)
        spread = np.zeros(want.shape)
        for n in noisy:
            distance = np.abs(_wide(n) - exact)
            spread = np.maximum(spread, np.where(np.isfinite(distance), distance, 0))
        unit = _unit(np.abs(exact), want.real.dtype)
        near = np.abs(one - exact) <= SPREAD * spread + ulps * unit
        near &= (spread > 0) & np.isfinite(one) & np.isfinite(exact)
    return np.asarray(parts_wrong & ~near)

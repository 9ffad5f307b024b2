"""Compare a value with the reference's, allowing for the spread of noisy references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray_conformance.programs.allowed_differences import Allowed
from portarray_conformance.programs.program import Snap
from portarray_conformance.target import NumpyArray

# Allowed error: this many times the spread of the noisy results, plus this many ULP.
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
        return f"{' '.join(shown.split())} {snap.type_name} {snap.value.shape}"
    if snap.kind == "tuple":
        return f"{snap.type_name}: ({', '.join(text_of(item) for item in snap.value)})"
    if snap.kind == "broken":
        return f"reading it raises {snap.type_name}: {snap.value}"
    return f"{snap.value!r} {snap.type_name}".strip()


@dataclass(slots=True)
class Comparison:
    """Compares one value with the reference's; keeps the texts of the parts that differ."""

    allowed: Allowed
    loose: frozenset[str]
    got: str = ""
    expected: str = ""

    def problem(self, got: Snap, want: Snap, noisy: Sequence[Snap], part: str = "") -> str:
        """Return the kind of difference, or an empty text."""
        if got.kind != want.kind:
            return f"{got.kind} for {want.kind}"
        if got.kind == "tuple":
            return self._tuple(got, want, noisy)
        if got.kind != "array":
            if got.type_name != want.type_name:
                return f"type {got.type_name} for {want.type_name}"
            if got.kind == "python" and isinstance(want.value, (float, complex)):
                single = Snap("array", "", np.asarray(got.value))
                expected = Snap("array", "", np.asarray(want.value))
                few = [Snap("array", "", np.asarray(n.value)) for n in noisy if n.kind == "python"]
                return self._values(single, expected, few)
            return "" if got.same(want) else "value"
        if got.type_name != want.type_name:
            return f"dtype {got.type_name} for {want.type_name}"
        if got.value.shape != want.value.shape:
            unstable = any(n.kind != "array" or n.value.shape != want.value.shape for n in noisy)
            return "" if unstable else "shape"
        if part in self.loose or (not part and "result" in self.loose):
            return ""
        return self._values(got, want, noisy)

    def _tuple(self, got: Snap, want: Snap, noisy: Sequence[Snap]) -> str:
        if got.type_name != want.type_name:
            return f"type {got.type_name} for {want.type_name}"
        if len(got.value) != len(want.value):
            return "number of items"
        names = got.type_name.partition("(")[2].rstrip(")").split(",")
        for index, (item, expected) in enumerate(zip(got.value, want.value, strict=True)):
            few = [n.value[index] for n in noisy if n.kind == "tuple" and len(n.value) > index]
            name = names[index] if index < len(names) else str(index)
            problem = self.problem(item, expected, few, name)
            if problem:
                self.got = self.got or f"{name}: {text_of(item)}"
                self.expected = self.expected or f"{name}: {text_of(expected)}"
                return problem
        return ""

    def _values(self, got: Snap, want: Snap, noisy: Sequence[Snap]) -> str:
        few = [n.value for n in noisy if n.kind == "array" and n.value.shape == want.value.shape]
        wrong = wrong_elements(got.value, want.value, few, ULPS)
        wrong &= ~self.allowed.elements(got, want)
        for sample in (want, *noisy):
            if sample.undefined is not None and sample.undefined.shape == wrong.shape:
                wrong &= ~sample.undefined
        if not np.any(wrong):
            return ""
        return _kind_of_value(got.value, want.value, wrong)


def _kind_of_value(got: NumpyArray, want: NumpyArray, wrong: NumpyArray) -> str:
    actual, expected = got[wrong], want[wrong]
    if expected.dtype.kind not in "fcV":
        return "value"
    actual, expected = _wide(actual), _wide(expected)
    if np.all((actual == expected) | (np.isnan(actual) & np.isnan(expected))):
        return "value: sign of zero"
    if np.any(np.isnan(actual) != np.isnan(expected)):
        return "value: NaN"
    if np.any(np.isinf(actual) != np.isinf(expected)):
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
        for actual in noisy:
            unstable |= np.asarray(actual != want)
        return np.asarray(got != want) & ~unstable
    with np.errstate(all="ignore"):
        actual, exact = _wide(got), _wide(want)
        samples = [_wide(n) for n in noisy]
        unstable = np.zeros(want.shape, dtype=bool)
        deviation = np.zeros(want.shape)
        for sample in samples:
            finite = np.isfinite(sample) & np.isfinite(exact)
            unstable |= ~finite & ~((sample == exact) | (np.isnan(sample) & np.isnan(exact)))
            zeros = (exact == 0) & (actual == 0) & (sample == 0)
            unstable |= zeros & (np.signbit(sample) != np.signbit(exact))
            deviation = np.maximum(deviation, np.where(finite, np.abs(sample - exact), 0))
        signs = (actual == exact) & ((exact != 0) | (np.signbit(actual) == np.signbit(exact)))
        equal = signs | (np.isnan(actual) & np.isnan(exact))
        near = np.abs(actual - exact) <= SPREAD * deviation + ulps * _unit(exact, want.dtype)
        near &= (deviation > 0) & np.isfinite(actual) & np.isfinite(exact)
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
        exact, actual = _wide(want), _wide(got)
        deviation = np.zeros(want.shape)
        for n in noisy:
            distance = np.abs(_wide(n) - exact)
            deviation = np.maximum(deviation, np.where(np.isfinite(distance), distance, 0))
        unit = _unit(np.abs(exact), want.real.dtype)
        near = np.abs(actual - exact) <= SPREAD * deviation + ulps * unit
        near &= (deviation > 0) & np.isfinite(actual) & np.isfinite(exact)
    return np.asarray(parts_wrong & ~near)

"""Random errors within the bounds that the conformance suite allows.

Two runs of a program with different noise differ where its result depends on rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray_conformance.reference.kinds import DIGITS, REAL, Data, DType


def unit(size: Any, dtype: DType) -> Data:
    """Return one ULP of a real dtype at each size."""
    digits, least = DIGITS[dtype]
    _, exponent = np.frexp(size)
    return np.asarray(
        np.ldexp(np.ones((), np.longdouble), np.maximum(exponent - 1, least) - digits)
    )


class Noise:
    """Draws errors."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        # Errors and signs of zeros are opposite with the next seed: few seeds see both.
        self._sign = 1.0 if seed % 2 else -1.0
        self.restart()

    def restart(self) -> None:
        """Draw the same errors again."""
        self._random = np.random.default_rng(self._seed // 2)

    def uniform(self, shape: tuple[int, ...]) -> Data:
        """Return numbers from -1 to 1; -1 or 1 of the first two seeds: errors of one ULP show."""
        drawn = self._sign * self._random.uniform(-1.0, 1.0, shape)
        return np.sign(drawn) if self._seed < 2 else drawn

    def perturb(self, x: Data, scale: Any) -> Data:
        """Return values with errors of up to a scale; zeros of a zero scale get either sign."""
        if x.dtype.kind == "c":
            moved = np.array(x)
            moved.real = self.perturb(np.asarray(x.real), scale)
            moved.imag = self.perturb(np.asarray(x.imag), scale)
            return moved
        scale = np.where(np.isfinite(scale), scale, 0)
        error = self.uniform(x.shape) * scale
        out = np.where(np.isfinite(x), x + error, x)
        return np.where(out == 0, np.copysign(out, self._sign), out).astype(x.dtype)

    def perturb_ulps(self, x: Data, dtype: DType, bound: Any, *, parts: bool = False) -> Data:
        """Return values with errors of up to a bound in ULP; zeros, infinities and NaN stay.

        With ``parts``, so do parts of complex numbers that are zero.
        """
        size = np.abs(x)
        part = REAL.get(dtype, dtype)
        with np.errstate(all="ignore"):
            scale = unit(np.where(np.isfinite(size), size, 1), part) * bound
            if x.dtype.kind != "c":
                error = self.uniform(x.shape) * scale
                return np.where(np.isfinite(x) & (x != 0), x + error, x).astype(x.dtype)
            out = np.array(x)
            for name in ("real", "imag"):
                value = getattr(x, name)
                part_scale = unit(np.where(np.isfinite(value), np.abs(value), 1), part) * bound
                error = self.uniform(x.shape) * np.where(np.isfinite(size), scale * 0.7, part_scale)
                moved = np.isfinite(value) & ((value if parts else x) != 0)
                setattr(out, name, np.where(moved, value + error, value))
            return out

    def draw_zero_signs(self, x: Data, where: Data) -> Data:
        """Return values with signs drawn for the zeros in some places."""
        if x.dtype.kind == "c":
            out = np.array(x)
            for name in ("real", "imag"):
                setattr(out, name, self.draw_zero_signs(np.asarray(getattr(x, name)), where))
            return out
        drawn = np.copysign(x, self._sign)
        return np.where(where & (x == 0), drawn, x).astype(x.dtype)

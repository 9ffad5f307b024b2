"""The kinds of dtype that each standard function accepts, and how other kinds are converted.

One table by category for every library. A function without a row accepts every dtype, unless the
module of its shared composition has a row in its own ``ACCEPTED``. ``OPERANDS`` lists the arguments
that are promoted together.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from portarray._dtypes.promotion import Kind

__all__ = ["ACCEPTED", "OPERANDS", "Accepts", "Conversion"]

Conversion = Literal["refused", "floating", "integer", "truth", "uint8", "uint8 and back"]
"""Conversion of an operand: refused, cast to the default dtype of a kind, compared with zero, cast
to uint8, or cast to uint8 and the result back."""


class Accepts(NamedTuple):
    """The kinds that a function takes.

    Parameters
    ----------
    kinds : str
        Kinds that are not converted; one letter each, see :data:`Kind`.
    converted : str
        Kinds that are converted first.
    to : Conversion
        How they are converted.
    instead : str
        Another function that serves the kinds in `converted`, instead of a conversion.
    """

    kinds: str
    converted: str = ""
    to: Conversion = "refused"
    instead: str = ""

    def accepts(self, kind: Kind) -> bool:
        """Return whether arrays of a kind are accepted, converted or not."""
        return kind in self.kinds or kind in self.converted


_FLOATING = Accepts("fc", "bui", "floating")
_REAL_FLOATING = Accepts("f", "bui", "floating")
_NUMERIC = Accepts("iufc")
_REAL = Accepts("iuf")
_SUMS = Accepts("iufc", "b", "integer")
_TOTALLY_ORDERED = Accepts("iuf", "b", "uint8")
_EXTREMES = Accepts("iuf", "b", "uint8 and back")
_ROUNDED = Accepts("iuf", "b", instead="positive")
_MAGNITUDE = Accepts("iufc", "b", instead="positive")
_PARTS = Accepts("iufc", "b", "uint8")
_BITWISE = Accepts("biu")
_LOGICAL = Accepts("b", "iufc", "truth")

ACCEPTED: dict[str, Accepts] = {
    # arithmetic
    "abs": _MAGNITUDE,
    "add": Accepts("iufc", "b", instead="logical_or"),
    "copysign": _REAL_FLOATING,
    "divide": _FLOATING,
    "floor_divide": _REAL,
    "multiply": Accepts("iufc", "b", instead="logical_and"),
    "negative": _NUMERIC,
    "nextafter": _REAL_FLOATING,
    "reciprocal": _FLOATING,
    "remainder": _REAL,
    "sign": _NUMERIC,
    "signbit": _REAL_FLOATING,
    "subtract": _NUMERIC,
    # comparison
    "clip": _EXTREMES,
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), _TOTALLY_ORDERED),
    **dict.fromkeys(("isfinite", "isinf", "isnan"), _PARTS),
    "maximum": Accepts("iuf", "b", instead="logical_or"),
    "minimum": Accepts("iuf", "b", instead="logical_and"),
    # exponential
    **dict.fromkeys(("exp", "expm1", "log", "log10", "log1p", "log2", "sqrt"), _FLOATING),
    "logaddexp": _REAL_FLOATING,
    "pow": _NUMERIC,
    "square": _MAGNITUDE,
    # trigonometric
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh"), _FLOATING),
    **dict.fromkeys(("cos", "cosh", "sin", "sinh", "tan", "tanh"), _FLOATING),
    **dict.fromkeys(("atan2", "hypot"), _REAL_FLOATING),
    # rounding
    **dict.fromkeys(("ceil", "floor", "trunc"), _ROUNDED),
    "round": _MAGNITUDE,
    # bitwise and logical
    **dict.fromkeys(("bitwise_and", "bitwise_invert", "bitwise_or", "bitwise_xor"), _BITWISE),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), Accepts("iu")),
    **dict.fromkeys(("logical_and", "logical_not", "logical_or", "logical_xor"), _LOGICAL),
    # complex
    "conj": _NUMERIC,
    **dict.fromkeys(("imag", "real"), _PARTS),
    # linear_algebra
    **dict.fromkeys(("matmul", "tensordot", "vecdot"), _NUMERIC),
    # searching and sorting
    **dict.fromkeys(("argmax", "argmin", "argsort", "searchsorted"), _TOTALLY_ORDERED),
    "sort": _EXTREMES,
    # statistical and utility
    **dict.fromkeys(("cumulative_prod", "cumulative_sum", "prod", "sum"), _SUMS),
    "diff": Accepts("biufc"),
    **dict.fromkeys(("max", "min"), _EXTREMES),
    "mean": _FLOATING,
    **dict.fromkeys(("std", "var"), _REAL_FLOATING),
    # linalg
    **dict.fromkeys(("linalg.cholesky", "linalg.det", "linalg.eig", "linalg.eigh"), _FLOATING),
    **dict.fromkeys(("linalg.eigvals", "linalg.eigvalsh", "linalg.inv"), _FLOATING),
    **dict.fromkeys(("linalg.matrix_norm", "linalg.matrix_rank", "linalg.pinv"), _FLOATING),
    **dict.fromkeys(("linalg.qr", "linalg.slogdet", "linalg.solve", "linalg.svd"), _FLOATING),
    **dict.fromkeys(("linalg.svdvals", "linalg.vector_norm"), _FLOATING),
    **dict.fromkeys(("linalg.cross", "linalg.matrix_power", "linalg.outer"), _SUMS),
    "linalg.trace": _SUMS,
    # fft
    **dict.fromkeys(("fft.fft", "fft.fftn", "fft.hfft", "fft.ifft", "fft.ifftn"), _FLOATING),
    **dict.fromkeys(("fft.irfft", "fft.irfftn"), _FLOATING),
    **dict.fromkeys(("fft.ihfft", "fft.rfft", "fft.rfftn"), _REAL_FLOATING),
}
"""Accepted kinds by function."""

_PAIR = slice(0, 2)
_ALL = slice(None)

OPERANDS: dict[str, slice] = {
    **dict.fromkeys(
        (
            *("add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or"),
            *("bitwise_right_shift", "bitwise_xor", "copysign", "divide", "equal", "floor_divide"),
            *("greater", "greater_equal", "hypot", "isin", "less", "less_equal", "logaddexp"),
            *("logical_and", "logical_or", "logical_xor", "matmul", "maximum", "minimum"),
            *("multiply", "nextafter", "not_equal", "pow", "remainder", "searchsorted", "subtract"),
            *("tensordot", "vecdot", "linalg.cross", "linalg.matmul", "linalg.outer"),
            *("linalg.solve", "linalg.tensordot", "linalg.vecdot"),
            *("special.beta", "special.betaln", "special.gammainc", "special.gammaincc"),
            *("special.kl_div", "special.polygamma", "special.rel_entr", "special.xlog1py"),
            *("special.xlogy", "special.zeta"),
        ),
        _PAIR,
    ),
    "special.betainc": _ALL,
    "where": slice(1, 3),
    **dict.fromkeys(("concat", "stack"), _ALL),  # of their one list argument
}
"""Positions of the arguments that are promoted together, by function."""

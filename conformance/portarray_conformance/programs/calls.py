"""Every function that programs call, with the drawers of its arguments.

A row is a list of words. A word without ``=`` is a positional argument, one with ``=`` a keyword;
``?`` at its end means that it is sometimes omitted. The word names a drawer of ``matrices.py``,
which receives the text after a colon: the kinds of dtype for ``x`` (the first array) and ``y``
(the second operand: an array that broadcasts, or a scalar). Kinds after a ``+`` are those that
portarray accepts beyond the standard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

UNARY_FLOAT = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log",
    "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh", "reciprocal",
)  # fmt: skip

CALLS: dict[str, str] = {
    **dict.fromkeys(UNARY_FLOAT, "x:fc+iub"),
    **dict.fromkeys(("abs", "negative", "positive", "sign", "square"), "x:iufc"),
    **dict.fromkeys(("ceil", "floor", "round", "trunc"), "x:iuf"),
    **dict.fromkeys(("isfinite", "isinf", "isnan"), "x:iufc+b"),
    **dict.fromkeys(("conj", "imag", "real"), "x:c+iuf"),
    "signbit": "x:f+iu",
    "bitwise_invert": "x:iub",
    "logical_not": "x:b+iufc",
    **dict.fromkeys(("add", "multiply", "subtract"), "x:iufc y:iufc"),
    **dict.fromkeys(("divide", "pow"), "x:fc+iu y:fc+iu"),
    **dict.fromkeys(("floor_divide", "remainder", "maximum", "minimum"), "x:iuf y:iuf"),
    **dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp", "nextafter"), "x:f+iu y:f+iu"),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), "x:iub y:iub"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), "x:iu shift:iu"),
    **dict.fromkeys(("equal", "not_equal"), "x:iufcb y:iufcb"),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), "x:iuf y:iuf"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), "x:b+iuf y:b+iuf"),
    "clip": "x:iuf bound? bound?",
    # creation
    "arange": "start stop? step? dtype=number_dtype?",
    "asarray": "anything dtype=dtype?",
    "empty": "shape dtype=dtype?",
    "empty_like": "x dtype=dtype?",
    "eye": "length length? k=offset? dtype=dtype?",
    "full": "shape scalar dtype=dtype?",
    "full_like": "x scalar dtype=dtype?",
    "linspace": "number number length dtype=float_dtype? endpoint=flag?",
    "meshgrid": "vector vector? vector? indexing=indexing?",
    **dict.fromkeys(("ones", "zeros"), "shape dtype=dtype?"),
    **dict.fromkeys(("ones_like", "zeros_like"), "x dtype=dtype?"),
    **dict.fromkeys(("tril", "triu"), "x:iufcb:2 k=offset?"),
    # data types
    "astype": "x dtype copy=flag?",
    "can_cast": "x_or_dtype dtype",
    "finfo": "float_dtype",
    "iinfo": "integer_dtype",
    "isdtype": "dtype kind",
    "result_type": "x_or_dtype x_or_dtype? x_or_dtype_or_scalar?",
    # indexing
    "take": "x:iufcb:1 indices axis=axis",
    "take_along_axis": "x:iufcb:1 along axis=axis?",
    # linear algebra
    "matmul": "x:iufc:1 product",
    "matrix_transpose": "x:iufcb:2",
    "tensordot": "x:iufc:1 contracted axes=contraction",
    "vecdot": "x:iufc:1 same axis=last_axis?",
    "linalg.cholesky": "definite upper=flag?",
    "linalg.cross": "threes threes_too axis=cross_axis?",
    "linalg.det": "square",
    "linalg.diagonal": "x:iufcb:2 offset=offset?",
    "linalg.eig": "square",
    "linalg.eigh": "definite",
    "linalg.eigvals": "square",
    "linalg.eigvalsh": "definite",
    "linalg.inv": "square",
    "linalg.matmul": "x:iufc:1 product",
    "linalg.matrix_norm": "x:fc:2 keepdims=flag? ord=matrix_ord?",
    "linalg.matrix_power": "square power",
    "linalg.matrix_rank": "x:f:2 rtol=rtol?",
    "linalg.matrix_transpose": "x:iufcb:2",
    "linalg.outer": "vector vector",
    "linalg.pinv": "tall rtol=rtol?",
    "linalg.qr": "tall mode=qr_mode?",
    "linalg.slogdet": "square",
    "linalg.solve": "square right_side",
    "linalg.svd": "tall full_matrices=flag?",
    "linalg.svdvals": "tall",
    "linalg.tensordot": "x:iufc:1 contracted axes=contraction",
    "linalg.trace": "x:iufc:2 offset=offset? dtype=sum_dtype?",
    "linalg.vecdot": "x:iufc:1 same axis=last_axis?",
    "linalg.vector_norm": "x:fc axis=axes? keepdims=flag? ord=vector_ord?",
    # Fourier transforms
    **dict.fromkeys(("fft.fft", "fft.ifft"), "x:c:1+f n=size? axis=axis? norm=norm?"),
    "fft.rfft": "x:f:1 n=size? axis=axis? norm=norm?",
    "fft.ihfft": "x:f:1 n=size? axis=axis? norm=norm?",
    **dict.fromkeys(("fft.irfft", "fft.hfft"), "x:c:1 n=size? axis=axis? norm=norm?"),
    **dict.fromkeys(("fft.fftn", "fft.ifftn"), "x:c:1+f axes=axes:tuple? norm=norm?"),
    "fft.rfftn": "x:f:1 axes=axes:tuple? norm=norm?",
    "fft.irfftn": "x:c:1 axes=axes:tuple? norm=norm?",
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), "size d=positive? dtype=float_dtype?"),
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), "x:cf:1+iu axes=axes?"),
    # manipulation
    "broadcast_arrays": "x same? same?",
    "broadcast_shapes": "shape other_shape? other_shape?",
    "broadcast_to": "x larger_shape",
    "concat": "group axis=axis_or_none?",
    "expand_dims": "x axis=new_axis",
    "flip": "x axis=axes?",
    "moveaxis": "x:iufcb:1 bare_axis bare_axis",
    "permute_dims": "x permutation",
    "repeat": "x repeats axis=axis?",
    "reshape": "x new_shape",
    "roll": "x:iufcb:1 rolls axis=roll_axis?",
    "squeeze": "x axis=unit_axes",
    "stack": "stackable axis=stack_axis?",
    "tile": "x repetitions",
    "unstack": "x:iufcb:1 axis=axis?",
    # searching, sets, sorting
    **dict.fromkeys(("argmax", "argmin"), "x:iuf axis=axis? keepdims=flag?"),
    "count_nonzero": "x axis=axes? keepdims=flag?",
    "nonzero": "x:iufcb:1",
    "searchsorted": "increasing same_dtype side=side?",
    "where": "condition same_kind y:iufcb",
    "isin": "x:iub y:iub invert=flag?",
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), "x"),
    "argsort": "x:iuf:1 axis=axis? descending=flag?",
    "sort": "x:iuf:1 axis=axis? descending=flag?",
    # statistics, utilities
    **dict.fromkeys(
        ("cumulative_prod", "cumulative_sum"),
        "x:iufc:1 axis=axis dtype=sum_dtype? include_initial=flag?",
    ),
    **dict.fromkeys(("max", "min"), "x:iuf axis=axes? keepdims=flag?"),
    "mean": "x:fc axis=axes? keepdims=flag?",
    **dict.fromkeys(("prod", "sum"), "x:iufc axis=axes? dtype=sum_dtype? keepdims=flag?"),
    **dict.fromkeys(("std", "var"), "x:f axis=axes? correction=correction? keepdims=flag?"),
    **dict.fromkeys(("all", "any"), "x axis=axes? keepdims=flag?"),
    "diff": "x:iuf:1 axis=axis? n=times? prepend=edge? append=edge?",
    "from_dlpack": "x",
}
"""Function name to its row: the standard's functions, each once."""

EXTRAS: dict[str, str] = {
    "logspace": "number number length",
    "x.sum": "x:iufc axis=axes? keepdims=flag?",
    "x.mean": "x:fc axis=axes? keepdims=flag?",
    **dict.fromkeys(("x.max", "x.min"), "x:iuf axis=axes? keepdims=flag?"),
    **dict.fromkeys(("x.any", "x.all"), "x axis=axes? keepdims=flag?"),
    "x.reshape": "x new_shape",
    "x.squeeze": "x",
    "x.astype": "x dtype copy=flag?",
    "x.conj": "x:c+iuf",
    "x.copy": "x",
    "x.item": "x",
    "x.tolist": "x",
}
"""Functions beyond the standard; ``x.sum`` is a method of the first argument."""

ARRAY_EXPRESSIONS: tuple[str, ...] = (
    "{x}.T", "{x}.mT", "{x}.shape", "{x}.ndim", "{x}.size", "{x}.dtype", "bool({x})", "int({x})",
    "float({x})", "complex({x})", "-{x}", "+{x}", "~{x}", "abs({x})", "{x}.__index__()",
)  # fmt: skip
"""Attributes, conversions and unary operators of any array."""
ARRAY_EXPRESSION_EXTRAS: tuple[str, ...] = (
    "len({x})",
    "{x}.real",
    "{x}.imag",
    "list({x})",
    "{x}.nbytes",
)

BINARY = (
    "+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=",
    ">", ">=",
)  # fmt: skip
INPLACE_OPERATORS = [
    "+=",
    "-=",
    "*=",
    "/=",
    "//=",
    "%=",
    "**=",
    "&=",
    "|=",
    "^=",
    "<<=",
    ">>=",
    "@=",
]


def names(extras: bool) -> Iterable[str]:
    """Return the names of the functions that programs call."""
    if extras:
        return [*CALLS, *EXTRAS]
    # The standard leaves open which casts between kinds there are.
    return [name for name in CALLS if name != "can_cast"]


def row(name: str) -> str:
    """Return the row of a function."""
    return CALLS[name] if name in CALLS else EXTRAS[name]


# Functions that programs often call are drawn more often.
WEIGHT: Mapping[str, int] = {
    "sum": 3, "reshape": 3, "where": 3, "matmul": 2, "concat": 2, "astype": 3, "asarray": 3,
    "permute_dims": 2, "take": 2, "take_along_axis": 2, "clip": 2, "broadcast_to": 2, "sort": 2,
}  # fmt: skip

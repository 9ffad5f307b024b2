"""What ``overhead.py --all`` measures: every name of the standard, and what users call besides.

Each call is a statement that is the same for portarray and for the library beside it. It sees

====================  ===========================================================================
``xp``                the namespace: portarray, or the library's own
``x``, ``y``, ``p``   float32 of shape ``(8,)``: ascending in (0, 1); mixed in (0, 1); all above 1
``i``, ``j``, ``b``   integers of the default dtype, indices of the same, bool; shape ``(8,)``
``z``                 complex64 of shape ``(8,)``
``m``, ``k``          float32 of shape ``(2, 4)``; indices into it of the same shape
``s``, ``r``          a symmetric, positive definite float32 matrix of shape ``(3, 3)``; ``(3,)``
``one``, ``nil``      float32 ones and zeros of shape ``(8,)``
``zero``, ``ident``   integer zeros of shape ``(8,)``; the float32 identity of shape ``(3, 3)``
``o``, ``n``          one float32 and one integer, of shape ``()``
``d``                 the device, as the namespace's functions take it
``np``, ``v``         NumPy; its array of the values of ``x``
``key``, ``rng``      a key of ``portarray.random``; a generator of ``numpy.random``
``three``             a function of one array that makes three calls
``gradient``          its gradient; the function itself, where the library has no gradients
``scale``             a user kernel that writes ``2 * x`` into its second array
====================  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["EXCLUDED", "GROUPS", "OTHER_ROWS", "OWN_SPELLING", "STANDARD_ROWS"]


def _repeat_for(names: str, *statements: str) -> dict[str, tuple[str, ...]]:
    """Return the same statements for several names, which stand where they have ``{}``."""
    return {name: tuple(text.format(name) for text in statements) for name in names.split()}


_ELEMENTWISE: dict[str, tuple[str, ...]] = {
    **_repeat_for(
        "abs acos asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log "
        "log10 log1p log2 negative positive reciprocal round sign signbit sin sinh sqrt square tan "
        "tanh trunc",
        "xp.{}(x)",
    ),
    **_repeat_for(
        "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal "
        "logaddexp maximum minimum multiply nextafter not_equal pow remainder subtract",
        "xp.{}(x, y)",
        "xp.{}(x, 2.0)",
    ),
    **_repeat_for(
        "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor",
        "xp.{}(i, j)",
        "xp.{}(i, 2)",
    ),
    **_repeat_for("logical_and logical_or logical_xor", "xp.{}(b, b)"),
    "logical_not": ("xp.logical_not(b)",),
    "bitwise_invert": ("xp.bitwise_invert(i)",),
    "acosh": ("xp.acosh(p)",),
    "conj": ("xp.conj(z)",),
    "imag": ("xp.imag(z)",),
    "real": ("xp.real(z)", "xp.real(x)"),
    "clip": ("xp.clip(x, 0.2, 0.8)", "xp.clip(x, min=0.2)"),
    "where": ("xp.where(b, x, y)", "xp.where(b, x, 0.0)"),
}

_REDUCING: dict[str, tuple[str, ...]] = {
    **_repeat_for(
        "argmax argmin max mean min prod std sum var",
        "xp.{}(x)",
        "xp.{}(m, axis=0)",
        "xp.{}(m, axis=-1, keepdims=True)",
    ),
    **_repeat_for("all any", "xp.{}(b)", "xp.{}(b, axis=0)", "xp.{}(b, axis=0, keepdims=True)"),
    "count_nonzero": ("xp.count_nonzero(b)", "xp.count_nonzero(b, axis=0)"),
    "cumulative_prod": ("xp.cumulative_prod(x)", "xp.cumulative_prod(m, axis=1)"),
    "cumulative_sum": ("xp.cumulative_sum(x)", "xp.cumulative_sum(x, include_initial=True)"),
    "diff": ("xp.diff(x)",),
}

_CREATION: dict[str, tuple[str, ...]] = {
    "arange": ("xp.arange(8)", "xp.arange(0, 8, 1, dtype=xp.float32)"),
    "asarray": (
        "xp.asarray(x)",
        "xp.asarray(2.0)",
        "xp.asarray([1.0, 2.0, 3.0])",
        "xp.asarray([1.0, 2.0], dtype=xp.float32)",
        "xp.asarray(x, copy=True)",
    ),
    "empty": ("xp.empty(8)",),
    "empty_like": ("xp.empty_like(x)",),
    "eye": ("xp.eye(3)",),
    "full": ("xp.full(8, 2.0)", "xp.full((2, 4), 2, dtype=xp.int32)"),
    "full_like": ("xp.full_like(x, 2.0)",),
    "linspace": ("xp.linspace(0.0, 1.0, 8)",),
    "meshgrid": ("xp.meshgrid(x, y)", "xp.meshgrid(x, y, indexing='ij')"),
    "ones": ("xp.ones(8)",),
    "ones_like": ("xp.ones_like(x)",),
    "tril": ("xp.tril(s)",),
    "triu": ("xp.triu(s, k=1)",),
    "zeros": (
        "xp.zeros(8)",
        "xp.zeros((2, 4), dtype=xp.float32)",
        "xp.zeros((2, 4), dtype=xp.float32, device=d)",
    ),
    "zeros_like": ("xp.zeros_like(x)", "xp.zeros_like(x, dtype=xp.int32)"),
    "from_dlpack": ("xp.from_dlpack(x)",),
}

_DTYPES: dict[str, tuple[str, ...]] = {
    "astype": (
        "xp.astype(x, xp.int32)",
        "xp.astype(x, xp.float32)",
        "xp.astype(x, xp.float32, copy=False)",
    ),
    "can_cast": ("xp.can_cast(xp.int32, xp.int64)", "xp.can_cast(x, xp.float32)"),
    "finfo": ("xp.finfo(xp.float32)", "xp.finfo(xp.float32).eps", "xp.finfo(x.dtype).max"),
    "iinfo": ("xp.iinfo(xp.int32)", "xp.iinfo(xp.int32).max"),
    "isdtype": (
        "xp.isdtype(x.dtype, 'real floating')",
        "xp.isdtype(x.dtype, ('integral', 'bool'))",
    ),
    "result_type": (
        "xp.result_type(x, y)",
        "xp.result_type(xp.int32, xp.int64)",
        "xp.result_type(x, 1.0)",
    ),
    "dtype.__eq__": ("x.dtype == xp.float32",),
}

_MANIPULATION: dict[str, tuple[str, ...]] = {
    "broadcast_arrays": ("xp.broadcast_arrays(x, y)", "xp.broadcast_arrays(r, s)"),
    "broadcast_shapes": ("xp.broadcast_shapes((2, 1), (4,))",),
    "broadcast_to": ("xp.broadcast_to(x, (2, 8))",),
    "concat": ("xp.concat([x, y])", "xp.concat((m, m), axis=1)"),
    "expand_dims": ("xp.expand_dims(x, axis=0)",),
    "flip": ("xp.flip(x)", "xp.flip(m, axis=0)"),
    "moveaxis": ("xp.moveaxis(m, 0, -1)",),
    "permute_dims": ("xp.permute_dims(m, (1, 0))",),
    "repeat": ("xp.repeat(x, 2)", "xp.repeat(m, 2, axis=1)"),
    "reshape": ("xp.reshape(x, (2, 4))", "xp.reshape(m, (-1,))"),
    "roll": ("xp.roll(x, 1)", "xp.roll(m, 1, axis=0)"),
    "squeeze": ("xp.squeeze(x[None], axis=0)",),
    "stack": ("xp.stack([x, y])", "xp.stack((x, y), axis=-1)"),
    "tile": ("xp.tile(x, (2,))",),
    "unstack": ("xp.unstack(m)", "xp.unstack(m, axis=1)"),
}

_SEARCHING: dict[str, tuple[str, ...]] = {
    "argsort": ("xp.argsort(y)", "xp.argsort(m, axis=0, descending=True)"),
    "isin": ("xp.isin(i, j)",),
    "nonzero": ("xp.nonzero(b)",),
    "searchsorted": ("xp.searchsorted(x, y)", "xp.searchsorted(x, y, side='right')"),
    "sort": ("xp.sort(y)", "xp.sort(y, descending=True)", "xp.sort(m, axis=0)"),
    "take": ("xp.take(x, j)", "xp.take(m, k[0, :], axis=1)"),
    "take_along_axis": ("xp.take_along_axis(m, k, axis=1)", "xp.take_along_axis(x, j, axis=0)"),
    "unique_all": ("xp.unique_all(i)",),
    "unique_counts": ("xp.unique_counts(i)",),
    "unique_inverse": ("xp.unique_inverse(i)",),
    "unique_values": ("xp.unique_values(i)",),
}

_LINEAR_ALGEBRA: dict[str, tuple[str, ...]] = {
    "matmul": ("xp.matmul(s, s)", "xp.matmul(s, r)"),
    "matrix_transpose": ("xp.matrix_transpose(m)",),
    "tensordot": ("xp.tensordot(s, s, axes=1)",),
    "vecdot": ("xp.vecdot(x, y)",),
    **_repeat_for(
        "linalg.cholesky linalg.det linalg.diagonal linalg.eig linalg.eigh linalg.eigvals "
        "linalg.eigvalsh linalg.inv linalg.matrix_norm linalg.matrix_rank linalg.matrix_transpose "
        "linalg.pinv linalg.qr linalg.slogdet linalg.svdvals linalg.trace",
        "xp.{}(s)",
    ),
    "linalg.cross": ("xp.linalg.cross(r, r)",),
    "linalg.matmul": ("xp.linalg.matmul(s, s)",),
    "linalg.matrix_power": ("xp.linalg.matrix_power(s, 2)",),
    "linalg.outer": ("xp.linalg.outer(r, r)",),
    "linalg.solve": ("xp.linalg.solve(s, s)", "xp.linalg.solve(s, r)"),
    "linalg.svd": ("xp.linalg.svd(s)", "xp.linalg.svd(s, full_matrices=False)"),
    "linalg.tensordot": ("xp.linalg.tensordot(s, s, axes=1)",),
    "linalg.vecdot": ("xp.linalg.vecdot(x, y)",),
    "linalg.vector_norm": ("xp.linalg.vector_norm(x)", "xp.linalg.vector_norm(m, axis=1)"),
}

_FFT: dict[str, tuple[str, ...]] = {
    **_repeat_for("fft.fft fft.fftn fft.hfft fft.ifft fft.ifftn fft.irfft fft.irfftn", "xp.{}(z)"),
    **_repeat_for("fft.fftshift fft.ifftshift fft.ihfft fft.rfft fft.rfftn", "xp.{}(x)"),
    "fft.fftfreq": ("xp.fft.fftfreq(8)",),
    "fft.rfftfreq": ("xp.fft.rfftfreq(8)",),
}

_ARITHMETIC = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
}
_BITS = {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

_OPERATORS: dict[str, tuple[str, ...]] = {
    **{
        f"array.__{name}__": (f"x {sign} y", f"x {sign} 2.0", f"x {sign} o")
        for name, sign in (_ARITHMETIC | _COMPARISONS).items()
    },
    **{f"array.__r{name}__": (f"2.0 {sign} x",) for name, sign in _ARITHMETIC.items()},
    # Each leaves x as it is, or small: in-place operators run over and over on one array.
    **{
        f"array.__i{name}__": (f"x {sign}= nil", f"x {sign}= 0.0")
        if name in ("add", "sub")
        else (f"x {sign}= one", f"x {sign}= 1.0")
        for name, sign in _ARITHMETIC.items()
    },
    **{f"array.__{name}__": (f"i {sign} j", f"i {sign} 1") for name, sign in _BITS.items()},
    **{f"array.__r{name}__": (f"1 {sign} j",) for name, sign in _BITS.items()},
    **{f"array.__i{name}__": (f"i {sign}= zero", f"i {sign}= 0") for name, sign in _BITS.items()},
    "array.__matmul__": ("s @ s", "s @ r"),
    # Python asks the left operand first, and an array always answers.
    "array.__rmatmul__": ("s.__rmatmul__(s)",),
    "array.__imatmul__": ("s @= ident",),
    "array.__abs__": ("abs(x)",),
    "array.__invert__": ("~i", "~b"),
    "array.__neg__": ("-x",),
    "array.__pos__": ("+x",),
}

_ARRAY: dict[str, tuple[str, ...]] = {
    **{f"array.{name}": (f"x.{name}",) for name in ("device", "dtype", "ndim", "shape", "size")},
    "array.T": ("m.T",),
    "array.mT": ("m.mT",),
    "array.__array_namespace__": ("x.__array_namespace__()",),
    "array.__bool__": ("bool(n)",),
    "array.__complex__": ("complex(o)",),
    "array.__float__": ("float(o)",),
    "array.__index__": ("n.__index__()",),
    "array.__int__": ("int(n)",),
    "array.__getitem__": (
        "x[0]",
        "x[-1]",
        "x[1:]",
        "x[::2]",
        "x[None]",
        "x[...]",
        "x[b]",
        "x[j]",
        "m[0]",
        "m[0, 1]",
        "m[..., 0]",
        "m[:, 1:]",
        "m[:, None, :]",
        "m[k[:, 0], k[:, 1]]",
    ),
    "array.__setitem__": (
        "x[0] = 1.0",
        "x[1:] = 0.5",
        "x[...] = y",
        "x[b] = 0.5",
        "x[j] = y",
        "m[..., 0] = 0.5",
        "m[0] = m[1]",
    ),
    "array.to_device": ("x.to_device(d)",),
    "array.__dlpack__": ("x.__dlpack__()",),
    "array.__dlpack_device__": ("x.__dlpack_device__()",),
}

_INSPECTION: dict[str, tuple[str, ...]] = {
    "__array_namespace_info__": ("xp.__array_namespace_info__()",),
    **{
        f"info.{name}": (f"xp.__array_namespace_info__().{name}()",)
        for name in ("capabilities", "default_device", "default_dtypes", "dtypes")
    },
}

STANDARD_ROWS: Mapping[str, tuple[str, ...]] = {
    **_ELEMENTWISE,
    **_REDUCING,
    **_CREATION,
    **_DTYPES,
    **_MANIPULATION,
    **_SEARCHING,
    **_LINEAR_ALGEBRA,
    **_FFT,
    **_OPERATORS,
    **_ARRAY,
    **_INSPECTION,
}
"""Name of the standard to the statements that measure it."""

_PAIRS = (
    "add atan2 equal floor_divide greater less maximum minimum multiply not_equal pow remainder "
    "subtract"
)

OTHER_ROWS: Mapping[str, tuple[str, ...]] = {
    "two dtypes": (
        *(f"xp.{name}(x, i)" for name in _PAIRS.split()),
        *("x + i", "i - x", "x * z", "x < i", "x + b", "i / x", "i + 0.5", "b + 1", "x * 1j"),
        *("x + np.float32(2)", "x * np.float64(2)", "i + np.int64(1)", "np.float64(2) * x"),
        *("xp.where(b, x, i)", "xp.concat([x, i])", "xp.stack([x, i])", "xp.sin(i)", "x += i"),
    ),
    "lists and numbers": (
        *("xp.asarray(2)", "xp.asarray([1, 2, 3])", "xp.asarray((1.0, 2.0))"),
        *("xp.asarray([True, False])", "xp.asarray([[1.0, 2.0], [3.0, 4.0]])"),
        *("xp.asarray([1, 2.5])", "xp.asarray(np.float64(2))", "xp.asarray(v)"),
    ),
    "indices": (
        *("x[n]", "x[np.int64(1)]", "x[[1, 2]]", "m[:, [0, 1]]", "m[[0, 1], 2]", "m[j[0] // 2]"),
        *("m[:, -1]", "m[1][2]", "x[np.int64(1)] = 2.0", "x[[1, 2]] = 0.5", "m[:, 1:3] = 0.5"),
    ),
    "random numbers": (
        *("xp.random.uniform(key, (4,))", "xp.random.normal(key, (4,))"),
        *("xp.random.integers(key, 0, 10, (4,))", "xp.random.split(key)"),
    ),
    "gradients": ("three(x)", "gradient(x)"),
    "user kernels": ("scale(x, y)",),
    "moves": ("xp.asarray(v, device=d)", "np.asarray(x)", "x.tolist()"),
}
"""What users call besides the standard's names, to the statements that measure it."""

GROUPS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "elementwise functions": _ELEMENTWISE,
    "reductions": _REDUCING,
    "creation": _CREATION,
    "dtypes": _DTYPES,
    "shapes": _MANIPULATION,
    "searching and sorting": _SEARCHING,
    "linear algebra": _LINEAR_ALGEBRA,
    "Fourier transforms": _FFT,
    "operators": _OPERATORS,
    "attributes and indices of arrays": _ARRAY,
    **{name: {name: statements} for name, statements in OTHER_ROWS.items()},
}
"""Kinds of calls, to the rows that measure them."""

_CONSTANTS = (
    "bool complex128 complex64 e float32 float64 inf int16 int32 int64 int8 nan newaxis pi "
    "uint16 uint32 uint64 uint8 __array_api_version__"
)

EXCLUDED: Mapping[str, str] = {
    "info.devices": "portarray looks for the devices of all libraries, a library for its own",
    **dict.fromkeys(_CONSTANTS.split(), "an attribute of the namespace: nothing is called"),
}
"""Names of the standard that are not measured, and why."""

_GENERATED = {
    "xp.random.uniform(key, (4,))": "rng.uniform(size=4)",
    "xp.random.normal(key, (4,))": "rng.normal(size=4)",
    "xp.random.integers(key, 0, 10, (4,))": "rng.integers(0, 10, 4)",
    "xp.random.split(key)": "rng.spawn(2)",
}

OWN_SPELLING: Mapping[str, Mapping[str, str]] = {
    "numpy": {**_GENERATED, "gradient(x)": "three(x)", "scale(x, y)": "xp.multiply(x, 2, out=y)"},
    "torch": {
        "xp.random.uniform(key, (4,))": "xp.rand(4)",
        "xp.random.normal(key, (4,))": "xp.randn(4)",
        "xp.random.integers(key, 0, 10, (4,))": "xp.randint(0, 10, (4,))",
        "scale(x, y)": "xp.multiply(x, 2, out=y)",
        "x.size": "x.numel()",
        "x.to_device(d)": "x.to(d)",
        "x.__array_namespace__()": "array_namespace(x)",
    },
    "mlx": {"x.__array_namespace__()": "array_namespace(x)"},
}
"""Library to how its own arrays spell what they lack under the standard's name."""

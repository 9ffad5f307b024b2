"""Rules of ``vmap``: how a call for one example becomes a call for a batch of them.

Batches have the examples along their first axis. Rules take and return native arrays.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from portarray._array.indexing import is_basic
from portarray._devices.device import Device
from portarray._transforms import tracing
from portarray._transforms.recording import recording
from portarray._transforms.shared_memory import VIEWS, parts, sharing_memory
from portarray._transforms.tracer import Tracer, any_may_hold
from portarray._transforms.tracing import Trace
from portarray.errors import TracedArrayError

__all__ = ["DIRECT", "PLANNED", "RULES", "Call", "Direct", "elementwise", "looped"]

Options = Mapping[str, Any]
Rule = Callable[["Call", Sequence[Any], Options], Any]


class Call(NamedTuple):
    """A call of a native function with examples among its operands."""

    trace: Trace
    size: int
    name: str
    function: Callable[..., Any]
    device: Device
    examples: tuple[Any, ...]  # the results for the first example

    def run(self, *args: Any, **options: Any) -> Any:
        """Call the function; outer traces record it."""
        if not any_may_hold(args, options):
            return self.function(*args, **options)
        recorded = recording(self.name, self.function, self.device)
        if self.name in VIEWS and not self.device._backend.immutable:
            recorded = sharing_memory(recorded, picks=self.name == "getitem")
        return recorded(*args, **options)

    def general(self, batch: Any, *args: Any, **options: Any) -> Any:
        """Call the function with any options; the recorded one may be that of the default ones."""
        find = getattr if "." not in self.name else _attribute
        return find(self.namespace(batch), self.name)(batch, *args, **options)

    def is_batched(self, x: Any) -> bool:
        """Return whether an operand is, or contains, an example."""
        if x.__class__ is Tracer:
            return x.trace is self.trace
        return x.__class__ in (list, tuple) and any(map(self.is_batched, x))

    def plain(self, x: Any) -> Any:
        """Return operands with the values of constants of the trace."""
        if x.__class__ is Tracer and x.trace is self.trace:
            return x.value if x.slot.__class__ is int else x
        return x.__class__(map(self.plain, x)) if x.__class__ in (list, tuple) else x

    def aligned(self, x: Any, ndim: int) -> Any:
        """Return an operand so that it broadcasts with batches of examples of ``ndim`` axes."""
        if not self.is_batched(x):
            return x
        if x.ndim == ndim:
            return x.slot
        return self.reshaped(x.slot, (*[1] * (ndim - x.ndim), *x.shape))

    def whole(self, x: Any) -> Any:
        """Return an array as a batch, repeated if it is the same for all examples."""
        if self.is_batched(x):
            return x.slot
        xp = self.namespace(x)
        return xp.broadcast_to(xp.expand_dims(x, axis=0), shape=(self.size, *x.shape))

    def reshaped(self, batch: Any, shape: Sequence[int]) -> Any:
        """Return a batch with examples of a shape."""
        whole = (self.size, *shape)
        if tuple(batch.shape) == whole:
            return batch
        return self.namespace(batch).reshape(batch, shape=whole)

    def as_result(self, batch: Any) -> Any:
        """Return a batch with examples of the shape of the result."""
        return self.reshaped(batch, tuple(self.examples[0].shape))

    def is_result(self, batch: Any) -> bool:
        """Return whether a batch has the shape and the dtype of the only result."""
        example = self.examples[0]
        whole = (self.size, *example.shape)
        return bool(tuple(batch.shape) == whole and batch.dtype == example.dtype)

    def namespace(self, native: Any) -> Any:
        """Return the functions of a native array, which an outer trace may record."""
        return tracing.namespace_of(native, self.device)


def looped(call: Call, args: Sequence[Any], options: Options) -> Any:
    """Call the function for each example."""

    def example(x: Any, n: int) -> Any:
        if x.__class__ is Tracer and x.trace is call.trace:
            return call.namespace(x.slot).getitem(x.slot, (n, ...))
        if x.__class__ in (list, tuple):
            return x.__class__([example(item, n) for item in x])
        return x

    if not call.size:
        return [
            call.namespace(x).zeros((0, *x.shape), dtype=x.dtype, device=call.device.native)
            for x in call.examples
        ]
    rows = []
    for n in range(call.size):
        named = {key: example(x, n) for key, x in options.items()}
        result = call.run(*[example(x, n) for x in args], **named)
        rows.append(result if isinstance(result, (tuple, list)) else (result,))
    columns = list(zip(*rows, strict=True))
    if any(tuple(x.shape) != tuple(column[0].shape) for column in columns for x in column):
        _refuse(call, args, options)
    return [call.namespace(column[0]).stack(list(column), axis=0) for column in columns]


def _attribute(namespace: Any, name: str) -> Any:
    return operator.attrgetter(name)(namespace)


def _ndim(x: Any) -> int:
    return len(getattr(x, "shape", ()))


def elementwise(call: Call, args: Sequence[Any], options: Options) -> Any:
    """Call a function of operands that broadcast."""
    ndim = max(map(_ndim, args))
    return call.run(*[call.aligned(x, ndim) for x in args], **options)


def _only_first(rule: Rule) -> Rule:
    """Return a rule for calls whose first operand alone is batched; others are looped."""

    def apply_rule(call: Call, args: Sequence[Any], options: Options) -> Any:
        if not call.is_batched(args[0]) or call.is_batched([*args[1:], *options.values()]):
            return looped(call, args, options)
        return rule(call, args, options)

    return apply_rule


@_only_first
def _stack(call: Call, args: Sequence[Any], options: Options) -> Any:
    """Call a function that takes stacks of matrices."""
    return call.run(args[0].slot, *args[1:], **options)


def _shifted(axis: Any) -> Any:
    """Return an axis, or axes, of an example as those of the batch."""
    if isinstance(axis, (tuple, list)):
        return tuple(map(_shifted, axis))
    return axis + 1 if axis >= 0 else axis


def _along(default: int | None) -> Rule:
    """Return a rule for an option ``axis`` with a default; None is all elements in one row."""

    @_only_first
    def apply_rule(call: Call, args: Sequence[Any], options: Options) -> Any:
        x, others = args[0], args[1:]
        axis = options.get("axis", default)
        if axis is not None:
            return call.general(x.slot, *others, **{**options, "axis": _shifted(axis)})
        options = {key: value for key, value in options.items() if key != "keepdims"}
        flat = call.reshaped(x.slot, (math.prod(x.shape),))
        return call.as_result(call.general(flat, *others, **{**options, "axis": 1}))

    return apply_rule


@_only_first
def _as_shaped(call: Call, args: Sequence[Any], options: Options) -> Any:
    """Reshape to the shape of the result, also where axes of length 1 come or go."""
    return call.as_result(args[0].slot)


@_only_first
def _permute_dims(call: Call, args: Sequence[Any], options: Options) -> Any:
    ndim = args[0].ndim
    axes = options["axes"] if "axes" in options else args[1]
    return call.run(args[0].slot, axes=(0, *[axis % ndim + 1 for axis in axes]))


@_only_first
def _moveaxis(call: Call, args: Sequence[Any], options: Options) -> Any:
    ends = [
        tuple(axis % args[0].ndim + 1 for axis in (ends if isinstance(ends, tuple) else (ends,)))
        for ends in args[1:]
    ]
    return call.run(args[0].slot, *ends, **options)


@_only_first
def _broadcast_to(call: Call, args: Sequence[Any], options: Options) -> Any:
    shape = tuple(call.examples[0].shape)
    return call.run(call.aligned(args[0], len(shape)), shape=(call.size, *shape))


def _broadcast_arrays(call: Call, args: Sequence[Any], options: Options) -> Any:
    shape = tuple(call.examples[0].shape)
    batches = []
    for x in args:
        batch = call.whole(x)
        batch = call.reshaped(batch, (*[1] * (len(shape) - x.ndim), *x.shape))
        batches.append(call.namespace(batch).broadcast_to(batch, shape=(call.size, *shape)))
    return batches


def _concat(call: Call, args: Sequence[Any], options: Options) -> Any:
    batches = [call.whole(x) for x in args[0]]
    axis = options.get("axis", 0)
    if axis is None:
        shapes = [(math.prod(x.shape),) for x in args[0]]
        batches = [call.reshaped(*pair) for pair in zip(batches, shapes, strict=True)]
        axis = 0
    return call.run(batches, **{**options, "axis": _shifted(axis)})


@_only_first
def _tile(call: Call, args: Sequence[Any], options: Options) -> Any:
    x, repeats = args
    repeats = tuple(repeats) if isinstance(repeats, (tuple, list)) else (repeats,)
    ndim = max(len(repeats), x.ndim)
    return call.run(call.aligned(x, ndim), (1, *[1] * (ndim - len(repeats)), *repeats))


def _by_last_axis(call: Call, args: Sequence[Any], options: Options) -> Any:
    if options.get("axis", -1) >= 0:
        return looped(call, args, options)
    return elementwise(call, args, options)


def _take_along_axis(call: Call, args: Sequence[Any], options: Options) -> Any:
    axis = _shifted(options.get("axis", -1))
    return call.run(*[call.whole(x) for x in args], **{**options, "axis": axis})


def _matmul(call: Call, args: Sequence[Any], options: Options) -> Any:
    x, matrix = args
    if call.is_batched(x) and not call.is_batched(matrix) and matrix.ndim <= 2:
        return call.run(x.slot, matrix, **options)
    ndim = max(2, *[x.ndim for x in args])
    matrices = []
    for x, as_matrix in zip(args, ((1, -1), (-1, 1)), strict=True):
        shape = tuple(x.shape)
        if len(shape) == 1:
            shape = tuple(shape[0] if length < 0 else 1 for length in as_matrix)
        if call.is_batched(x):
            matrices.append(call.reshaped(x.slot, (*[1] * (ndim - len(shape)), *shape)))
        else:
            matrices.append(x if x.ndim > 1 else call.namespace(x).reshape(x, shape=shape))
    return call.as_result(call.run(*matrices, **options))


def _solve(call: Call, args: Sequence[Any], options: Options) -> Any:
    matrix, right = args
    if right.ndim != 1 and right.ndim != matrix.ndim:
        return looped(call, args, options)
    columns = call.whole(right)
    if right.ndim == 1:
        columns = call.reshaped(columns, (right.shape[0], 1))
        if matrix.ndim > 2:
            return looped(call, args, options)
    return call.as_result(call.run(call.whole(matrix), columns, **options))


def _outer(call: Call, args: Sequence[Any], options: Options) -> Any:
    rows, columns = args
    left = call.reshaped(call.whole(rows), (rows.shape[0], 1))
    right = call.reshaped(call.whole(columns), (1, columns.shape[0]))
    return call.namespace(left).multiply(left, right)


def _search(call: Call, args: Sequence[Any], options: Options) -> Any:
    """Look up batched values among those of one array."""
    if call.is_batched(args[0]):
        return looped(call, args, options)
    return call.run(args[0], args[1].slot, **options)


@_only_first
def _transform_axes(call: Call, args: Sequence[Any], options: Options) -> Any:
    axes = options.get("axes")
    if axes is None and options.get("s") is None:
        axes = tuple(range(1, args[0].ndim + 1))
    elif axes is not None:
        axes = _shifted(axes)
    named = dict(options) if axes is None else {**options, "axes": axes}
    return call.run(args[0].slot, **named)


def _getitem(call: Call, args: Sequence[Any], options: Options) -> Any:
    x, key = args[0], parts(args[1])
    if is_basic(map(type, key)):
        return call.run(x.slot, (slice(None), *key))
    arrays = [part for part in key if hasattr(part, "shape")]
    masks = [part for part in arrays if "bool" in str(part.dtype)]
    batched = list(filter(call.is_batched, key))
    if call.is_batched(masks):
        _refuse(call, args, options)
    if not batched and not _are_separated(key):
        return call.run(x.slot, (slice(None), *key))
    if masks or len(arrays) + sum(part.__class__ is int for part in key) < len(key):
        return looped(call, args, options)
    shape = (call.size, *np.broadcast_shapes(*[tuple(part.shape) for part in arrays]))
    rows = call.is_batched(x)
    if not rows and len(key) == 1:
        return call.run(x, (batched[0].slot,))
    xp, dtype = call.namespace(batched[0].slot), batched[0].dtype
    indices = [
        xp.broadcast_to(
            xp.full((), part, dtype=dtype, device=call.device.native)
            if part.__class__ is int
            else call.aligned(part, len(shape) - 1),
            shape=shape,
        )
        for part in key
    ]
    if not rows:
        return call.run(x, tuple(indices))
    numbers = xp.arange(call.size, dtype=dtype, device=call.device.native)
    numbers = xp.reshape(numbers, shape=(call.size, *[1] * (len(shape) - 1)))
    return call.run(x.slot, (xp.broadcast_to(numbers, shape=shape), *indices))


def _are_separated(key: Sequence[Any]) -> bool:
    """Return whether slices separate arrays of indices, whose axes then are the first ones."""
    is_array = [hasattr(part, "shape") or isinstance(part, list) for part in key]
    if not any(is_array):
        return False
    places = [n for n, part in enumerate(key) if is_array[n] or part.__class__ is int]
    return places != list(range(places[0], places[-1] + 1))


def _setitem(call: Call, args: Sequence[Any], options: Options) -> Any:
    x, key, value = args[0], parts(args[1]), args[2]
    if call.is_batched(key) or any(hasattr(part, "shape") for part in key):
        return looped(call, args, options)
    if call.is_batched(value):
        example = x.value if call.is_batched(x) else x
        ndim = call.namespace(example).getitem(example, key).ndim
        if value.ndim > ndim:  # by axes of length 1
            value = call.reshaped(value.slot, value.shape[value.ndim - ndim :])
        else:
            value = call.aligned(value, ndim)
    return call.run(call.whole(x), (slice(None), *key), value)


def _refuse(call: Call, args: Sequence[Any], options: Options) -> NoReturn:
    raise TracedArrayError(
        f"{call.name}: the shape of the result depends on values, which differ between the "
        f"examples of pa.vmap\nHint: use pa.where, or call the function for each example"
    )


_ELEMENTWISE = (
    *("abs", "acos", "acosh", "add", "asarray", "asin", "asinh", "astype", "atan", "atan2"),
    *("atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or"),
    *("bitwise_right_shift", "bitwise_xor", "ceil", "clip", "conj", "copysign", "cos", "cosh"),
    *("divide", "empty_like", "equal", "exp", "expm1", "floor", "floor_divide", "full_like"),
    *("greater", "greater_equal", "hypot", "imag", "isfinite", "isinf", "isnan", "less"),
    *("less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not"),
    *("logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "nextafter"),
    *("not_equal", "ones_like", "positive", "pow", "real", "reciprocal", "remainder", "round"),
    *("sign", "signbit", "sin", "sinh", "sqrt", "square", "strong_divide", "strong_multiply"),
    *("strong_product", "subtract", "tan", "tanh", "to_device", "trunc", "where", "zeros_like"),
    *("special.beta", "special.betainc", "special.betaln", "special.digamma", "special.entr"),
    *("special.erf", "special.erfc", "special.erfcx", "special.erfinv", "special.expit"),
    *("special.gamma", "special.gammainc", "special.gammaincc", "special.gammaln", "special.i0"),
    *("special.i0e", "special.i1", "special.i1e", "special.kl_div", "special.log_expit"),
    *("special.log_ndtr", "special.logit", "special.ndtr", "special.ndtri", "special.polygamma"),
    *("special.rel_entr", "special.riemann_zeta", "special.xlog1py", "special.xlogy"),
    "special.zeta",
)
_STACKS = (
    *("linalg.cholesky", "linalg.det", "linalg.diagonal", "linalg.eig", "linalg.eigh"),
    *("linalg.eigvals", "linalg.eigvalsh", "linalg.inv", "linalg.matrix_norm"),
    *("linalg.matrix_power", "linalg.matrix_rank", "linalg.pinv", "linalg.qr", "linalg.slogdet"),
    *("linalg.svd", "linalg.svdvals", "linalg.trace", "matrix_transpose", "tril", "triu"),
)
_AXIS: dict[int | None, tuple[str, ...]] = {
    None: (
        *("all", "any", "argmax", "argmin", "count_nonzero", "cumulative_prod", "cumulative_sum"),
        *("flip", "linalg.vector_norm", "max", "mean", "min", "prod", "repeat", "roll", "std"),
        *("sum", "take", "var"),
    ),
    -1: (
        *("argsort", "diff", "fft.fft", "fft.hfft", "fft.ifft", "fft.ihfft", "fft.irfft"),
        *("fft.rfft", "sort"),
    ),
    0: ("unstack",),
}
_TRANSFORMS = (
    *("fft.fftn", "fft.fftshift", "fft.ifftn", "fft.ifftshift", "fft.irfftn", "fft.rfftn"),
)

RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, elementwise),
    **dict.fromkeys(_STACKS, _stack),
    **{name: _along(axis) for axis, names in _AXIS.items() for name in names},
    **dict.fromkeys(_TRANSFORMS, _transform_axes),
    **dict.fromkeys(("expand_dims", "reshape", "squeeze"), _as_shaped),
    **dict.fromkeys(("concat", "stack"), _concat),
    **dict.fromkeys(("linalg.cross", "vecdot"), _by_last_axis),
    **dict.fromkeys(tracing.BY_VALUES, _refuse),
    "broadcast_arrays": _broadcast_arrays,
    "broadcast_to": _broadcast_to,
    "getitem": _getitem,
    "linalg.outer": _outer,
    "linalg.solve": _solve,
    "matmul": _matmul,
    "moveaxis": _moveaxis,
    "permute_dims": _permute_dims,
    "searchsorted": _search,
    "setitem": _setitem,
    "take_along_axis": _take_along_axis,
    "tile": _tile,
}

# --- calls for the batch alone ---------------------------------------------------------------

_PYTHON = {bool, complex, float, int}


class Direct(NamedTuple):
    """A call of a native function with whole batches, for whose operands no outer trace asks."""

    name: str
    function: Callable[..., Any]
    namespace: Any
    natives: list[Any]  # the operands
    is_batch: list[bool]  # of each operand
    options: Options


def _broadcast_directly(call: Direct) -> Any:
    natives = call.natives
    ndim = 0
    for x, is_batch in zip(natives, call.is_batch, strict=True):
        if x.__class__ not in _PYTHON:
            ndim = max(ndim, getattr(x, "ndim", 0) - is_batch)
    for n, is_batch in enumerate(call.is_batch):
        x = natives[n]
        if is_batch and x.ndim <= ndim:
            shape = (x.shape[0], *[1] * (ndim + 1 - x.ndim), *x.shape[1:])
            natives[n] = call.namespace.reshape(x, shape=shape)
    return call.function(*natives, **call.options)


def _reduce_directly(call: Direct) -> Any:
    (x,) = call.natives
    options = call.options
    axis = options.get("axis")
    ndim = x.ndim - 1
    reduce = getattr(call.namespace, call.name)
    if axis is None and not options.get("keepdims"):
        if ndim != 1:
            x = call.namespace.reshape(x, shape=(x.shape[0], math.prod(x.shape[1:])))
        return reduce(x, **{**options, "axis": 1})
    is_valid = axis.__class__ is int and -ndim <= axis < ndim
    return reduce(x, **{**options, "axis": _shifted(axis)}) if is_valid else None


def _multiply_directly(call: Direct) -> Any:
    x, matrix = call.natives
    is_one_product = call.is_batch == [True, False] and matrix.ndim <= 2 and x.ndim > 1
    return call.function(x, matrix, **call.options) if is_one_product else None


_REDUCTIONS = ("all", "any", "max", "mean", "min", "prod", "sum")

DIRECT: dict[str, Callable[[Direct], Any]] = {
    **dict.fromkeys(_ELEMENTWISE, _broadcast_directly),
    **dict.fromkeys(_REDUCTIONS, _reduce_directly),
    "matmul": _multiply_directly,
}
"""Rules that need neither the call for the first example nor outer traces.

They return None, or raise, where they do not apply.
"""

PLANNED = frozenset(
    (
        *_ELEMENTWISE,
        *_REDUCTIONS,
        *("broadcast_to", "concat", "cumulative_prod", "cumulative_sum", "expand_dims", "flip"),
        *("getitem", "linalg.outer", "matmul", "matrix_transpose", "moveaxis", "permute_dims"),
        *("reshape", "roll", "setitem"),
        *("squeeze", "stack", "std", "tile", "tril", "triu", "unstack", "var", "vecdot"),
    )
)
"""Calls that plans repeat: they check no values."""

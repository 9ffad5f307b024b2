"""Parameters of distributions: numbers and arrays, checked, and the parts of them for blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from portarray._api import arguments
from portarray._api.comparison import isinf
from portarray._api.constants import inf
from portarray._api.creation.values import asarray
from portarray._api.data_type import astype
from portarray._api.manipulation.shapes import broadcast_arrays, reshape
from portarray._api.searching import count_nonzero, nonzero, where
from portarray._array import dispatch, dtypes, native_arrays
from portarray._array.array import Array
from portarray._array.results import refusing_gradient
from portarray.errors import DeviceMismatchError, NoGradientError
from portarray.random import distributions
from portarray.random.drawing import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from portarray.typing import DTypeLike

    DType = np.dtype[Any]


class Rule(NamedTuple):
    """What holds for the values of a parameter, for numbers and arrays."""

    holds: Callable[[Any], Any]
    text: str


FINITE = Rule(lambda x: (x > -inf) & (x < inf), "finite")
BOUND = Rule(lambda x: x == x, "a number, not NaN")  # infinite bounds are none
POSITIVE = Rule(lambda x: (x > 0) & (x < inf), "positive and finite")
NOT_NEGATIVE = Rule(lambda x: (x >= 0) & (x < inf), "at least 0 and finite")
PROBABILITY = Rule(lambda x: (x >= 0) & (x <= 1), "from 0 to 1")


def floating(key: Array, dtype: DTypeLike | None, function: str) -> DType:
    """Return the dtype of floating-point numbers, which the key's device must support."""
    if dtype is None:
        return dispatch.default_dtype(key.device, "f")
    out_dtype = dtypes.canonical(dtype)
    if dtypes.kind_of(out_dtype) != "f":
        fix = "use pa.random.integers" if out_dtype.kind in "iu" else "combine two real arrays"
        raise TypeError(
            f"{function}: unsupported dtype {out_dtype}; supported: real floating-point dtypes"
            + ("" if out_dtype.kind == "b" else f"\nHint: {fix}")
        )
    dispatch.table_of(key.device, out_dtype)
    return out_dtype


def integral(key: Array, dtype: DTypeLike | None, function: str) -> DType:
    """Return the dtype of counts, which the key's device must support."""
    if dtype is None:
        return dispatch.default_dtype(key.device, "i")
    out_dtype = dtypes.canonical(dtype)
    if out_dtype.kind not in "iu":
        raise TypeError(f"{function}: unsupported dtype {out_dtype}; supported: integers")
    dispatch.table_of(key.device, out_dtype)
    return out_dtype


def working(dtype: DType) -> DType:
    """Return the dtype in which numbers of a floating-point dtype are made."""
    return dtype if dtype.itemsize >= 4 else distributions.F32


def real(value: Any, name: str, rule: Rule, key: Array, function: str) -> float | Array:
    """Return a parameter after checking it: a Python number, or an array on the key's device.

    Values of arrays are checked, which waits for them, unless they are traced.
    """
    if type(value) is not Array:
        if np.ndim(value):
            raise TypeError(
                f"{function}: {name} is {type(value).__name__}, not a number or a portarray array"
                f"\nHint: pass pa.asarray({name}, device=key.device)"
            )
        try:
            scalar = arguments.real_number(value, name)
        except TypeError as error:
            raise TypeError(f"{function}: {error}") from None
        if not rule.holds(scalar):
            raise ValueError(f"{function}: {name} is {value!r}; it must be {rule.text}")
        return scalar
    if value.device is not key.device:
        raise DeviceMismatchError(function, str(key.device), str(value.device))
    if dtypes.kind_of(value.dtype) not in "iuf":
        raise TypeError(
            f"{function}: {name} has dtype {value.dtype}; parameters are integers or real "
            f"floating-point numbers"
        )
    if not is_traced(key, value):
        flat = reshape(value, (-1,))
        wrong = ~rule.holds(flat)
        if int(count_nonzero(wrong)):
            first = flat[int(nonzero(wrong)[0][0])].item()
            raise ValueError(f"{function}: {name} has {first!r}; its elements must be {rule.text}")
    return value


def without_gradient(value: Any, name: str, function: str) -> Any:
    """Return a parameter that chooses among random numbers; a gradient by it raises."""
    if type(value) is not Array:
        return value
    error = NoGradientError(
        function,
        f"numbers are accepted and rejected by {name}\nHint: use pa.stop_gradient({name})",
    )
    if native_arrays.is_differentiated(value):
        raise error
    return refusing_gradient(value, error)


def shape_of(
    shape: int | Sequence[int] | Block | None, function: str, *values: float | Array
) -> Block:
    """Return the whole draw as a block, or the block that is passed as the shape.

    By default the shape is that of the parameters, which are broadcast.
    """
    common = broadcast(function, *(value.shape for value in values if type(value) is Array))
    return with_axes(shape, common, (), function)


def part_of(value: float | Array, part: Block, dtype: DType, key: Array) -> Array:
    """Return a parameter of a block in a dtype; its shape broadcasts to that of the block."""
    if type(value) is not Array:
        return asarray(value, dtype=dtype, device=key.device)
    if part.shape != part.whole:
        offset = len(part.whole) - value.ndim
        value = value[
            tuple(
                slice(start, start + size) if length > 1 else slice(None)
                for length, start, size in zip(
                    value.shape, part.start[offset:], part.shape[offset:], strict=True
                )
            )
        ]
    return astype(value, dtype, copy=False)


def broadcast(function: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes of parameters broadcast to."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{function}: parameters of shapes {', '.join(map(str, shapes))} cannot be broadcast"
        ) from None


def check_axes(value: Any, count: int, name: str, function: str) -> None:
    """Raise for a parameter that is not an array with axes."""
    if type(value) is not Array:
        raise TypeError(
            f"{function}: {name} is {type(value).__name__}, not a portarray array"
            f"\nHint: pass pa.asarray({name}, device=key.device)"
        )
    if value.ndim < count:
        raise TypeError(
            f"{function}: {name} has shape {value.shape}; it must have {count} axes or more"
        )


def is_traced(*arrays: Array) -> bool:
    """Return whether one of the arrays has no values yet; neither have results of all of them."""
    return any(map(native_arrays.is_traced, arrays))


def check_less(key: Array, low: Array, high: Array, names: tuple[str, str], function: str) -> None:
    """Raise for bounds that are not in order, unless they are traced."""
    if is_traced(key, low, high):
        return
    low, high = (reshape(x, (-1,)) for x in broadcast_arrays(low, high))
    wrong = low >= high
    if int(count_nonzero(wrong)):
        first = int(nonzero(wrong)[0][0])
        raise ValueError(
            f"{function}: {names[0]} is {low[first].item()!r} and {names[1]} is "
            f"{high[first].item()!r}; {names[0]} must be less than {names[1]}"
        )


def with_axes(
    shape: int | Sequence[int] | Block | None,
    outer: tuple[int, ...],
    inner: tuple[int, ...],
    function: str,
) -> Block:
    """Return a draw as a block: a shape that is broadcast, or a block, and axes behind it."""
    if isinstance(shape, Block):
        check_fits(outer, shape.whole, function)
        start = (*shape.start, *(0 for _ in inner))
        return Block((*shape.whole, *inner), start, (*shape.shape, *inner))
    sizes = outer if shape is None else arguments.shape(shape)
    check_fits(outer, sizes, function)
    whole = (*sizes, *inner)
    return Block(whole, (0,) * len(whole), whole)


def check_fits(shape: tuple[int, ...], sizes: tuple[int, ...], function: str) -> None:
    """Raise for parameters of a shape that does not broadcast to that of the numbers."""
    try:
        fits = np.broadcast_shapes(shape, sizes) == sizes
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{function}: parameters of shape {shape} cannot be broadcast to shape {sizes}"
        )


def scaled(
    x: Array, loc: float | Array, scale: float | Array, part: Block, key: Array, dtype: DType
) -> Array:
    """Return numbers times a scale, plus a location, in another dtype."""
    kind = x.dtype
    factor = part_of(scale, part, kind, key)
    x = where((factor == 0) & isinf(x), 0.0, x)  # tails may overflow
    return astype(x * factor + part_of(loc, part, kind, key), dtype, copy=False)

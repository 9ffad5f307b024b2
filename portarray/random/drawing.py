"""Where numbers are drawn: by kernels if the device runs kernels, else by standard functions.

Both give the same numbers, which depend only on the key and the position, so that any part of a
draw can be computed separately.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from portarray._api import arguments
from portarray._api.creation.ranges import arange
from portarray._api.data_type import astype
from portarray._api.manipulation.joining import concat
from portarray._api.manipulation.shapes import reshape
from portarray._array import conversion, dispatch, native_arrays, slow_path
from portarray._array.array import Array
from portarray._array.results import wrapped
from portarray._config import config
from portarray._kernel_language.decorator import reason_unsupported
from portarray._kernel_language.filling import filling_of
from portarray.random import distributions
from portarray.random.distributions import Sampler
from portarray.random.threefry import threefry, threefry_of_few

if TYPE_CHECKING:
    from portarray._devices.device import Device
    from portarray._kernel_language.kernel import KernelFunction


class Draw(NamedTuple):
    """A sampler, and the parameters of its distribution."""

    sampler: Sampler
    values: tuple[float, ...] = ()


Prepared = tuple[Draw, Callable[[Array], Array] | None]
"""A draw, and what converts its numbers, None if nothing has to."""


def normal(dtype: np.dtype[Any], scale: float = 1.0, loc: float = 0.0) -> Draw:
    """Return the draw of normal numbers for a floating-point dtype: in float64, or in float32."""
    wide = dtype.itemsize == 8
    return Draw(distributions.NORMAL64 if wide else distributions.NORMAL32, (scale, loc))


def exponential(dtype: np.dtype[Any], scale: float = 1.0) -> Draw:
    """Return the draw of exponential numbers, made in the same dtypes."""
    wide = dtype.itemsize == 8
    return Draw(distributions.EXPONENTIAL64 if wide else distributions.EXPONENTIAL32, (scale,))


class Block(NamedTuple):
    """A part of an array: the array's shape, where the part begins, and the part's shape.

    Functions that draw numbers take it for a shape, and return the part of the array.
    """

    whole: tuple[int, ...]
    start: tuple[int, ...]
    shape: tuple[int, ...]


class Rows(NamedTuple):
    """Rows of ``length`` positions with gaps in between; length 0 means a single row."""

    length: int
    gap: int


_ONE = Rows(0, 0)
_LARGEST = 2**30
"""Numbers in one launch of a kernel."""

BLOCK = 2**15
"""Numbers that the standard's functions make at a time on a CPU: they stay in its cache."""

_TINY = 32
"""Numbers whose random bits are computed on the host, where that is a CPU device's memory."""

_FEW = 2**13
_SEVERAL = 500
"""What it takes on a CPU to start the compiler of kernels, which lasts half a second: numbers of
one draw, or draws of fewer."""

_started: set[tuple[np.dtype[Any], Device]] = set()
_waited: Counter[Device] = Counter()


class _Repeated:
    """Draws that differ in their keys alone: nothing is checked again after the first launch."""

    __slots__ = ("convert", "fill")

    def __init__(self) -> None:
        self.fill: Callable[[Array], Array | None] | None = None
        self.convert: Callable[[Array], Array] | None = None


@lru_cache(maxsize=1024, typed=True)
def _repeated(*arguments: object) -> _Repeated:
    """Return the state of all draws with arguments of these types and values."""
    return _Repeated()


def drawn(
    prepare: Callable[..., Prepared],
    key: Any,
    shape: int | Sequence[int] | Block,
    *parameters: object,
) -> Array:
    """Return the numbers of a draw in a shape, or of a block.

    ``prepare`` returns the draw for a key and parameters, after checking them.
    """
    repeated = None
    if type(key) is Array and not isinstance(shape, Block):
        # One by one: the cache looks at the types of its arguments, not inside.
        entries = shape if type(shape) is tuple else (shape,)
        try:
            repeated = _repeated(prepare, key._dispatch, len(entries), *entries, *parameters)
        except TypeError:  # not hashable: a list, or an array as a parameter
            pass
        else:
            if repeated.fill is not None:
                numbers = repeated.fill(key)
                if numbers is not None:
                    return numbers if repeated.convert is None else repeated.convert(numbers)
    draw, convert = prepare(key, *parameters)
    if isinstance(shape, Block):
        numbers = block(draw, key, shape)
    else:
        sizes = arguments.shape(shape)
        count = math.prod(sizes)
        numbers = at(draw, key, 0, count)
        if repeated is not None:
            shape = (*sizes, draw.sampler.parts) if draw.sampler.parts else sizes
            repeated.convert = convert
            if draw.sampler.parts and 0 < count <= _TINY and _is_on_host(key):
                repeated.fill = partial(_words_of_few, numbers._dispatch, count, shape)
            elif count <= BLOCK and (draw.sampler.dtype, key.device) in _started:
                passed = _kernel_arguments(numbers, draw, key, 0, _ONE)
                repeated.fill = filling_of(_kernel_of(draw), passed, (count,), shape)
        if len(sizes) != 1:
            numbers = reshape(numbers, (*sizes, *numbers.shape[1:]))
    return numbers if convert is None else convert(numbers)


def at(draw: Draw, key: Array, start: int, count: int, rows: Rows = _ONE) -> Array:
    """Return ``count`` numbers of a draw from position ``start``, along one axis."""
    if count == 0:
        return _empty(draw, key, 0)
    few = count <= _TINY and not rows.length and start % 2**32 + count <= 2**32
    if few and draw.sampler.parts and _is_on_host(key):
        return _of_few(draw, key, start, count)
    by_kernel = not native_arrays.is_traced(key) and _runs_kernels(draw, key.device, count)
    if by_kernel and count <= _LARGEST and not rows.length:
        out = _empty(draw, key, count)
        if not native_arrays.is_traced(out):
            return _written(out, draw, key, start, rows)
    traced = _is_traced(key)
    if by_kernel and not traced:
        draw_part, size = _by_kernel, _LARGEST
    elif not traced and key.device.platform == "cpu":
        if few:
            return _of_few(draw, key, start, count)
        # Powers of two: JAX compiles a program for each size.
        draw_part, size = _by_formula, min(BLOCK, 1 << (count - 1).bit_length())
    else:
        draw_part, size = _by_formula, count
    if rows.length:  # parts are whole rows
        size = max(1, min(size, 2**32 // (rows.length + rows.gap)) // rows.length) * rows.length
    whole = size if draw_part is _by_formula else 0
    parts = []
    for first in range(0, count, size):
        skipped = first // rows.length * rows.gap if rows.length else 0
        length = max(whole, min(size, count - first))
        parts.append(draw_part(draw, key, start + first + skipped, length, rows))
    result = parts[0] if len(parts) == 1 else concat(parts, axis=0)
    return result if result.shape[0] == count else result[:count, ...]


def block(draw: Draw, key: Array, part: Block) -> Array:
    """Return the numbers of a part of an array, in the part's shape."""
    whole, offset, shape = ([*sizes] for sizes in part)
    while len(shape) > 1 and shape[-1] == whole[-1]:  # rows that lie together
        last = whole.pop()
        offset[-2:] = [offset[-2] * last]
        shape[-2:] = [shape[-2] * last]
        whole[-1] *= last
    strides = [math.prod(whole[axis + 1 :]) for axis in range(len(whole))]
    start = sum(i * stride for i, stride in zip(offset, strides, strict=True))
    count = math.prod(shape)
    if len(shape) < 2 or not count:
        values = at(draw, key, start, count)
    else:
        rows = Rows(shape[-1], whole[-1] - shape[-1])
        parts = [
            at(
                draw,
                key,
                start + sum(i * stride for i, stride in zip(position, strides, strict=False)),
                shape[-2] * shape[-1],
                rows,
            )
            for position in product(*map(range, shape[:-2]))
        ]
        values = parts[0] if len(parts) == 1 else concat(parts, axis=0)
    return values if len(part.shape) == 1 else reshape(values, part.shape)


def _runs_kernels(draw: Draw, device: Device, count: int) -> bool:
    if not config._tuned_kernels or config._kernel_debug:
        return False
    dtype = draw.sampler.dtype
    if (dtype, device) in _started:
        return True
    if dtype == distributions.F64 and dispatch.default_dtype(device, "f") != dtype:
        return False  # numbers are passed to a kernel in the default dtype
    if device.platform == "cpu" and count < _FEW and _waited[device] < _SEVERAL:
        _waited[device] += 1
        return False
    if reason_unsupported(device):
        return False
    _waited[device] = _SEVERAL
    _started.add((dtype, device))
    return True


def _by_kernel(draw: Draw, key: Array, start: int, count: int, rows: Rows) -> Array:
    return _written(_empty(draw, key, count), draw, key, start, rows)


def _written(out: Array, draw: Draw, key: Array, start: int, rows: Rows) -> Array:
    """Return an array for numbers of a draw with them."""
    result: Array = _kernel_of(draw)(
        *_kernel_arguments(out, draw, key, start, rows), ndrange=(out.shape[0],)
    )
    return result


def _kernel_of(draw: Draw) -> KernelFunction:
    """Return the kernel of a sampler; the compiler is imported with the first one."""
    from portarray.random import fills

    kernel: KernelFunction = getattr(fills, draw.sampler.kernel)
    return kernel


def _kernel_arguments(
    out: Array, draw: Draw, key: Array, start: int, rows: Rows
) -> tuple[Any, ...]:
    """Return the arguments of a sampler's kernel."""
    return out, key, *divmod(start, 2**32), bool(rows.length), *rows, *draw.values


def _empty(draw: Draw, key: Array, count: int) -> Array:
    """Return an array for numbers of a draw."""
    sampler = draw.sampler
    shape = (count, sampler.parts) if sampler.parts else (count,)
    return slow_path.create("empty", (shape,), dtype=sampler.dtype, device=key.device, shape=shape)


def _is_traced(key: Array) -> bool:
    """Return whether a library traces a key, or all that is computed, as torch.func.grad does."""
    return native_arrays.is_traced(key) or native_arrays.is_traced(key + 0)


def _of_few(draw: Draw, key: Array, start: int, count: int) -> Array:
    high, low = divmod(start, 2**32)
    first, second = slow_path.read(key).tolist()
    both = threefry_of_few(first, second, high, low, count)
    if draw.sampler.parts:
        return conversion.from_host(both, key.device, take_ownership=True)
    words = [*both.T.copy()]
    if draw.sampler.counters == 2:
        third = threefry_of_few(first, second, high | distributions.SECOND, low, count)
        words.append(third[:, 0].copy())
    arrays = [conversion.from_host(x, key.device, take_ownership=True) for x in words]
    return draw.sampler.formula(*arrays, *draw.values)


def _is_on_host(key: Array) -> bool:
    """Return whether the host computes with a key: it is neither traced nor in other memory."""
    return key._dispatch.array_type is np.ndarray


def _words_of_few(
    table: dispatch.DispatchTable, count: int, shape: tuple[int, ...], key: Array
) -> Array:
    """Return both words of the first positions, in a shape, for a key on the host."""
    first, second = slow_path.read(key).tolist()  # of the words
    return wrapped(threefry_of_few(first, second, 0, 0, count).reshape(shape), table)


def _by_formula(draw: Draw, key: Array, start: int, count: int, rows: Rows) -> Array:
    high, low = divmod(start, 2**32)
    c1 = arange(count, dtype=distributions.U32, device=key.device)
    c0: Any = high
    last = count - 1
    if rows.length:
        c1 = c1 + c1 // rows.length * rows.gap
        last += last // rows.length * rows.gap
    if low + last >= 2**32:
        c1 = c1 + low
        c0 = astype(c1 < low, distributions.U32) + high
    elif low:
        c1 = c1 + low
    k0, k1 = key[0], key[1]
    counters = threefry(k0, k1, c0, c1)
    if draw.sampler.counters == 2:
        counters = (*counters, threefry(k0, k1, c0 | distributions.SECOND, c1)[0])
    return draw.sampler.formula(*counters, *draw.values)

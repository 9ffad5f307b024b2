"""Products of matrices, of any layout: operands are never copied to be transposed or broadcast.

Kernels, chosen by size, layout and the device's traits (:func:`_launch`):

- ``each``: a work-item for each element, for what nothing else fits;
- ``direct``: register tiles without packing, for small products;
- ``few_rows`` and ``bands``: few rows, where memory is what takes time;
- ``pack_rows``, ``pack_columns`` and ``tiles``: register tiles over packed panels, on processors;
- ``squares``: tiles in local memory, on devices whose work-groups have some.

A long summed axis beside few results is cut into parts, whose products are summed at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import mul
from typing import Any, NamedTuple

import numpy as np

from portarray.clarray.array import Array, empty
from portarray.clarray.dtypes import kind_of, promote, real_dtype_of
from portarray.clarray.engine.copy import cast, contiguous, fill
from portarray.clarray.engine.matmul_rows import FEW, columns_each, rows_kernel, takes
from portarray.clarray.engine.parts import as_parts
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.engine.tiles import Tile, source, tile_of
from portarray.clarray.layout import broadcast_shapes, broadcast_strides, collapse
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.pool import Storage
from portarray.clarray.runtime.programs import Kernel

__all__ = ["product"]

DType = np.dtype[Any]
Shape = tuple[int, ...]
Three = tuple[int, int, int]

_NARROW = 12
"""Matrices of fewer rows or columns waste most of a register tile."""
_PACKED = 96**3
"""From so many multiplications on packing pays."""
_DIRECT = 256**3
"""Up to so many, register tiles without packing are faster, where b is dense along its rows."""
_SHORT = 32
"""Sums of fewer terms are faster with a work-item for each than with vectors along them."""
_PARTS = 2048
"""Terms of a part, where a sum is cut into parts."""
_SUMS = 2048
"""Sums that a band has in fast memory; ``SUMS`` of ``kernels/matmul.cl``."""
_BANDS_EACH = 4
"""Bands for each unit."""
_SCRATCH = 1 << 22
"""Elements of packed panels at a time: they stay in the last cache."""
_ROWS_AT_ONCE = 4096
_COLUMNS_AT_ONCE = 4096

_ONCE: tuple[Shape, ...] = ((),)
_ALONE: tuple[Three, Three, Three] = ((1, 1, 1), (0, 0, 0), (0, 0, 0))

_SUM = Reduction("matmul", {"real": ("a + b", "0"), "unsigned": ("a + b", "0")}, "result")


class _Task(NamedTuple):
    """Products of matrices that lie along three batch axes; strides in elements.

    ``c``'s matrices follow each other; within one, ``c_m`` and ``c_n`` are its strides.
    """

    a: Storage
    b: Storage
    c: Storage
    a_at: int
    b_at: int
    c_at: int
    m: int
    n: int
    depth: int
    a_m: int
    a_k: int
    b_k: int
    b_n: int
    c_m: int
    c_n: int
    batch: Three
    a_batch: Three
    b_batch: Three

    @property
    def matrices(self) -> int:
        """How many products there are."""
        return math.prod(self.batch)

    def transposed(self) -> _Task:
        """Return the same products as those of the transposed operands in the other order."""
        return self._replace(
            a=self.b, b=self.a, a_at=self.b_at, b_at=self.a_at, m=self.n, n=self.m,
            a_m=self.b_n, a_k=self.b_k, b_k=self.a_k, b_n=self.a_m, c_m=self.c_n, c_n=self.c_m,
            a_batch=self.b_batch, b_batch=self.a_batch,
        )  # fmt: skip


def product(a: Array, b: Array, *, conjugate: bool = False, wide: bool = False) -> Array:
    """Return the matrix products of two arrays' innermost two axes; the others broadcast.

    Parameters
    ----------
    a, b : Array
        Of one device, numeric, with shapes ``(..., m, k)`` and ``(..., k, n)``.
    conjugate : bool
        Whether the first operand's conjugate is meant.
    wide : bool
        Whether float16 and bfloat16 give the float32 in which they are summed.

    Returns
    -------
    Array
        New, C-contiguous, of the promoted dtype. Integers wrap; float16 and bfloat16 are summed
        in float32.
    """
    dtype = promote(a.dtype, b.dtype)
    a = a if a.dtype == dtype else cast(a, dtype)
    b = b if b.dtype == dtype else cast(b, dtype)
    outer = broadcast_shapes(a.shape[:-2], b.shape[:-2]) if a.ndim + b.ndim > 4 else ()
    m, depth, n = a.shape[-2], a.shape[-1], b.shape[-1]
    halves = dtype.itemsize == 2 and kind_of(dtype) == "real"
    out = empty((*outer, m, n), np.dtype(np.float32) if wide and halves else dtype, a.device)
    if out.size and depth:
        _into(out, a, b, outer, conjugate and dtype.kind == "c")
    else:
        fill(out, 0)
    return out


def _into(
    out: Array, a: Array, b: Array, outer: Shape, conjugate: bool, *, parts: bool = True
) -> None:
    """Write products into a contiguous array of the operands' dtype or, for 16 bits, float32.

    Long sums of few results are cut into parts where ``parts`` is true.
    """
    (m, depth), n = a.shape[-2:], b.shape[-1]
    a_m, a_k = a.strides[-2:]
    b_k, b_n = b.strides[-2:]
    sizes: Shape = ()
    walks: tuple[Shape, ...] = ((), ())
    if outer:
        folded = _folded(a) if b.ndim == 2 else None
        if folded is not None:  # all rows of a are one matrix's
            m, a_m = folded
        else:
            sizes, walks = collapse(
                outer,
                [broadcast_strides(x.shape[:-2], x.strides[:-2], outer) for x in (a, b)],
            )
    if parts and _splits(out, m, n, depth, math.prod(sizes)):
        _in_parts(out, a, b, outer, conjugate)
        return
    lead = sizes[:-3]
    inner = math.prod(sizes[-3:]) * m * n
    threes = (_three(sizes, 1), _three(walks[0], 0), _three(walks[1], 0)) if sizes else _ALONE
    for number, index in enumerate(np.ndindex(lead) if lead else _ONCE):
        task = _Task(
            a.storage, b.storage, out.storage,
            a.offset + sum(map(mul, index, walks[0])), b.offset + sum(map(mul, index, walks[1])),
            out.offset + number * inner,
            m, n, depth, a_m, a_k, b_k, b_n, n, 1, *threes,
        )  # fmt: skip
        _launch(out.device, a.dtype, out.dtype, task, conjugate)


def _three(values: Shape, missing: int) -> Three:
    """Return the last three of some values, with others in front where there are fewer."""
    first, second, third = (missing, missing, missing, *values)[-3:]
    return first, second, third


def _folded(a: Array) -> tuple[int, int] | None:
    """Return all axes of an array but the last as one: its length and stride, where it is one."""
    sizes, (steps,) = collapse(a.shape[:-1], [a.strides[:-1]])
    if len(sizes) > 1:
        return None
    return (sizes[0], steps[0]) if sizes else (1, 0)


def _splits(out: Array, m: int, n: int, depth: int, matrices: int) -> bool:
    """Tell whether results are too few to keep a device busy, but sums are long."""
    return depth >= 2 * _PARTS and m * n * matrices <= 64 * 64 * out.device.traits.units


def _in_parts(out: Array, a: Array, b: Array, outer: Shape, conjugate: bool) -> None:
    """Write products whose summed axis is cut into parts, each the batch axis of a product."""
    depth = a.shape[-1]
    parts = min(depth // _PARTS, 32 * out.device.traits.units)
    length = depth // parts
    rest = depth - parts * length
    halves = out.dtype.itemsize == 2 and kind_of(out.dtype) == "real"
    partial = np.dtype(np.float32) if halves else out.dtype
    sums = empty((parts + bool(rest), *out.shape), partial, out.device)
    a_k, b_k = a.strides[-1], b.strides[-2]
    a = _stretched(a, out.ndim)
    b = _stretched(b, out.ndim)
    _into(
        sums.view((parts, *out.shape), sums.strides, sums.offset),
        a.view((parts, *a.shape[:-1], length), (length * a_k, *a.strides), a.offset),
        b.view((parts, *b.shape[:-2], length, b.shape[-1]), (length * b_k, *b.strides), b.offset),
        (parts, *outer),
        conjugate,
        parts=False,
    )
    if rest:
        done = parts * length
        _into(
            sums.view(out.shape, sums.strides[1:], sums.offset + parts * sums.strides[0]),
            a.view((*a.shape[:-1], rest), a.strides, a.offset + done * a_k),
            b.view((*b.shape[:-2], rest, b.shape[-1]), b.strides, b.offset + done * b_k),
            outer,
            conjugate,
            parts=False,
        )
    reals = as_parts(sums) if sums.dtype.kind == "c" else sums
    total = reduce(_SUM, reals, (0,), False, real_dtype_of(out.dtype))
    out.storage, out.offset = total.storage, 0


def _stretched(x: Array, ndim: int) -> Array:
    """Return a view with axes of length 1 in front."""
    added = ndim - x.ndim
    return x.view((1,) * added + x.shape, (0,) * added + x.strides, x.offset)


def _launch(device: Device, dtype: DType, out: DType, task: _Task, conjugate: bool) -> None:
    """Choose a kernel, and launch it."""
    m, n, depth = task.m, task.n, task.depth
    work = m * n * depth
    narrow = min(m, n) < _NARROW
    if device.traits.local_memory:
        if not (conjugate or narrow) and work >= 32**3:
            _squares(device, dtype, out, task)
            return
    elif takes(dtype):
        tile = tile_of(device, dtype)
        few = min(m, n) <= FEW and max(m, n) * depth >= 32 * _SHORT
        if few and _narrow(device, dtype, out, task):
            return
        dense = dtype.itemsize >= 4 and out == dtype
        if dense and work <= _DIRECT and task.b_n == 1 and n >= tile.width and m > 1:
            _direct(device, dtype, task)
            return
        if work >= _PACKED:
            _tiles(device, dtype, out, task)
            return
    elif not (conjugate or narrow) and work >= _PACKED:
        _tiles(device, dtype, out, task)
        return
    _each(device, dtype, out, task, conjugate)


def _narrow(device: Device, dtype: DType, out: DType, task: _Task) -> bool:
    """Launch a kernel for few rows or columns; tell whether there is one for the layout."""
    if task.m > task.n:
        task = task.transposed()
    dense = dtype.itemsize >= 4 and task.m < _NARROW
    if dense and task.b_n == 1 and task.n >= _SHORT and task.n >= 4 * task.m:
        _bands(device, dtype, out, task)
        return True
    if task.b_k == 1 and task.depth >= _SHORT:
        _few_rows(device, dtype, out, task)
        return True
    return False


@cache
def _kernel(
    device: Device, dtype: DType, out: DType, name: str, buffers: int, values: int
) -> Kernel:
    packed = name in ("pack_rows", "pack_columns", "tiles")
    file = "matmul_packed" if packed else "matmul_local" if name == "squares" else "matmul"
    text = source(device, dtype, out, file)
    return device.kernel(text, name, buffers, [np.int64] * values)


def _each(device: Device, dtype: DType, out: DType, task: _Task, conjugate: bool) -> None:
    group = device.traits.group
    count = task.m * task.n * task.matrices
    _kernel(device, dtype, out, "each", 3, 22).launch(
        (-(-count // group) * group,), (group,), (task.a, task.b, task.c),
        task.a_at, task.b_at, task.c_at, count, task.m, task.n, task.depth,
        task.a_m, task.a_k, task.b_k, task.b_n, task.c_m, task.c_n, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch, int(conjugate),
    )  # fmt: skip


def _direct(device: Device, dtype: DType, task: _Task) -> None:
    # About so many multiplications for each work-item that launching it is not what takes time.
    worth = 1 << 15
    each = max(1, worth // (task.m * task.n * task.depth))
    rows = min(-(-task.m // 4) * 4, max(4, worth // (task.n * task.depth) // 4 * 4))
    _kernel(device, dtype, dtype, "direct", 3, 21).launch(
        (-(-task.m // rows), -(-task.matrices // each)), (1, 1), (task.a, task.b, task.c),
        task.a_at, task.b_at, task.c_at, task.m, task.n, task.depth,
        task.a_m, task.a_k, task.b_k, task.c_m, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch, rows, each, task.matrices,
    )  # fmt: skip


def _few_rows(device: Device, dtype: DType, out: DType, task: _Task) -> None:
    """Launch products of few rows with b dense along the summed axis."""
    halves = dtype.itemsize == 2
    if task.a_k != 1 or halves:  # the few rows are cheap to copy
        rows = Array(
            task.a, dtype, (*task.batch, task.m, task.depth),
            (*task.a_batch, task.a_m, task.a_k), task.a_at, False,
        )  # fmt: skip
        rows = cast(rows, np.dtype(np.float32)) if halves else contiguous(rows)
        a_0, a_1, a_2, a_m, _ = rows.strides
        task = task._replace(
            a=rows.storage, a_at=rows.offset, a_m=a_m, a_k=1, a_batch=(a_0, a_1, a_2)
        )
    each = columns_each(device, dtype, task.n, task.depth, task.matrices)
    rows_kernel(device, dtype, out, task.m).launch(
        (-(-task.n // each), task.matrices), (1, 1), (task.a, task.b, task.b, task.c),
        task.a_at, task.b_at, -1, task.c_at, task.m, task.n, task.depth,
        task.a_m, task.b_n, task.c_m, task.c_n, each, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch,
    )  # fmt: skip


def _bands(device: Device, dtype: DType, out: DType, task: _Task) -> None:
    # Bands of whole cache lines, as wide as leaves some for each unit: the wider, the faster rows
    # of b come from memory.
    strips = -(-task.m // 4) * task.matrices
    share = task.n * strips // (_BANDS_EACH * device.traits.units)
    band = min(_SUMS // min(4, task.m), max(64, share // 64 * 64))
    _kernel(device, dtype, out, "bands", 3, 20).launch(
        (-(-task.n // band), -(-task.m // 4), task.matrices), (1, 1, 1),
        (task.a, task.b, task.c),
        task.a_at, task.b_at, task.c_at, task.m, task.n, task.depth,
        task.a_m, task.a_k, task.b_k, task.c_m, task.c_n, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch, band,
    )  # fmt: skip


def _squares(device: Device, dtype: DType, out: DType, task: _Task) -> None:
    side, group = 64, 16  # SIDE and GROUP of kernels/matmul_local.cl
    _kernel(device, dtype, out, "squares", 3, 20).launch(
        (-(-task.n // side) * group, -(-task.m // side) * group, task.matrices), (group, group, 1),
        (task.a, task.b, task.c),
        task.a_at, task.b_at, task.c_at, task.m, task.n, task.depth,
        task.a_m, task.a_k, task.b_k, task.b_n, task.c_m, task.c_n, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Panels:
    """One operand of packed products: how it is packed.

    ``step`` is between neighbours, ``step_k`` along the summed axis; ``own`` are the lengths of
    the batch axes without those that only repeat, ``packed`` the strides in packed matrices.
    """

    kernel: Kernel
    storage: Storage
    at: int
    width: int
    step: int
    step_k: int
    batch: Three
    own: Three
    packed: Three

    @property
    def matrices(self) -> int:
        """How many matrices are packed."""
        return math.prod(self.own)


def _panels(
    kernel: Kernel, storage: Storage, at: int, width: int, steps: Shape, task: _Task, batch: Three
) -> _Panels:
    first, second, third = (
        1 if step == 0 else size for size, step in zip(task.batch, batch, strict=True)
    )
    packed = (
        second * third if batch[0] else 0,
        third if batch[1] else 0,
        1 if batch[2] else 0,
    )
    return _Panels(
        kernel, storage, at, width, steps[0], steps[1], batch, (first, second, third), packed
    )


def _pack(one: _Panels, to: Storage, start: int, count: int, first: int, depth: int) -> None:
    """Pack ``count`` neighbours from ``start`` on, and ``depth`` of their steps from ``first``."""
    one.kernel.launch(
        (-(-count // one.width), -(-depth // 256), one.matrices), (1, 1, 1), (one.storage, to),
        one.at + start * one.step + first * one.step_k, count, depth, one.step, one.step_k,
        one.own[1], one.own[2], *one.batch,
    )  # fmt: skip


def _tiles(device: Device, dtype: DType, out: DType, task: _Task) -> None:
    """Launch packed products: for blocks of columns, of the summed axis, and of rows."""
    tile = tile_of(device, dtype)
    for part in _batches(task, tile):
        a = _panels(
            _kernel(device, dtype, out, "pack_rows", 2, 10),
            part.a, part.a_at, tile.rows, (part.a_m, part.a_k), part, part.a_batch,
        )  # fmt: skip
        b = _panels(
            _kernel(device, dtype, out, "pack_columns", 2, 10),
            part.b, part.b_at, tile.wide, (part.b_n, part.b_k), part, part.b_batch,
        )  # fmt: skip
        _goto(device, _kernel(device, dtype, out, "tiles", 3, 17), part, tile, out, a, b)


def _batches(task: _Task, tile: Tile) -> Iterator[_Task]:
    """Cut products of many matrices into runs of them whose panels stay in the last cache."""
    each = max(task.m, task.n) * min(task.depth, tile.depth) * task.batch[1] * task.batch[2]
    at_once = max(1, _SCRATCH // each)
    for start in range(0, task.batch[0], at_once):
        yield task._replace(
            a_at=task.a_at + start * task.a_batch[0],
            b_at=task.b_at + start * task.b_batch[0],
            c_at=task.c_at + start * task.batch[1] * task.batch[2] * task.m * task.n,
            batch=(min(at_once, task.batch[0] - start), *task.batch[1:]),
        )


def _goto(
    device: Device, kernel: Kernel, task: _Task, tile: Tile, out: DType, a: _Panels, b: _Panels
) -> None:
    columns = min(-(-task.n // tile.wide) * tile.wide, _COLUMNS_AT_ONCE // tile.wide * tile.wide)
    rows = min(-(-task.m // tile.rows) * tile.rows, _ROWS_AT_ONCE // tile.rows * tile.rows)
    # Sums that 16 bits hold between two blocks of the summed axis would lose their precision.
    blocks = 1 if out.itemsize == 2 and kind_of(out) == "real" else -(-task.depth // tile.depth)
    depth = -(-task.depth // blocks)
    size = tile.itemsize * depth
    to_a = device.pool.take(rows * a.matrices * size)
    to_b = device.pool.take(columns * b.matrices * size)
    for j in range(0, task.n, columns):
        n = min(columns, task.n - j)
        for k in range(0, task.depth, depth):
            deep = min(depth, task.depth - k)
            _pack(b, to_b, j, n, k, deep)
            for i in range(0, task.m, rows):
                m = min(rows, task.m - i)
                _pack(a, to_a, i, m, k, deep)
                block_m, block_n = _blocks(m, n, task.matrices, tile, device.traits.units)
                kernel.launch(
                    (-(-m // block_m), -(-n // block_n), task.matrices), (1, 1, 1),
                    (to_a, to_b, task.c),
                    task.c_at + i * task.c_m + j, task.c_m, task.m * task.n, m, n, deep,
                    block_m, block_n, int(k > 0), task.batch[1], task.batch[2],
                    *a.packed, *b.packed,
                )  # fmt: skip


def _blocks(m: int, n: int, matrices: int, tile: Tile, units: int) -> tuple[int, int]:
    """Return the sides of the block that one work-item computes: enough of them for all units."""
    rows, columns = tile.block_rows, tile.block_columns
    while -(-m // rows) * -(-n // columns) * matrices < 8 * units:
        if rows > 2 * tile.rows and rows >= columns:
            rows = -(-rows // 2 // tile.rows) * tile.rows
        elif columns > tile.wide:
            columns = -(-columns // 2 // tile.wide) * tile.wide
        else:
            break
    return rows, columns

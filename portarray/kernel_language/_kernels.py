"""The kernels of :mod:`portarray.kernel_language.algorithms`.

Arrays have three axes: the outer ones, the reduced one, and the inner ones. The middle axis is
divided into *parts* of neighbours, so that operators need not commute. On CPUs a work-item takes
several independent neighbours along an axis at once, ``lanes``, without barriers. On other devices
a group takes a part, and each of its work-items takes ``items`` neighbours.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import portarray.kernel_language as kl
from portarray import _codegen
from portarray._kernel_language.decorator import kernel
from portarray._kernel_language.kernel import KernelFunction


@cache
def mapped(are_arrays: tuple[bool, ...]) -> KernelFunction:
    """Return the kernel that calls a function for each element; arguments are arrays or numbers."""
    names = [f"x{n}" for n in range(len(are_arrays))]
    values = [f"{x}[i]" if is_array else x for x, is_array in zip(names, are_arrays, strict=True)]
    text = (
        f"def mapped(out, function, dtype, {', '.join(names)}):\n"
        f"    i = kl.index()\n"
        f"    out[i] = dtype(function({', '.join(values)}))\n"
    )
    return kernel(static=("function", "dtype"))(_codegen.define("mapped", text, {"kl": kl}))


@kernel.function
def first_lane(
    item: Any, parts: Any, afters: Any, s0: Any, s1: Any, s2: Any
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return where the first lane of a work-item, or a group, is along the three axes.

    ``s0`` to ``s2`` are the lanes along each. There is one axis of work-items, as GPUs have few
    groups along others.
    """
    parts = (parts + s1 - 1) // s1
    afters = (afters + s2 - 1) // s2
    remainder = item // afters
    return remainder // parts * s0, remainder % parts * s1, item % afters * s2


@kernel(static=("operator", "dtype", "lanes", "axis"))
def totals(
    out: Any, x: Any, size: Any, operator: Any, dtype: Any, lanes: Any, axis: Any
) -> None:  # fmt: skip
    """Write the reduction of each part of ``size`` elements."""
    values = kl.private(lanes, out.dtype)
    s0, s1, s2 = lanes if axis == 0 else 1, lanes if axis == 1 else 1, lanes if axis == 2 else 1
    outer, part, inner = first_lane(kl.index(), out.shape[1], x.shape[2], s0, s1, s2)
    # By how much lanes differ along each axis.
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    start = part * size
    stop = min(start + size, x.shape[1])
    if axis == 0:
        filled = outer + lanes <= x.shape[0]
    elif axis == 1:
        filled = start + lanes * size <= x.shape[1]
    else:
        filled = inner + lanes <= x.shape[2]
    if filled:
        for n in kl.unroll(range(lanes)):
            values[n] = dtype(x[outer + n * d0, start + n * d1 * size, inner + n * d2])
        for k in range(start + 1, stop):
            for n in kl.unroll(range(lanes)):
                value = dtype(x[outer + n * d0, k + n * d1 * size, inner + n * d2])
                values[n] = operator(values[n], value)
        for n in kl.unroll(range(lanes)):
            out[outer + n * d0, part + n * d1, inner + n * d2] = values[n]
    else:
        for n in range(lanes):
            i, p, j = outer + n * d0, part + n * d1, inner + n * d2
            if i < out.shape[0] and p < out.shape[1] and j < out.shape[2]:
                total = dtype(x[i, p * size, j])
                for k in range(p * size + 1, min((p + 1) * size, x.shape[1])):
                    total = operator(total, dtype(x[i, k, j]))
                out[i, p, j] = total


@kernel(static=("operator", "dtype", "lanes", "axis"))
def scanned(
    out: Any, x: Any, ends: Any, size: Any, operator: Any, dtype: Any, lanes: Any, axis: Any
) -> None:
    """Write the running reductions; ``ends`` contains those of each part's last element."""
    values = kl.private(lanes, out.dtype)
    s0, s1, s2 = lanes if axis == 0 else 1, lanes if axis == 1 else 1, lanes if axis == 2 else 1
    outer, part, inner = first_lane(kl.index(), ends.shape[1], x.shape[2], s0, s1, s2)
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    start = part * size
    stop = min(start + size, x.shape[1])
    if axis == 0:
        filled = outer + lanes <= x.shape[0]
    elif axis == 1:
        filled = part > 0 and start + lanes * size <= x.shape[1]
    else:
        filled = inner + lanes <= x.shape[2]
    if filled:
        for n in kl.unroll(range(lanes)):
            i, k, j = outer + n * d0, start + n * d1 * size, inner + n * d2
            value = dtype(x[i, k, j])
            if part > 0:
                value = operator(ends[i, part + n * d1 - 1, j], value)
            values[n] = value
            out[i, k, j] = value
        for k in range(start + 1, stop):
            for n in kl.unroll(range(lanes)):
                i, m, j = outer + n * d0, k + n * d1 * size, inner + n * d2
                values[n] = operator(values[n], dtype(x[i, m, j]))
                out[i, m, j] = values[n]
    else:
        for n in range(lanes):
            i, p, j = outer + n * d0, part + n * d1, inner + n * d2
            if i < x.shape[0] and p < ends.shape[1] and j < x.shape[2]:
                total = dtype(x[i, p * size, j])
                if p > 0:
                    total = operator(ends[i, p - 1, j], total)
                out[i, p * size, j] = total
                for k in range(p * size + 1, min((p + 1) * size, x.shape[1])):
                    total = operator(total, dtype(x[i, k, j]))
                    out[i, k, j] = total


@kernel(static=("operator", "dtype", "group", "items"))
def totals_by_groups(out: Any, x: Any, operator: Any, dtype: Any, group: Any, items: Any) -> None:
    """Write the reduction of each part; a group takes a part."""
    here = kl.local_index()
    outer, part, inner = first_lane(kl.group_index(), out.shape[1], x.shape[2], 1, 1, 1)
    shared = kl.local(group, out.dtype)
    first = part * (group * items)
    filled = (min(x.shape[1] - first, group * items) + items - 1) // items
    start = first + here * items
    if here < filled:
        total = dtype(x[outer, start, inner])
        for k in range(start + 1, min(start + items, x.shape[1])):
            total = operator(total, dtype(x[outer, k, inner]))
        shared[here] = total
    kl.barrier()
    step = 1
    while step < group:
        lower = 2 * step * here
        if lower + step < filled:
            shared[lower] = operator(shared[lower], shared[lower + step])
        kl.barrier()
        step *= 2
    if here == 0:
        out[outer, part, inner] = shared[0]


@kernel(static=("operator", "dtype", "group", "items"))
def scanned_by_groups(
    out: Any, x: Any, ends: Any, operator: Any, dtype: Any, group: Any, items: Any
) -> None:
    """Write the running reductions; ``ends`` contains those of each part's last element."""
    here = kl.local_index()
    outer, part, inner = first_lane(kl.group_index(), ends.shape[1], x.shape[2], 1, 1, 1)
    shared = kl.local((2, group), out.dtype)  # what is read, and what is written, in turn
    first = part * (group * items)
    filled = (min(x.shape[1] - first, group * items) + items - 1) // items
    start = first + here * items
    stop = min(start + items, x.shape[1])
    if here < filled:
        total = dtype(x[outer, start, inner])
        for k in range(start + 1, stop):
            total = operator(total, dtype(x[outer, k, inner]))
        shared[0, here] = total
    kl.barrier()
    step = 1
    turn = 0
    while step < group:
        if here < filled:
            total = shared[turn, here]
            if here >= step:
                total = operator(shared[turn, here - step], total)
            shared[1 - turn, here] = total
        kl.barrier()
        step *= 2
        turn = 1 - turn
    if here < filled:
        total = dtype(x[outer, start, inner])
        if here > 0:
            total = operator(shared[turn, here - 1], total)
        if part > 0:
            total = operator(ends[outer, part - 1, inner], total)
        out[outer, start, inner] = total
        for k in range(start + 1, stop):
            total = operator(total, dtype(x[outer, k, inner]))
            out[outer, k, inner] = total


@kernel(static=("less", "run"))
def sorted_runs(keys: Any, places: Any, x: Any, less: Any, run: Any) -> None:
    """Sort each ``run`` neighbours by insertion; ``places`` receives their previous positions."""
    first = kl.index() * run
    for i in range(first, min(first + run, x.shape[0])):
        key = x[i]
        k = i
        while k > first and less(key, keys[k - 1]):
            keys[k] = keys[k - 1]
            places[k] = places[k - 1]
            k -= 1
        keys[k] = key
        places[k] = i


@kernel(static=("less",))
def merged(
    out: Any, out_places: Any, keys: Any, places: Any, width: Any, share: Any, less: Any
) -> None:
    """Merge neighbours of ``width`` sorted keys; a work-item writes ``share`` of them.

    Where its part begins in the two is searched for: of equal keys the left ones come first.
    """
    start = kl.index() * share
    low = start // (2 * width) * (2 * width)
    middle = min(low + width, keys.shape[0])
    high = min(low + 2 * width, keys.shape[0])
    count = start - low  # of keys that others write, from both
    least, most = max(0, count - (high - middle)), min(count, middle - low)
    while least < most:
        half = (least + most) // 2
        if less(keys[middle + count - 1 - half], keys[low + half]):
            most = half
        else:
            least = half + 1
    a = low + least
    b = middle + count - least
    for k in range(start, min(start + share, high)):
        second = b < high
        if second and a < middle:
            second = less(keys[b], keys[a])
        if second:
            out[k] = keys[b]
            out_places[k] = places[b]
            b += 1
        else:
            out[k] = keys[a]
            out_places[k] = places[a]
            a += 1

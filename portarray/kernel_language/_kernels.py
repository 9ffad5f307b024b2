"""The kernels of :mod:`portarray.kernel_language.algorithms`.

Arrays have three axes: those before the one that is worked along, that one, those after it. The
middle one is shared in *parts* of neighbours, so that operators need not commute. On CPUs a
work-item takes some neighbours along an axis at once, ``lanes``, which do not wait for each other,
and there are no barriers. On others a group takes a part, and each of its work-items some
neighbours, ``items``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import portarray.kernel_language as kl
from portarray._kernel_language import source
from portarray._kernel_language.decorator import kernel
from portarray._kernel_language.kernel import Kernel

__all__ = [
    "mapped",
    "merged",
    "scanned",
    "scanned_by_groups",
    "sorted_runs",
    "totals",
    "totals_by_groups",
]


@cache
def mapped(are_arrays: tuple[bool, ...]) -> Kernel:
    """Return the kernel that calls a function for each element; arguments are arrays or numbers."""
    names = [f"x{n}" for n in range(len(are_arrays))]
    values = [f"{x}[i]" if own else x for x, own in zip(names, are_arrays, strict=True)]
    text = (
        f"def mapped(out, function, dtype, {', '.join(names)}):\n"
        f"    i = kl.index()\n"
        f"    out[i] = dtype(function({', '.join(values)}))\n"
    )
    return kernel(static=("function", "dtype"))(source.generated(text, "mapped", {"kl": kl}))


@kernel.function
def place(
    item: Any, parts: Any, afters: Any, s0: Any, s1: Any, s2: Any
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return where the first lane of a work-item, or a group, is along the three axes.

    ``s0`` to ``s2`` are the lanes along each. There is one axis of work-items, as GPUs have few
    groups along others.
    """
    parts = (parts + s1 - 1) // s1
    afters = (afters + s2 - 1) // s2
    rest = item // afters
    return rest // parts * s0, rest % parts * s1, item % afters * s2


@kernel(static=("operator", "dtype", "lanes", "axis"))
def totals(
    out: Any, x: Any, size: Any, operator: Any, dtype: Any, lanes: Any, axis: Any
) -> None:  # fmt: skip
    """Write what the elements of each part combine to; a part has ``size`` of them."""
    values = kl.private(lanes, out.dtype)
    s0, s1, s2 = lanes if axis == 0 else 1, lanes if axis == 1 else 1, lanes if axis == 2 else 1
    before, part, after = place(kl.index(), out.shape[1], x.shape[2], s0, s1, s2)
    # By how much lanes differ along each axis.
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    begin = part * size
    end = min(begin + size, x.shape[1])
    if axis == 0:
        filled = before + lanes <= x.shape[0]
    elif axis == 1:
        filled = begin + lanes * size <= x.shape[1]
    else:
        filled = after + lanes <= x.shape[2]
    if filled:
        for n in kl.unroll(range(lanes)):
            values[n] = dtype(x[before + n * d0, begin + n * d1 * size, after + n * d2])
        for k in range(begin + 1, end):
            for n in kl.unroll(range(lanes)):
                value = dtype(x[before + n * d0, k + n * d1 * size, after + n * d2])
                values[n] = operator(values[n], value)
        for n in kl.unroll(range(lanes)):
            out[before + n * d0, part + n * d1, after + n * d2] = values[n]
    else:
        for n in range(lanes):
            i, p, j = before + n * d0, part + n * d1, after + n * d2
            if i < out.shape[0] and p < out.shape[1] and j < out.shape[2]:
                total = dtype(x[i, p * size, j])
                for k in range(p * size + 1, min((p + 1) * size, x.shape[1])):
                    total = operator(total, dtype(x[i, k, j]))
                out[i, p, j] = total


@kernel(static=("operator", "dtype", "lanes", "axis"))
def scanned(
    out: Any, x: Any, ends: Any, size: Any, operator: Any, dtype: Any, lanes: Any, axis: Any
) -> None:
    """Write what the elements up to each one combine to; ``ends`` holds it for each part's last."""
    values = kl.private(lanes, out.dtype)
    s0, s1, s2 = lanes if axis == 0 else 1, lanes if axis == 1 else 1, lanes if axis == 2 else 1
    before, part, after = place(kl.index(), ends.shape[1], x.shape[2], s0, s1, s2)
    d0, d1, d2 = int(axis == 0), int(axis == 1), int(axis == 2)
    begin = part * size
    end = min(begin + size, x.shape[1])
    if axis == 0:
        filled = before + lanes <= x.shape[0]
    elif axis == 1:
        filled = part > 0 and begin + lanes * size <= x.shape[1]
    else:
        filled = after + lanes <= x.shape[2]
    if filled:
        for n in kl.unroll(range(lanes)):
            i, k, j = before + n * d0, begin + n * d1 * size, after + n * d2
            value = dtype(x[i, k, j])
            if part > 0:
                value = operator(ends[i, part + n * d1 - 1, j], value)
            values[n] = value
            out[i, k, j] = value
        for k in range(begin + 1, end):
            for n in kl.unroll(range(lanes)):
                i, m, j = before + n * d0, k + n * d1 * size, after + n * d2
                values[n] = operator(values[n], dtype(x[i, m, j]))
                out[i, m, j] = values[n]
    else:
        for n in range(lanes):
            i, p, j = before + n * d0, part + n * d1, after + n * d2
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
    """Write what the elements of each part combine to; a group takes a part."""
    here = kl.local_index()
    before, part, after = place(kl.group_index(), out.shape[1], x.shape[2], 1, 1, 1)
    shared = kl.local(group, out.dtype)
    first = part * (group * items)
    filled = (min(x.shape[1] - first, group * items) + items - 1) // items
    begin = first + here * items
    if here < filled:
        total = dtype(x[before, begin, after])
        for k in range(begin + 1, min(begin + items, x.shape[1])):
            total = operator(total, dtype(x[before, k, after]))
        shared[here] = total
    kl.barrier()
    step = 1
    while step < group:
        left = 2 * step * here
        if left + step < filled:
            shared[left] = operator(shared[left], shared[left + step])
        kl.barrier()
        step *= 2
    if here == 0:
        out[before, part, after] = shared[0]


@kernel(static=("operator", "dtype", "group", "items"))
def scanned_by_groups(
    out: Any, x: Any, ends: Any, operator: Any, dtype: Any, group: Any, items: Any
) -> None:
    """Write what the elements up to each one combine to; ``ends`` holds it for each part's last."""
    here = kl.local_index()
    before, part, after = place(kl.group_index(), ends.shape[1], x.shape[2], 1, 1, 1)
    shared = kl.local((2, group), out.dtype)  # what is read, and what is written, in turn
    first = part * (group * items)
    filled = (min(x.shape[1] - first, group * items) + items - 1) // items
    begin = first + here * items
    end = min(begin + items, x.shape[1])
    if here < filled:
        total = dtype(x[before, begin, after])
        for k in range(begin + 1, end):
            total = operator(total, dtype(x[before, k, after]))
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
        total = dtype(x[before, begin, after])
        if here > 0:
            total = operator(shared[turn, here - 1], total)
        if part > 0:
            total = operator(ends[before, part - 1, after], total)
        out[before, begin, after] = total
        for k in range(begin + 1, end):
            total = operator(total, dtype(x[before, k, after]))
            out[before, k, after] = total


@kernel(static=("less", "run"))
def sorted_runs(keys: Any, places: Any, x: Any, less: Any, run: Any) -> None:
    """Sort each ``run`` neighbours, by insertion; ``places`` is where they were."""
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
    begin = kl.index() * share
    low = begin // (2 * width) * (2 * width)
    middle = min(low + width, keys.shape[0])
    high = min(low + 2 * width, keys.shape[0])
    count = begin - low  # of keys that others write, from both
    left, right = max(0, count - (high - middle)), min(count, middle - low)
    while left < right:
        half = (left + right) // 2
        if less(keys[middle + count - 1 - half], keys[low + half]):
            right = half
        else:
            left = half + 1
    a = low + left
    b = middle + count - left
    for k in range(begin, min(begin + share, high)):
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

"""Indexing keys: slices of every sign and size, masks, index arrays, ``...`` and None anywhere."""

from __future__ import annotations

import random

from portarray_conformance.programs import arguments, values
from portarray_conformance.programs.arguments import Builder
from portarray_conformance.programs.values import Shape


def slice_text(rng: random.Random, length: int, *, wild: bool) -> str:
    """Return a slice of an axis; ``wild`` allows bounds beyond its ends."""
    far = 3 if wild else 0

    def bound() -> str:
        if rng.random() < 0.4:
            return ""
        return str(rng.randint(-length - far, length + far))

    step = rng.choice(("", "", "", ":", ":1", ":2", ":-1", ":-1", ":-2", ":3", ":-5"))
    start, stop = bound(), bound()
    if not wild and ":-" in step:
        start = stop = ""  # the standard leaves other bounds of negative steps to libraries
    return f"{start}:{stop}{step}"


def mask(g: Builder, shape: Shape) -> str:
    """Return an expression for a mask of that shape."""
    if values.size_of(shape) and g.rng.random() < 0.4:
        for name, info in g.arrays.items():
            if info.shape == shape and values.KINDS[info.dtype] in "iuf":
                return f"{name} {g.rng.choice(('>', '<=', '!='))} {g.rng.randint(-1, 3)}"
    return values.array_text(g.rng, shape, "bool", g.flavor)


def key_text(g: Builder, shape: Shape, *, assigned: bool = False) -> str:
    """Return a key for an array of that shape, without the brackets.

    The standard has no index arrays in assignments.
    """
    rng = g.rng
    chance = rng.random()
    if chance < 0.12:
        return mask(g, shape)
    if not g.extended and chance < 0.3 and shape and not assigned:
        dtype = "int64" if "int64" in g.dtypes else "int32"
        if len(shape) > 1:
            items = [arguments.index_array(g, (3,), n, dtype) for n in shape]
            return ", ".join(items)
        return arguments.index_array(g, (3,), shape[0], dtype)
    parts: list[str] = []
    axis = 0
    advanced = g.extended and rng.random() < 0.4
    together: Shape = (rng.randint(1, 3),)
    if advanced and rng.random() < 0.2:
        together = values.shape_of(rng, most=2, empty=0.1)
    stop = rng.randint(0, len(shape)) if rng.random() < 0.5 else len(shape)
    if not g.extended:
        stop = len(shape)
    while axis < stop:
        length = shape[axis]
        pick = rng.random()
        if pick < 0.1 and len(parts) < 5 and (g.extended or not assigned):
            parts.append("None")
            continue
        if pick < 0.35 and length:
            parts.append(str(rng.randrange(-length, length)))
        elif advanced and pick < 0.75:
            parts.append(_advanced(g, shape, axis, together))
            if parts[-1].startswith("mask2 "):
                parts[-1] = mask(g, shape[axis : axis + 2])
                axis += 1
        else:
            parts.append(slice_text(rng, length, wild=g.extended))
        axis += 1
    if axis < len(shape) or rng.random() < 0.25:
        where = len(parts) if axis < len(shape) and not g.extended else rng.randint(0, len(parts))
        parts.insert(where, "...")
    if not parts:
        return "()" if g.extended and rng.random() < 0.5 else "..."
    if len(parts) == 1 and rng.random() < 0.9:
        return parts[0]
    return ", ".join(parts) + ("," if len(parts) == 1 else "")


def _advanced(g: Builder, shape: Shape, axis: int, together: Shape) -> str:
    rng = g.rng
    pick = rng.random()
    length = shape[axis]
    if pick < 0.15:
        return mask(g, (length,))
    if pick < 0.2 and axis + 1 < len(shape):
        return "mask2 "
    shape_of_indices = together
    if rng.random() < 0.3:
        shape_of_indices = tuple(1 if rng.random() < 0.5 else n for n in together)
    if pick < 0.4 and length and len(shape_of_indices) == 1:
        items = [str(rng.randrange(-length, length)) for _ in range(shape_of_indices[0])]
        return f"[{', '.join(items)}]"
    return arguments.index_array(g, shape_of_indices, length)


def bad_key(g: Builder, shape: Shape) -> str:
    """Return a key that is wrong for an array of that shape."""
    rng = g.rng
    ndim = len(shape)
    first = shape[0] if shape else 1
    return rng.choice(
        (
            *(str(first), str(-first - 1), str(first + 5), "10**30"),
            *(", ".join([":"] * (ndim + 1)), ", ".join(["0"] * (ndim + 1)), "..., ..."),
            *("1.0", "'a'", "::0", "1.5:2", f"xp.asarray([{first}])"),
            *(f"xp.asarray([{-first - 1}, 0])", f"[0, {first}]", "xp.asarray([0.0, 1.0])"),
            f"xp.asarray([True] * {first + 1})",
            "[True, False, True, True, True, True, True]",
            "xp.asarray([0, 1]), xp.asarray([0, 1, 2])" if ndim > 1 else "xp.asarray([9])",
            "0:0, xp.asarray([9])",
            f"xp.asarray([{2**64 - 1}], dtype=xp.uint64)",
            *("{}", "None, 'b'", "xp.float32", "1j", "[]", "[0.5]", "True", "np.asarray([0])"),
        )
    )


def overlap(g: Builder, name: str, shape: Shape) -> str:
    """Return an assignment within one array whose source and destination overlap."""
    rng = g.rng
    length = shape[0]
    count = rng.randint(1, length)
    start, source = rng.randint(0, length - count), rng.randint(0, length - count)
    return rng.choice(
        (
            f"{name}[{start}:{start + count}] = {name}[{source}:{source + count}]",
            f"{name}[...] = {name}[::-1]",
            f"{name}[1:] = {name}[:-1]",
            f"{name}[:-1] = {name}[1:]",
            f"{name}[::-1] = {name}",
            f"{name}[1:] += {name}[:-1]",
            f"{name} += {name}[::-1]",
            f"{name}[:] = {name}[0]",
            f"{name}[::2] -= {name}[0]",
            f"{name} *= {name}[-1]",
        )
    )

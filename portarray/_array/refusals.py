"""What is wrong with a call that a library refused: one message for each condition.

Asked when a library has raised, so that good calls pay nothing. The functions below return why a
call is wrong as a clause (or an error, if it is not a ValueError), or None if they find no fault;
then the library's own error is raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._dtypes.accepted import OPERANDS
from portarray.backends.common import keys

if TYPE_CHECKING:
    from portarray._devices.device import Device

__all__ = ["broadcast", "fault", "key_fault"]

Shape = tuple[int, ...]
Rule = Callable[..., "str | Exception | None"]


def fault(
    name: str, device: Device, operands: Sequence[Any], options: dict[str, Any]
) -> Exception | None:
    """Return the error for a refused call of native arrays, or None if no rule is broken."""
    rule = _RULES.get(name)
    if rule is None:
        return None
    try:
        problem = rule(device, *operands, **options)
    except (AttributeError, RuntimeError, TypeError):
        # Operands of other types than the rule reads, or without values: traced, or failed late.
        return None
    if isinstance(problem, str):
        return ValueError(f"{name} on {device}: {problem}")
    return problem


def broadcast(shapes: Sequence[Shape]) -> str | None:
    """Return why shapes do not broadcast together."""
    for axis in range(-1, -1 - max(map(len, shapes), default=0), -1):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(sizes) > 1:
            listed = _listed(shapes)
            different = _listed(sorted(sizes))
            return (
                f"shapes {listed} cannot be broadcast: sizes {different} along axis {axis}; sizes "
                f"must "
                f"be equal or 1, counted from the last axis\nHint: pa.expand_dims adds an axis of "
                f"size 1"
            )
    return None


def _listed(items: Sequence[Any]) -> str:
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last


def _shape(x: Any) -> Shape:
    return tuple(x.shape) if hasattr(x, "shape") else ()


def _elementwise(_: Device, *operands: Any, **__: Any) -> str | None:
    return broadcast([_shape(x) for x in operands if x is not None])


def _pow(device: Device, x1: Any, x2: Any) -> str | None:
    wrong = _elementwise(device, x1, x2)
    if wrong is not None:
        return wrong
    kinds, least = [], 0
    for x in (x1, x2):
        values = (
            device._backend.read_host(x, device.native) if hasattr(x, "shape") else np.asarray(x)
        )
        kinds.append(values.dtype.kind)
        least = int(values.min()) if values.size and values.dtype.kind == "i" else 0
    if set(kinds) <= {"i", "u"} and least < 0:
        return (
            f"integers cannot be raised to negative powers, and an exponent is {least}\n"
            f"Hint: convert x1 to a floating-point dtype with pa.astype"
        )
    return None


def _matmul(_: Device, x1: Any, x2: Any) -> str | None:
    first, second = _shape(x1), _shape(x2)
    if not first or not second:
        return f"shapes {first} and {second}: a 0-d operand is not a matrix\nHint: use pa.multiply"
    columns, rows = first[-1], second[-2 if len(second) > 1 else 0]
    if columns != rows:
        return (
            f"shapes {first} and {second} do not match: the last axis of x1 has size {columns}, "
            f"and "
            f"the {'second to last' if len(second) > 1 else 'only'} axis of x2 has size {rows}\n"
            f"Hint: x2.mT transposes"
        )
    wrong = broadcast([first[:-2], second[:-2]])
    return None if wrong is None else f"stacks of shapes {first} and {second}: {wrong}"


def _vecdot(_: Device, x1: Any, x2: Any, *, axis: int = -1) -> str | None:
    first, second = _shape(x1), _shape(x2)
    if first[axis] != second[axis]:
        return (
            f"shapes {first} and {second} have sizes {first[axis]} and {second[axis]} along axis "
            f"{axis}; the sizes must be equal"
        )
    return broadcast([first, second])


def _tensordot(_: Device, x1: Any, x2: Any, *, axes: Any = 2) -> str | None:
    first, second = _shape(x1), _shape(x2)
    if isinstance(axes, int):
        axes = (tuple(range(len(first) - axes, len(first))), tuple(range(axes)))
    sizes = [
        tuple(shape[axis] for axis in contracted)
        for shape, contracted in zip((first, second), axes, strict=True)
    ]
    if len(axes[0]) != len(axes[1]):
        return (
            f"axes {axes} list {len(axes[0])} axes of x1 and {len(axes[1])} of x2; the numbers "
            f"must be equal"
        )
    if sizes[0] != sizes[1]:
        return (
            f"shapes {first} and {second}: axes {axes[0]} of x1 have sizes {sizes[0]}, axes "
            f"{axes[1]} of x2 have sizes {sizes[1]}; contracted axes must have equal sizes"
        )
    return None


def _broadcast_to(_: Device, x: Any, *, shape: Shape) -> str | None:
    x_shape = _shape(x)
    missing = len(shape) - len(x_shape)
    if missing < 0 or any(a not in (1, b) for a, b in zip(x_shape, shape[missing:], strict=True)):
        return (
            f"shape {x_shape} cannot be broadcast to {shape}; sizes must be equal or 1, counted "
            f"from "
            f"the last axis"
        )
    return None


def _reshape(
    _: Device, x: Any, *, shape: Shape, copy: bool | None = None
) -> str | Exception | None:
    if not all(hasattr(n, "__index__") for n in shape):
        return TypeError(f"shape is {shape!r}; it must be an integer or a tuple of integers")
    x_shape, size = _shape(x), math.prod(_shape(x))
    if not all(isinstance(n, int) for n in shape):
        return None
    known_size = math.prod(n for n in shape if n != -1)
    if -1 in shape and (size % known_size if known_size else size):
        return f"{size} elements (shape {x_shape}) do not fit shape {shape}"
    if -1 in shape and not known_size:
        return f"shape {shape} does not determine the size that -1 stands for\nHint: write the size"
    if -1 not in shape and known_size != size:
        return (
            f"shape {x_shape} has {size} elements, shape {shape} has {known_size}\nHint: use -1 "
            f"for one size"
        )
    if copy is False:
        return "copy=False, but the new shape needs a copy\nHint: pass copy=None"
    return None


def _concat(_: Device, arrays: Sequence[Any], *, axis: int | None = 0) -> str | None:
    shapes = [_shape(x) for x in arrays]
    if axis is None:
        return None
    first = shapes[0]
    axis %= len(first)
    for shape in shapes:
        if shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            return (
                f"shapes {first} and {shape} differ in axes other than axis {axis}, along which "
                f"they are joined"
            )
    return None


def _stack(_: Device, arrays: Sequence[Any], *, axis: int = 0) -> str | None:
    shapes = [_shape(x) for x in arrays]
    different = next((shape for shape in shapes if shape != shapes[0]), None)
    if different is None:
        return None
    return f"shapes {shapes[0]} and {different} differ; all arrays must have the same shape"


def _extremum(_: Device, x: Any, *, axis: Any = None, keepdims: bool = False) -> str | None:
    shape = _shape(x)
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if any(shape[axis_index] == 0 for axis_index in axes):
        over = "" if axis is None else f" over axis {axis}"
        return (
            f"a reduction of no elements has no identity: shape {shape} is reduced{over}, where it "
            f"is "
            f"empty\nHint: test x.size first, or concatenate a least or greatest value"
        )
    return None


def _matrix_norm(device: Device, x: Any, *, keepdims: bool = False, ord: Any = "fro") -> str | None:
    over = {-1: -1, -2: (-2, -1), -math.inf: -2}.get(ord)
    return None if over is None else _extremum(device, x, axis=over)


def _solve(_: Device, x1: Any, x2: Any) -> str | None:
    first, second = _shape(x1), _shape(x2)
    if not second:
        return f"shapes {first} and (): x2 must have shape (M,) or (..., M, K)"
    rows = second[0] if len(second) == 1 else second[-2]
    if rows != first[-1]:
        return (
            f"shapes {first} and {second} do not match: the matrices have {first[-1]} rows, x2 has "
            f"{rows}\nHint: a stack of vectors has shape (..., M, 1)"
        )
    wrong = broadcast([first[:-2], second[:-2] if len(second) > 1 else ()])
    return None if wrong is None else f"stacks of shapes {first} and {second}: {wrong}"


def _cross(_: Device, x1: Any, x2: Any, *, axis: int = -1) -> str | None:
    return broadcast([_shape(x1), _shape(x2)])


def _repeat(_: Device, x: Any, repeats: Any, *, axis: int | None = None) -> str | None:
    shape, counts = _shape(x), _shape(repeats)
    length = math.prod(shape) if axis is None else shape[axis]
    if counts not in ((), (1,), (length,)):
        return (
            f"repeats of shape {counts} for {length} elements\nHint: pass one number, or one for "
            f"each element"
        )
    return None


def _take(device: Device, x: Any, indices: Any, *, axis: int | None = None) -> Exception | None:
    shape = _shape(x)
    axis = 0 if axis is None else axis
    return outside("take", device, indices, axis, shape)


def _take_along_axis(
    device: Device, x: Any, indices: Any, *, axis: int = -1
) -> str | Exception | None:
    shape, places = list(_shape(x)), list(_shape(indices))
    if len(shape) == len(places):
        del shape[axis], places[axis]
        wrong = broadcast([tuple(shape), tuple(places)])
        if wrong:
            return (
                f"x of shape {_shape(x)} and indices of shape {_shape(indices)} must broadcast "
                f"except "
                f"along axis {axis}: {wrong}"
            )
    return outside("take_along_axis", device, indices, axis, _shape(x))


def _embedding(device: Device, indices: Any, weight: Any, *_: Any, **__: Any) -> Exception | None:
    return outside("kernels.embedding", device, indices, 0, _shape(weight), lowest=0)


def _packed_embedding(device: Device, indices: Any, data: Any, *_: Any, **__: Any) -> Any:
    shape = _shape(data)
    rows = math.prod((shape[0], *shape[2:]))
    return outside("kernels.embedding", device, indices, 0, (rows,), lowest=0)


def _cross_entropy(
    device: Device, logits: Any, targets: Any, *, ignore_index: int = -100, **_: Any
) -> Exception | None:
    classes = device._backend.read_host(targets, device.native)
    classes = classes[classes != ignore_index]
    return outside("kernels.cross_entropy", device, classes, -1, _shape(logits), lowest=0)


def outside(
    name: str,
    device: Device,
    indices: Any,
    axis: int,
    shape: Shape,
    *,
    lowest: int | None = None,
) -> IndexError | None:
    """Return the error for the first index that is out of bounds, or None.

    Negative ones count from the end, unless another lowest one is given.
    """
    host = isinstance(indices, np.ndarray)
    read = indices if host else device._backend.read_host(indices, device.native)
    size = shape[axis]
    lowest = -size if lowest is None else lowest
    # Unsigned and signed bounds meet in Python's integers.
    for index in (int(read.min()), int(read.max())) if read.size else ():
        if not lowest <= index < size:
            return IndexError(
                f"{name} on {device}: index {index} is out of bounds for axis {axis % len(shape)} "
                f"of size {size} (shape {shape})"
            )
    return None


def key_fault(
    name: str, device: Device, shape: Shape, key: Sequence[Any], value: Any
) -> Exception | None:
    """Return the error for a key that a library refused, or for a value assigned there, or None."""
    backend = device._backend
    read = partial(backend.read_host, device=device.native)
    axis, used = 0, sum(_width(part) for part in key)
    try:
        for part in key:
            if hasattr(part, "dtype") and "bool" not in str(part.dtype):
                wrong = outside(name, device, part, axis, shape)
                if wrong is not None:
                    return wrong
            axis += len(shape) - used if part is Ellipsis else _width(part)
        selected = keys.selected_shape(shape, tuple(key), read)
    except IndexError as mismatch:
        return IndexError(f"{name} on {device}: {mismatch}")
    except (RuntimeError, TypeError):  # without values: traced by JAX, or failed late in MLX
        return None
    if selected is None or not backend.owns(value):
        return None
    value_shape = tuple(value.shape)
    with suppress(ValueError):
        if np.broadcast_shapes(keys.without_leading_ones(value_shape), selected) == selected:
            return None
    return ValueError(
        f"{name} on {device}: values of shape {value_shape} cannot be broadcast to the selected "
        f"shape {selected}\nHint: reshape the values or change the key"
    )


def _width(part: Any) -> int:
    """Return how many axes a part of a key takes."""
    if part is None or part is Ellipsis:
        return 0
    return len(part.shape) if "bool" in str(getattr(part, "dtype", "")) else 1


_PRODUCTS: dict[str, Rule] = {"matmul": _matmul, "vecdot": _vecdot, "tensordot": _tensordot}
_NOT_ELEMENTWISE = frozenset(("concat", "isin", "linalg.outer", "searchsorted", "stack"))

_RULES: dict[str, Rule] = {
    **{name: _elementwise for name in OPERANDS if name not in _NOT_ELEMENTWISE},
    **dict.fromkeys(("broadcast_arrays", "clip", "where"), _elementwise),
    **_PRODUCTS,
    **{f"linalg.{name}": rule for name, rule in _PRODUCTS.items()},
    **dict.fromkeys(("argmax", "argmin", "max", "min"), _extremum),
    "broadcast_to": _broadcast_to,
    "concat": _concat,
    "linalg.cross": _cross,
    "linalg.matrix_norm": _matrix_norm,
    "linalg.solve": _solve,
    "pow": _pow,
    "repeat": _repeat,
    "reshape": _reshape,
    "stack": _stack,
    "take": _take,
    "kernels.embedding": _embedding,
    "kernels.packed_embedding": _packed_embedding,
    "kernels.cross_entropy": _cross_entropy,
    "take_along_axis": _take_along_axis,
}

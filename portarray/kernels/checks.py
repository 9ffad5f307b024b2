"""Argument checks of the kernels: shapes, dtypes, ranges of options.

One function for each kernel takes its arrays by position and its options by name, and puts options
into the form that every version expects. Values of arrays are never read, since that would wait for
the device. Valid calls pass with few look-ups; everything else is work for the error messages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

from portarray._api import arguments
from portarray._array import array as _array
from portarray._array import dispatch, dtypes
from portarray._array.kernel import is_untraced, shape_of
from portarray._array.operands import refused

Arrays = Sequence[Any]
Options = dict[str, Any]

# --- products -----------------------------------------------------------------------------------


def matmul(name: str, arrays: Arrays, options: Options) -> None:
    """Check the operands of a product of matrices."""
    x1, x2 = arrays
    _numeric(name, "x1", x1)
    _same_table(name, "x1", x1, "x2", x2)
    first, second = x1.shape, x2.shape
    if len(first) == 2 == len(second) and first[1] == second[0]:
        return
    if not first or not second:
        raise ValueError(
            f"{name} got x1 of shape {first} and x2 of shape {second}; "
            f"each needs at least one axis, as a vector has"
        )
    if first[-1] != second[-2 if len(second) > 1 else 0]:
        axis = "the last axis but one" if len(second) > 1 else "the axis"
        raise ValueError(
            f"{name} got x1 of shape {first} and x2 of shape {second}; "
            f"the last axis of x1 must be as long as {axis} of x2"
        )
    if len(first) > 2 and len(second) > 2 and not _meet(first[:-2], second[:-2]):
        raise ValueError(
            f"{name} got x1 of shape {first} and x2 of shape {second}; "
            f"the axes before the matrices must be equal or 1"
        )


def gemm(name: str, arrays: Arrays, options: Options) -> None:
    """Check two matrices, the one that is written, and factors."""
    a, b = arrays
    out = options["out"]
    _matrices(name, "a", a)
    _same_table(name, "a", a, "b", b)
    shapes = [shape_of(a), shape_of(b)]
    for place, key in enumerate(("transpose_a", "transpose_b")):
        options[key] = bool(options[key])
        if options[key]:
            shapes[place] = shapes[place][::-1]
    first, second = shapes
    if len(first) != 2 or len(second) != 2 or first[1] != second[0]:
        raise ValueError(
            f"{name} got a of shape {a.shape} and b of shape {b.shape}, "
            f"transpose_a={options['transpose_a']} and transpose_b={options['transpose_b']}; it "
            f"takes (M, K) and (K, N) then, and kernels.matmul takes stacks and vectors"
        )
    for key in ("alpha", "beta"):
        value = options[key]
        if type(value) is not float:
            options[key] = _factor(name, key, value, a)
    options["in_place"] = out is not None and is_untraced(a, b, out)
    if out is None:
        if options["beta"] != 0:
            raise ValueError(f"{name} got beta={options['beta']} and no out that it multiplies")
        return
    _same_table(name, "a", a, "out", out)
    if shape_of(out) != (first[0], second[1]):
        raise ValueError(
            f"{name} got a product of shape {(first[0], second[1])} and out of shape {out.shape}; "
            f"they must be equal"
        )


def _factor(name: str, key: str, value: Any, a: Any) -> Any:
    if isinstance(value, complex) and a._table.kind == "c":
        return complex(value)
    if isinstance(value, complex):
        raise TypeError(f"{name} got {key}={value} and a of {a.dtype}; use a real number")
    return _number(value, key)


def solve_triangular(name: str, arrays: Arrays, options: Options) -> None:
    """Check a square matrix and right-hand sides."""
    a, b = arrays
    _matrices(name, "a", a)
    _same_table(name, "a", a, "b", b)
    for key in ("lower", "transpose", "unit_diagonal"):
        options[key] = bool(options[key])
    first, second = shape_of(a), shape_of(b)
    if len(first) < 2 or first[-1] != first[-2]:
        raise ValueError(f"{name} got a of shape {a.shape}; it takes square matrices, (..., N, N)")
    n = first[-1]
    if not second or second[-2 if len(second) > 1 else 0] != n:
        raise ValueError(
            f"{name} got a of shape {a.shape} and b of shape {b.shape}; "
            f"b must be ({n},) or (..., {n}, K)"
        )
    if not _meet(first[:-2], second[:-2]):
        raise ValueError(
            f"{name} got a of shape {a.shape} and b of shape {b.shape}; "
            f"the axes before the matrices must be equal or 1"
        )


def linear(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array, a weight of shape (out, in) and a bias."""
    x, weight, bias = arrays
    _numeric(name, "x", x)
    _same_table(name, "x", x, "weight", weight)
    shape, matrix = shape_of(x), shape_of(weight)
    if len(matrix) != 2 or not shape or shape[-1] != matrix[1]:
        raise ValueError(
            f"{name} got x of shape {x.shape} and weight of shape {weight.shape}; "
            f"x must be (..., in) and weight (out, in)"
        )
    if bias is not None:
        _same_table(name, "x", x, "bias", bias)
        if shape_of(bias) != (matrix[0],):
            raise ValueError(
                f"{name} got weight of shape {weight.shape} and bias of shape {bias.shape}; "
                f"with a weight of shape (out, in) the bias must be ({matrix[0]},)"
            )


def embedding(name: str, arrays: Arrays, options: Options) -> None:
    """Check indices and a table."""
    indices, weight = arrays
    _array_of_integers(name, "indices", indices)
    _array_only(name, weight)
    if weight.ndim != 2:
        raise ValueError(
            f"{name} got weight of shape {weight.shape}; it must be a table, (rows, dim)"
        )


def packed_linear(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array and a bias for a packed matrix, whose parts fit."""
    x, bias, data, _ = arrays
    _floating("linear", "x", x)
    layout = options["layout"]
    matrix = data.shape[0], data.shape[1] // layout.nbytes * layout.block
    if x.ndim == 0 or x.shape[-1] != matrix[1]:
        raise ValueError(
            f"linear got x of shape {x.shape} and a packed weight of shape {matrix}; "
            f"x must be (..., in) and weight (out, in)"
        )
    if bias is not None:
        _same_table("linear", "x", x, "bias", bias)
        if bias.shape != matrix[:1]:
            raise ValueError(
                f"linear got a packed weight of shape {matrix} and bias of shape {bias.shape}; "
                f"with a weight of shape (out, in) the bias must be ({matrix[0]},)"
            )


def fused_linear(x: Any, weight: Any, norm: Any, residual: Any, gated: bool) -> None:
    """Check what :func:`linear` does not: what stands around it."""
    _floating("fused_linear", "x", x)
    shape: tuple[int, ...] = getattr(weight, "shape", ())
    if len(shape) != 2 or x.ndim == 0 or x.shape[-1] != shape[1]:
        return  # linear says so
    if gated and shape[0] % 2:
        raise ValueError(
            f"fused_linear got gated=True and weight of shape {shape}; gates and what they let "
            f"through are halves of its rows, so that their number must be even"
        )
    if norm is not None:
        _same_table("fused_linear", "x", x, "norm", norm)
    if residual is not None:
        _same_table("fused_linear", "x", x, "residual", residual)
        out = (*x.shape[:-1], shape[0] // 2 if gated else shape[0])
        if residual.shape != out:
            raise ValueError(
                f"fused_linear got residual of shape {residual.shape}; it is added to a result of "
                f"shape {out}"
            )


def packed_embedding(name: str, arrays: Arrays, options: Options) -> None:
    """Check the indices of rows of a packed table."""
    _array_of_integers("embedding", "indices", arrays[0])


def activations(value: str, weight: Any) -> None:
    """Check what a product with a packed weight rounds its other factor to."""
    if value != "int8":
        raise ValueError(f"linear got activations={value!r}; use 'int8' or None")
    if type(weight) is _array.Array:
        raise ValueError(f"linear got activations={value!r} for a weight that is not packed")


def in_blocks(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array whose last axis is cut into groups of 32."""
    _floating("linear", "x", arrays[0])
    if arrays[0].ndim == 0 or arrays[0].shape[-1] % 32:
        raise ValueError(
            f"linear got x of shape {arrays[0].shape}, which does not fit a packed weight: its "
            "rows are a multiple of 32"
        )


def matrix(name: str, x: Any) -> None:
    """Check a matrix of floating-point numbers."""
    _floating(name, "x", x)
    if x.ndim != 2:
        raise ValueError(f"{name} got x of shape {x.shape}; it takes a matrix, (out, in)")


# --- softmax and activations --------------------------------------------------------------------


def floating(name: str, arrays: Arrays, options: Options) -> None:
    """Check one array of any shape."""
    _floating(name, "x", arrays[0])


def softmax(name: str, arrays: Arrays, options: Options) -> None:
    """Check one array and an axis of it."""
    x = arrays[0]
    _floating(name, "x", x)
    axis = options["axis"]
    if axis != -1 or type(axis) is not int or x.ndim == 0:
        options["axis"] = arguments.axis(axis, x)


def gelu(name: str, arrays: Arrays, options: Options) -> None:
    """Check one array and the name of the formula."""
    _floating(name, "x", arrays[0])
    arguments.choice(options["approximate"], "approximate", ("none", "tanh"))


# --- normalization ------------------------------------------------------------------------------


def rms_norm(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array and a weight for its last axis."""
    x, weight = arrays
    _floating(name, "x", x)
    _vector(name, x, "weight", weight, _last(name, x, options))


def layer_norm(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array, a weight and a bias for its last axis."""
    x, weight, bias = arrays
    _floating(name, "x", x)
    last = _last(name, x, options)
    _vector(name, x, "weight", weight, last)
    _vector(name, x, "bias", bias, last)


def _last(name: str, x: Any, options: Options) -> tuple[int, ...]:
    """Return the shape of the last axis alone, after checking that there is one; and eps."""
    shape = shape_of(x)
    if not shape:
        raise ValueError(f"{name} got a 0-d array; it normalizes the last axis, so it needs one")
    eps = options["eps"]
    if type(eps) is not float:
        eps = options["eps"] = _number(eps, "eps")
    if not eps >= 0.0:
        raise ValueError(f"eps is {eps}; it must not be negative")
    return (shape[-1],)


def _vector(name: str, x: Any, what: str, vector: Any, shape: tuple[int, ...]) -> None:
    """Check an optional array as long as the last axis of x."""
    if vector is None:
        return
    _same_table(name, "x", x, what, vector)
    if shape_of(vector) != shape:
        raise ValueError(
            f"{name} got x of shape {x.shape} and {what} of shape {vector.shape}; "
            f"{what} must be as long as the last axis of x: ({x.shape[-1]},)"
        )


# --- positions ----------------------------------------------------------------------------------


def rope(name: str, arrays: Arrays, options: Options) -> None:
    """Check an array, and its positions or tables."""
    x, positions = arrays
    tables = options["tables"]
    _floating(name, "x", x)
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"{name} got x of shape {x.shape}; it must be (..., length, dim)")
    if type(options["interleaved"]) is not bool:
        options["interleaved"] = bool(options["interleaved"])
    if tables is not None:
        if positions is not None:
            raise TypeError(
                f"{name} got both positions and tables; tables hold the angles of the positions "
                f"already, so give one of the two"
            )
        if type(tables) is not tuple or len(tables) != 2:
            tables = options["tables"] = _pair(name, tables)
        _tables(name, x, shape, *tables)
        return
    options["theta"] = _theta(options["theta"])
    _even(name, shape[-1], f"x has shape {x.shape}")
    if positions is not None:
        _array_of_integers(name, "positions", positions)
        if shape_of(positions) != (shape[-2],) and not _fits(positions.shape, shape[:-1]):
            raise ValueError(
                f"{name} got x of shape {x.shape} and positions of shape {positions.shape}; "
                f"positions must broadcast to {x.shape[:-1]}, as ({shape[-2]},) does"
            )


def _pair(name: str, tables: Any) -> tuple[Any, Any]:
    """Return the two tables as a tuple."""
    if not isinstance(tables, (tuple, list)) or len(tables) != 2:
        raise TypeError(
            f"{name} got tables of type {type(tables).__name__}; give a pair (cos, sin), "
            f"as pa.kernels.rope_tables returns it"
        )
    return tables[0], tables[1]


def _tables(name: str, x: Any, shape: tuple[int, ...], cos: Any, sin: Any) -> None:
    """Check the tables of cosines and sines."""
    if type(cos) is not _array.Array or cos._table is not x._table:
        _same_table(name, "x", x, "tables[0]", cos)
    if type(sin) is not _array.Array or sin._table is not x._table:
        _same_table(name, "x", x, "tables[1]", sin)
    size = shape_of(cos)
    if shape_of(sin) != size:
        raise ValueError(
            f"{name} got tables of shapes {cos.shape} and {sin.shape}; they must be equal"
        )
    if not size or 2 * size[-1] > shape[-1]:
        raise ValueError(
            f"{name} got x of shape {x.shape} and tables of shape {cos.shape}; the last axis of "
            f"the tables must be at most half as long as that of x: {shape[-1] // 2}"
        )
    plain = len(size) == 2 and size[0] == shape[-2]
    if not plain and not _fits(size[:-1], shape[:-1]):
        raise ValueError(
            f"{name} got x of shape {x.shape} and tables of shape {cos.shape}; "
            f"the axes before the last must broadcast to {x.shape[:-1]}, as ({shape[-2]},) does"
        )


def rope_tables(name: str, arrays: Arrays, options: Options) -> None:
    """Check positions and the number of features."""
    _array_of_integers(name, "positions", arrays[0])
    options["dimensions"] = arguments.size(options["dimensions"], "dimensions")
    _even(name, options["dimensions"], f"dimensions is {options['dimensions']}")
    options["theta"] = _theta(options["theta"])
    dtype = options["dtype"]
    device = arrays[0].device
    if dtype is None:
        options["dtype"] = dispatch.default_dtype(device, "f")
    else:
        options["dtype"] = dispatch.table_of(device, dtypes.canonical(dtype)).dtype
    if dtypes.kind_of(options["dtype"]) != "f":
        raise TypeError(f"dtype is {dtype}; angles have a real floating-point dtype")


def _theta(theta: Any) -> float:
    found = _number(theta, "theta")
    if not 0 < found < math.inf:
        raise ValueError(f"theta is {found}; it must be a positive number")
    return found


def _even(name: str, dimensions: int, given: str) -> None:
    if dimensions % 2 or not dimensions:
        what = "odd" if dimensions else "none"
        raise ValueError(
            f"{name} turns pairs of features, and {dimensions} is {what}: {given}; use an even "
            f"number, or turn only a part of the features with tables of rope_tables"
        )


# --- attention ----------------------------------------------------------------------------------


def attention(name: str, arrays: Arrays, options: Options) -> None:
    """Check queries, keys, values, the mask and the number of keys."""
    q, k, v = arrays
    _floating(name, "q", q)
    if type(k) is not _array.Array or k._table is not q._table:
        _same_table(name, "q", q, "k", k)
    if type(v) is not _array.Array or v._table is not q._table:
        _same_table(name, "q", q, "v", v)
    queries, keys, values = shape_of(q), shape_of(k), shape_of(v)
    axes = len(queries)
    if axes < 2 or axes != len(keys) or axes != len(values):
        raise ValueError(
            f"{name} got q of shape {q.shape}, k of shape {k.shape} and v of shape {v.shape}; "
            f"they need the same number of axes, two or more: (..., heads, length, dim)"
        )
    if keys != values and keys[:-1] != values[:-1]:
        raise ValueError(
            f"{name} got k of shape {k.shape} and v of shape {v.shape}; "
            f"all axes but the last must be equal"
        )
    if queries[-1] != keys[-1] or (axes > 3 and queries[:-3] != keys[:-3]):
        raise ValueError(
            f"{name} got q of shape {q.shape} and k of shape {k.shape}; "
            f"the last axis and all axes before the heads must be equal"
        )
    if not queries[-1]:
        raise ValueError(
            f"{name} got q of shape {q.shape} and k of shape {k.shape}; "
            f"the last axis must not be empty, since scores are made of it"
        )
    if axes > 2:
        heads, shared = queries[-3], keys[-3]
        if heads != shared and (not shared or heads % shared):
            raise ValueError(
                f"{name} got q of shape {q.shape} and k of shape {k.shape}: {heads} heads of "
                f"queries cannot share {shared} heads of keys; the one number must divide the other"
            )
    scale, causal = options["scale"], options["causal"]
    if scale is not None and type(scale) is not float:
        options["scale"] = _number(scale, "scale")
    if type(causal) is not bool:
        options["causal"] = bool(causal)
    mask = options["mask"]
    if mask is not None:
        _mask(name, q, mask, (*q.shape[:-1], keys[-2]))
    length = options["key_length"]
    if length is not None:
        options["key_length"] = _key_length(name, q, length, k, keys[-2])


def _mask(name: str, q: Any, mask: Any, scores: tuple[int, ...]) -> None:
    _array_only(name, mask)
    dispatch.require_same_device(name, q._table, mask._table)
    if mask._table.kind != "b" and mask.dtype != q.dtype:
        raise TypeError(
            f"{name} got a mask of {mask.dtype} with q of {q.dtype}; a mask is bool, True where a "
            f"query attends to a key, or of q's dtype and added to the scores. "
            f"Convert it: pa.astype(mask, pa.bool) or pa.astype(mask, q.dtype)"
        )
    if not _fits(mask.shape, scores):
        raise ValueError(
            f"{name} got a mask of shape {mask.shape}, and q and k make scores of shape {scores}; "
            f"the mask must broadcast to that"
        )


def _key_length(name: str, q: Any, length: Any, k: Any, keys: int) -> Any:
    """Return a number of keys as an int where it is one, after checking it."""
    if type(length) is _array.Array:
        dispatch.require_same_device(name, q._table, length._table)
        if length.ndim or length._table.kind not in "iu":
            raise TypeError(
                f"{name} got key_length of shape {length.shape} and {length.dtype}; "
                f"it must be an int or a 0-d array of integers"
            )
        return length
    try:
        number = length if type(length) is int else index(length)
    except TypeError:
        raise TypeError(
            f"key_length is {length!r}; it must be an int or a 0-d array of integers, "
            f"made with pa.asarray(n, device=...)"
        ) from None
    if not 0 <= number <= keys:
        raise ValueError(
            f"key_length is {number}, and k of shape {k.shape} has {keys} keys; "
            f"use a number from 0 to {keys}"
        )
    return number


# --- losses -------------------------------------------------------------------------------------


def cross_entropy(name: str, arrays: Arrays, options: Options) -> None:
    """Check logits and target classes."""
    logits, targets = arrays
    _floating(name, "logits", logits)
    _array_of_integers(name, "targets", targets)
    shape = logits.shape
    if not shape or shape[-1] == 0:
        raise ValueError(
            f"{name} got logits of shape {shape}; they need a last axis of at least one class"
        )
    if targets.shape != shape[:-1]:
        raise ValueError(
            f"{name} got logits of shape {shape} and targets of shape {targets.shape}; "
            f"with {shape[-1]} classes in the last axis, targets must have shape {shape[:-1]}"
        )
    arguments.choice(options["reduction"], "reduction", ("mean", "sum", "none"))
    ignored = options["ignore_index"]
    try:
        options["ignore_index"] = index(ignored)
    except TypeError:
        raise TypeError(f"ignore_index is {ignored!r}; it must be an integer") from None
    smoothing = options["label_smoothing"] = _number(options["label_smoothing"], "label_smoothing")
    if not 0 <= smoothing <= 1:
        raise ValueError(f"label_smoothing is {smoothing}; it must be between 0 and 1")


# --- what all have in common --------------------------------------------------------------------


def _array_only(name: str, x: Any) -> None:
    if type(x) is not _array.Array:
        raise refused(x, name, scalars=False)


def _floating(name: str, what: str, x: Any) -> None:
    """Refuse what is no array of real floating-point numbers."""
    if type(x) is not _array.Array:
        raise refused(x, name, scalars=False)
    if x._table.kind != "f":
        raise TypeError(
            f"{name} got {what} of {x.dtype}; it takes real floating-point arrays, "
            f"convert it with pa.astype(x, pa.float32) first"
        )


def _matrices(name: str, what: str, x: Any) -> None:
    """Refuse what is no array of real or complex floating-point numbers."""
    _array_only(name, x)
    if x._table.kind not in "fc":
        raise TypeError(
            f"{name} got {what} of {x.dtype}; it takes floating-point arrays, "
            f"convert it with pa.astype(x, pa.float32) first"
        )


def _numeric(name: str, what: str, x: Any) -> None:
    """Refuse what is no array of numbers."""
    _array_only(name, x)
    if x._table.kind == "b":
        raise TypeError(
            f"{name} got {what} of bool; it takes numeric arrays, convert it with pa.astype first"
        )


def _array_of_integers(name: str, what: str, x: Any) -> None:
    _array_only(name, x)
    if x._table.kind not in "iu":
        raise TypeError(
            f"{name} got {what} of {x.dtype}; they must have an integer dtype, "
            f"convert them with pa.astype(x, pa.int32) first"
        )


def _same_table(name: str, first: str, x: Any, second: str, y: Any) -> None:
    """Refuse an array of another device or dtype than the first: nothing is converted unasked."""
    if type(y) is not _array.Array:
        raise refused(y, name, scalars=False)
    if y._table is not x._table:
        dispatch.require_same_device(name, x._table, y._table)
        if y.dtype != x.dtype:
            raise TypeError(
                f"{name} got {first} of {x.dtype} and {second} of {y.dtype}; the arrays of one "
                f"call share a dtype, convert one of them: pa.astype({second}, pa.{x.dtype})"
            )


def _number(value: Any, name: str) -> float:
    return value if type(value) is float else float(arguments.real_number(value, name))


def _fits(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Tell whether a shape broadcasts to another."""
    return len(shape) <= len(to) and all(
        size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(to), strict=False)
    )


def _meet(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Tell whether two shapes broadcast to one."""
    pairs = zip(reversed(first), reversed(second), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)

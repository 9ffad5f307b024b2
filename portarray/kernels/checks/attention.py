"""Checks of attention."""

from __future__ import annotations

from operator import index
from typing import Any

from portarray._array import array as _array
from portarray._array import dispatch
from portarray._array.kernel import shape_of
from portarray.kernels.checks import common
from portarray.kernels.checks.common import Arrays, Options, misfit


def attention(name: str, arrays: Arrays, options: Options) -> None:
    """Check queries, keys, values, the mask and the number of keys."""
    q, k, v = arrays
    common.floating(name, "q", q)
    if type(k) is not _array.Array or k._dispatch is not q._dispatch:
        common.same_table(name, "q", q, "k", k)
    if type(v) is not _array.Array or v._dispatch is not q._dispatch:
        common.same_table(name, "q", q, "v", v)
    queries, keys, values = shape_of(q), shape_of(k), shape_of(v)
    axes = len(queries)
    if axes < 2 or axes != len(keys) or axes != len(values):
        rule = "they must have the same number of axes, two or more: (..., heads, length, dim)"
        raise misfit(name, rule, q=q, k=k, v=v)
    if keys != values and keys[:-1] != values[:-1]:
        raise misfit(name, "all axes but the last must be equal", k=k, v=v)
    if queries[-1] != keys[-1] or (axes > 3 and queries[:-3] != keys[:-3]):
        raise misfit(name, "the last axis and all axes before the heads must be equal", q=q, k=k)
    if not queries[-1]:
        raise misfit(name, "the last axis must not be empty", q=q, k=k)
    if axes > 2:
        heads, shared = queries[-3], keys[-3]
        if heads != shared and (not shared or heads % shared):
            rule = f"{heads} heads of queries cannot share {shared} heads of keys"
            raise misfit(name, f"{rule}: the number of keys must divide that of queries", q=q, k=k)
    scale, causal = options["scale"], options["causal"]
    if scale is not None and type(scale) is not float:
        options["scale"] = common.real(scale, "scale")
    if type(causal) is not bool:
        options["causal"] = bool(causal)
    mask = options["mask"]
    if mask is not None:
        _mask(name, q, mask, (*q.shape[:-1], keys[-2]))
    length = options["key_length"]
    if length is not None:
        options["key_length"] = _key_length(name, q, length, k, keys[-2])


def _mask(name: str, q: Any, mask: Any, scores: tuple[int, ...]) -> None:
    common.array(name, mask)
    dispatch.require_same_device(name, q._dispatch, mask._dispatch)
    if mask._dispatch.kind != "b" and mask.dtype != q.dtype:
        raise TypeError(
            f"{name}: mask of {mask.dtype} must be bool, True where a query attends to a key, "
            f"or of q's dtype {q.dtype} and added to the scores"
            f"\nHint: convert it with pa.astype(mask, pa.bool) or pa.astype(mask, q.dtype)"
        )
    if not common.broadcasts_to(mask.shape, scores):
        raise misfit(name, f"it must broadcast to the scores of q and k, {scores}", mask=mask)


def _key_length(name: str, q: Any, length: Any, k: Any, keys: int) -> Any:
    """Return the number of keys: an int, or an array as it is."""
    if type(length) is _array.Array:
        dispatch.require_same_device(name, q._dispatch, length._dispatch)
        if length.ndim or length._dispatch.kind not in "iu":
            raise TypeError(
                f"{name}: key_length of shape {length.shape} and {length.dtype} must be an int or "
                f"a 0-d array of integers"
            )
        return length
    try:
        value = length if type(length) is int else index(length)
    except TypeError:
        raise TypeError(
            f"{name}: key_length is {length!r}; it must be an int or a 0-d array of integers"
        ) from None
    if not 0 <= value <= keys:
        raise ValueError(
            f"{name}: key_length is {value}; k of shape {k.shape} has {keys} keys"
            f"\nHint: pass a number from 0 to {keys}"
        )
    return value

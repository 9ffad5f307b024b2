"""Checks that several kernels share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from portarray._api import arguments
from portarray._array import array as _array
from portarray._array import dispatch
from portarray._array.kernel import shape_of
from portarray._array.operands import refused

Arrays = Sequence[Any]
Options = dict[str, Any]


def misfit(name: str, rule: str, /, **arrays: Any) -> ValueError:
    """Return the error for shapes that do not follow a rule."""
    shapes = " and ".join(f"{key} of shape {x.shape}" for key, x in arrays.items())
    return ValueError(f"{name}: {shapes}; {rule}")


def wrong_dtype(name: str, role: str, x: Any, kinds: str, hint: str) -> TypeError:
    """Return the error for an array of the wrong kind of dtype."""
    return TypeError(f"{name}: {role} of {x.dtype} must be {kinds}\nHint: convert it with {hint}")


def array(name: str, x: Any) -> None:
    """Refuse anything but an array."""
    if type(x) is not _array.Array:
        raise refused(x, name, scalars=False)


def floating(name: str, role: str, x: Any) -> None:
    """Refuse anything but an array of real floating-point numbers."""
    if type(x) is not _array.Array:
        raise refused(x, name, scalars=False)
    if x._dispatch.kind != "f":
        raise wrong_dtype(name, role, x, "a real floating-point array", "pa.astype(x, pa.float32)")


def inexact(name: str, role: str, x: Any) -> None:
    """Refuse anything but an array of real or complex floating-point numbers."""
    array(name, x)
    if x._dispatch.kind not in "fc":
        raise wrong_dtype(name, role, x, "a floating-point array", "pa.astype(x, pa.float32)")


def numeric(name: str, role: str, x: Any) -> None:
    """Refuse anything but an array of numbers."""
    array(name, x)
    if x._dispatch.kind == "b":
        raise wrong_dtype(name, role, x, "a numeric array", "pa.astype")


def integers(name: str, role: str, x: Any) -> None:
    """Refuse anything but an array of integers."""
    array(name, x)
    if x._dispatch.kind not in "iu":
        raise wrong_dtype(name, role, x, "an integer array", "pa.astype(x, pa.int32)")


def same_table(name: str, first: str, x: Any, second: str, y: Any) -> None:
    """Refuse an array of another device or dtype than the first: kernels do not promote."""
    if type(y) is not _array.Array:
        raise refused(y, name, scalars=False)
    if y._dispatch is not x._dispatch:
        dispatch.require_same_device(name, x._dispatch, y._dispatch)
        if y.dtype != x.dtype:
            raise TypeError(
                f"{name}: {first} of {x.dtype} and {second} of {y.dtype} must have the same dtype"
                f"\nHint: convert one of them, for example pa.astype({second}, pa.{x.dtype})"
            )


def bias(name: str, x: Any, weight: Any, rows: int, vector: Any) -> None:
    """Check the optional bias for a weight of so many rows."""
    if vector is None:
        return
    same_table(name, "x", x, "bias", vector)
    if shape_of(vector) != (rows,):
        rule = f"with a weight of shape (out, in) the bias must be ({rows},)"
        raise misfit(name, rule, weight=weight, bias=vector)


def real(value: Any, name: str) -> float:
    """Return a real number as a float."""
    return value if type(value) is float else float(arguments.real_number(value, name))


def broadcasts_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Return whether a shape broadcasts to another."""
    return len(shape) <= len(target) and all(
        size in (1, length) for size, length in zip(reversed(shape), reversed(target), strict=False)
    )


def broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Return whether two shapes broadcast to one."""
    pairs = zip(reversed(first), reversed(second), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)

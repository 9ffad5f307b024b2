"""Attributes and methods of the array object; indexing and assignment."""

from __future__ import annotations

import functools
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis.extra.array_api import make_strategies_namespace

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call, raises
from portarray_conformance.promotion import ALL, COMPLEXES, FLOATS, INTEGERS, REAL, promote
from portarray_conformance.target import NumpyArray, Target

_SHAPES = (*draw.AXIS_SHAPES, (), (0,), (2, 0))


@functools.cache
def _indices(shape: tuple[int, ...], newaxis: bool) -> st.SearchStrategy[Any]:
    """Indices that the standard defines for a shape: integers, slices, ``...`` and None."""
    # The strategy depends on the shape alone; NumPy only names a version of the standard.
    strategies = make_strategies_namespace(np, api_version="2023.12")
    indices: st.SearchStrategy[Any] = strategies.indices(shape, allow_newaxis=newaxis)
    return indices


def _distinct(target: Target, data: Draw, name: str, shape: tuple[int, ...]) -> NumpyArray:
    """Draw an array; other than booleans all elements differ, so that no mix-up can hide."""
    if name == "bool":
        return draw.array(data, name, shape)
    return (np.arange(math.prod(shape)) + 1).astype(name).reshape(shape)


def _attribute(name: str, target: Target, data: Draw) -> None:
    """Sizes of the axes, the number of axes and of elements, as Python integers."""
    x = np.ones(draw.shape(data, _SHAPES), dtype=draw.dtype(target, data, ALL))
    got, want = getattr(target.put(x), name), getattr(x, name)
    if name == "shape":
        good = tuple(got) == want and all(isinstance(n, int) for n in got)
    else:
        good = isinstance(got, int) and got == want
    if not good:
        raise AssertionError(f"x.{name} with shape {x.shape}: got {got!r}, wanted {want!r}")


for _name in ("shape", "ndim", "size"):
    case(f"array.{_name}", "values")(functools.partial(_attribute, _name))


@case("array.dtype", "values")
def dtype(target: Target, data: Draw) -> None:
    """The namespace's dtype."""
    name = draw.dtype(target, data, ALL)
    x = target.put(np.ones((2,), dtype=name))
    if x.dtype != target.dtype(name):
        raise AssertionError(f"x.dtype: got {x.dtype!r}, wanted {name}")


@case("array.device", "values")
def device(target: Target, data: Draw) -> None:
    """A device that creation functions accept, and that results keep."""
    x = target.put(np.ones((2,), dtype=draw.dtype(target, data, REAL)))
    if target.device is not None and x.device != target.device:
        raise AssertionError(f"x.device: got {x.device!r}, wanted {target.device!r}")
    zeros = target.function("zeros")((2,), device=x.device, dtype=x.dtype)
    for y in (zeros, zeros + x, x[:1]):
        if y.device != x.device:
            raise AssertionError(f"a result is on {y.device!r}, its input on {x.device!r}")


@case("array.to_device", "values")
def to_device(target: Target, data: Draw) -> None:
    """Moving to the array's device keeps the data."""
    _, x = draw.typed_array(target, data, ALL, _SHAPES, draw.ANY)
    moved = target.put(x)
    out = moved.to_device(moved.device)
    compare.same(target, out, x, Call("x.to_device(x.device)", {"x": x}))
    if out.device != moved.device:
        raise AssertionError(f"x.to_device(x.device) is on {out.device!r}")


@case("array.T", "values")
def transposed(target: Target, data: Draw) -> None:
    """Rows and columns of a matrix exchanged."""
    name = draw.dtype(target, data, ALL)
    x = _distinct(target, data, name, draw.shape(data, ((2, 3), (3, 1), (0, 2), (1, 1))))
    compare.same(target, draw.put(target, data, x).T, x.transpose(1, 0), Call("x.T", {"x": x}))


@case("array.mT", "values")
def matrix_transposed(target: Target, data: Draw) -> None:
    """The last two axes exchanged."""
    name = draw.dtype(target, data, ALL)
    x = _distinct(target, data, name, draw.shape(data, ((2, 3), (2, 3, 4), (2, 1, 2, 3), (0, 2))))
    compare.same(
        target, draw.put(target, data, x).mT, np.swapaxes(x, -1, -2), Call("x.mT", {"x": x})
    )


@case("array.__array_namespace__", "values")
def array_namespace(target: Target, data: Draw) -> None:
    """The namespace, with its functions; a version that does not exist is refused."""
    x = target.put(np.ones((2,), dtype="float32"))
    versions = [{}, {"api_version": None}]
    version = getattr(target.xp, "__array_api_version__", None)
    if version:
        versions.append({"api_version": version})
    for keywords in versions:
        namespace = x.__array_namespace__(**keywords)
        for name in ("sin", "asarray", "permute_dims", "__array_namespace_info__"):
            if not hasattr(namespace, name):
                raise AssertionError(f"x.__array_namespace__({keywords}) has no {name}")
    call = Call("x.__array_namespace__(api_version='1999.01')")
    raises(x.__array_namespace__, call, "no such version", api_version="1999.01")


def _scalar(method: str, kind: type, names: tuple[str, ...], target: Target, data: Draw) -> None:
    """Check the conversion of a 0-d array to a Python scalar."""
    name = draw.dtype(target, data, names)
    domain = draw.ANY
    if kind is int:
        domain = draw.Domain(-(2.0**60), 2.0**60) if name in FLOATS else draw.FINITE
    x = draw.array(data, name, (), domain)
    moved = target.put(x)
    call = Call(f"{kind.__name__}(x)", {"x": x})
    got = kind(moved)
    direct = getattr(moved, f"__{method}__")()
    want = kind(x.item())
    for answer in (got, direct):
        same = answer == want or (want != want and answer != answer)
        if type(answer) is not kind or not same:
            raise call.fail(f"got {answer!r} ({type(answer).__name__}), wanted {want!r}")


for _method, _kind, _names in (
    ("bool", bool, ALL),
    ("int", int, ("bool", *REAL)),
    ("float", float, ("bool", *REAL)),
    ("complex", complex, ALL),
):
    case(f"array.__{_method}__", "values")(functools.partial(_scalar, _method, _kind, _names))


@case("array.__index__", "values")
def index(target: Target, data: Draw) -> None:
    """A 0-d integer array counts as an index; a floating-point one does not."""
    name = draw.dtype(target, data, INTEGERS)
    x = draw.array(data, name, ())
    got = target.put(x).__index__()
    if type(got) is not int or got != int(x):
        raise AssertionError(f"x.__index__() of {x!r}: got {got!r}")


def _refuses(method: str, names: tuple[str, ...], target: Target, data: Draw) -> None:
    """Check that a conversion raises TypeError for dtypes it is not defined for."""
    for name in draw.available(target, names):
        x = target.put(np.ones((), dtype=name))
        try:
            got = getattr(x, f"__{method}__")()
        except TypeError:
            continue
        raise AssertionError(f"__{method}__ of a 0-d {name} array: got {got!r}, wanted a TypeError")


for _method, _names in (("index", FLOATS), ("int", COMPLEXES), ("float", COMPLEXES)):
    case(f"array.__{_method}__", "errors")(functools.partial(_refuses, _method, _names))


@case("array.__int__", "special")
def int_special(target: Target, data: Draw) -> None:
    """NaN is a ValueError, an infinity an OverflowError."""
    for name in draw.available(target, FLOATS):
        errors = {np.nan: ValueError, np.inf: OverflowError, -np.inf: OverflowError}
        for value, error in errors.items():
            x = target.put(np.array(value, dtype=name))
            try:
                got = int(x)
            except error:
                continue
            except (ValueError, OverflowError, RuntimeError) as raised:
                raise AssertionError(
                    f"int({value} in {name}): got {type(raised).__name__}, wanted {error.__name__}"
                ) from raised
            raise AssertionError(f"int({value} in {name}): got {got!r}, wanted {error.__name__}")


@case("array.__bool__", "special")
def bool_special(target: Target, data: Draw) -> None:
    """NaN and the infinities are true, both zeros false, one component is enough."""
    for name in draw.available(target, (*FLOATS, *COMPLEXES)):
        rows: list[tuple[complex, bool]] = [(math.nan, True), (math.inf, True), (-0.0, False)]
        if name in COMPLEXES:
            rows += [(1j, True), (complex(0, math.nan), True), (complex(-0.0, -0.0), False)]
        for value, want in rows:
            if bool(target.put(np.array(value, dtype=name))) is not want:
                raise AssertionError(f"bool({value} in {name}): wanted {want}")


@case("array.__getitem__", "values")
def getitem(target: Target, data: Draw) -> None:
    """Integers, slices of any step, the ellipsis and new axes."""
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, ((5,), (2, 3), (3, 2, 4), (), (0,), (2, 0, 2)))
    x = _distinct(target, data, name, shape)
    key = data.draw(_indices(shape, True), label="key")
    out = draw.put(target, data, x)[key]
    compare.same(target, out, np.asarray(x[key]), Call(f"x[{key!r}]", {"x": x}))


@case("array.__getitem__", "masks")
def getitem_mask(target: Target, data: Draw) -> None:
    """One boolean array, of as many axes as x or fewer: elements in row-major order."""
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, ((5,), (2, 3), (3, 2, 2), ()))
    x = _distinct(target, data, name, shape)
    axes = draw.whole(data, min(1, len(shape)), len(shape), "axes of the mask")
    mask = draw.array(data, "bool", shape[:axes], label="mask")
    out = draw.put(target, data, x)[target.put(mask)]
    indices = [index for index in np.ndindex(*shape[:axes]) if mask[index]]
    want = np.array([x[index] for index in indices], dtype=name).reshape(
        len(indices), *shape[axes:]
    )
    compare.same(target, out, want, Call("x[mask]", {"x": x, "mask": mask}))


@case("array.__getitem__", "integer arrays")
def getitem_integers(target: Target, data: Draw) -> None:
    """One integer or integer array for each axis; they broadcast."""
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, ((5,), (3, 4), (2, 3, 2)))
    x = _distinct(target, data, name, shape)
    dtype = target.default("indexing")
    keys: list[Any] = []
    arrays = 0
    for axis, n in enumerate(shape):
        as_number = axis > 0 and draw.flag(data, f"number on axis {axis}")
        if as_number:
            keys.append(draw.whole(data, -n, n - 1, f"key {axis}"))
        else:
            key_shape = draw.pick(data, ((3,), (1,), (2, 1), (2, 3)), f"shape of key {axis}")
            keys.append(draw.array(data, dtype, key_shape, draw.Domain(-n, n - 1), f"key {axis}"))
            arrays += 1
    moved = tuple(target.put(k) if isinstance(k, np.ndarray) else k for k in keys)
    result = np.broadcast_shapes(*[np.shape(k) for k in keys])
    broadcast = [np.broadcast_to(np.asarray(k), result) for k in keys]
    want = np.empty(result, dtype=name)
    for index in np.ndindex(*result):
        want[index] = x[tuple(int(k[index]) for k in broadcast)]
    call = Call("x[keys]", {"x": x, **{f"key {i}": k for i, k in enumerate(keys)}})
    compare.same(target, draw.put(target, data, x)[moved], want, call)


@case("array.__getitem__", "iteration")
def iteration(target: Target, data: Draw) -> None:
    """Iterating over a one-dimensional array gives 0-d arrays."""
    name = draw.dtype(target, data, ALL)
    x = _distinct(target, data, name, (draw.whole(data, 0, 4, "n"),))
    elements = list(target.put(x))
    if len(elements) != x.size:
        raise AssertionError(f"iterating over {x.size} elements gave {len(elements)}")
    for got, want in zip(elements, x, strict=True):
        compare.same(target, got, np.asarray(want), Call("iter(x)", {"x": x}))


@case("array.__getitem__", "errors")
def getitem_errors(target: Target, data: Draw) -> None:
    """Too many indices, and masks that do not fit, are an IndexError."""
    x = target.put(np.ones((2, 3), dtype=target.default("real floating")))
    for key in ((0, 0, 0), (slice(None),) * 3, (..., ...)):
        raises(x.__getitem__, Call(f"x[{key}] of shape (2, 3)"), "too many indices", key)
    for shape in ((3,), (2, 2), (2, 3, 1)):
        mask = target.put(np.ones(shape, dtype=bool))
        call = Call(f"x[mask], shapes (2, 3) and {shape}")
        raises(x.__getitem__, call, "the mask does not fit", mask)


@case("array.__setitem__", "values")
def setitem(target: Target, data: Draw) -> None:
    """Numbers and arrays that broadcast, through any basic index; x itself changes."""
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, ((5,), (2, 3), (3, 2, 4), (), (0,)))
    x = _distinct(target, data, name, shape)
    key = data.draw(_indices(shape, False), label="key")
    selected = x[key]
    as_number = draw.flag(data, "value a number")
    lower = tuple(n for n in target.dtypes() if promote(n, name) == name)
    source = name if as_number else draw.dtype(target, data, lower, "dtype of value")
    value_shape: tuple[int, ...] = () if as_number else np.shape(selected)
    if value_shape and not as_number and draw.flag(data, "value broadcasts"):
        value_shape = (1, *value_shape[1:]) if draw.flag(data, "first axis") else value_shape[1:]
    value = draw.array(data, source, value_shape, draw.Domain(50, 99), "value")
    moved = draw.put(target, data, x)
    alias = moved
    moved[key] = value.item() if as_number else target.put(value)
    want = x.copy()
    want[key] = value.astype(name)
    call = Call(f"x[{key!r}] = value", {"x": x, "value": value})
    compare.same(target, alias, want, call)


@case("array.__setitem__", "masks")
def setitem_mask(target: Target, data: Draw) -> None:
    """One boolean array of x's shape, and a number or a 0-d array."""
    name = draw.dtype(target, data, ALL)
    shape = draw.shape(data, ((5,), (2, 3), ()))
    x = _distinct(target, data, name, shape)
    mask = draw.array(data, "bool", shape, label="mask")
    value = draw.array(data, name, (), draw.Domain(50, 99), "value")
    moved = draw.put(target, data, x)
    moved[target.put(mask)] = value.item() if draw.flag(data, "a number") else target.put(value)
    want = np.where(mask, value, x).astype(name)
    compare.same(
        target, moved, want, Call("x[mask] = value", {"x": x, "mask": mask, "value": value})
    )


@case("array.__setitem__", "dtypes")
def setitem_dtypes(target: Target, data: Draw) -> None:
    """A number takes the dtype of x, which stays as it was."""
    for name in draw.available(target, ALL):
        x = target.put(np.zeros((3,), dtype=name))
        x[1] = name == "bool" or 1
        want = np.array([0, 1, 0], dtype=name)
        compare.same(target, x, want, Call(f"x[1] = 1 in {name}"))


@case("array.__setitem__", "views")
def setitem_once(target: Target, data: Draw) -> None:
    """Only the array that was assigned to changes, not one copied from it before."""
    name = draw.dtype(target, data, ALL)
    x = np.array([0, 1, 0, 1], dtype=name)
    moved = target.put(x)
    copy = target.function("asarray")(moved, copy=True)
    moved[...] = x[1].item()
    compare.same(target, moved, np.ones((4,), dtype=name), Call("x after x[...] = 1"))
    compare.same(target, copy, x, Call("a copy of x after x[...] = 1"))

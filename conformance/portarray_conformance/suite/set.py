"""Sets of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.promotion import ALL, INTEGERS
from portarray_conformance.target import NumpyArray, Target

_REPEATED = draw.Domain(0, 3)
_SHAPES = ((8,), (3, 3), (2, 2, 2), (1,), (), (0,), (12,))


@case("isin", "values")
def isin_values(target: Target, data: Draw) -> None:
    """Membership, inverted or not, between arrays and with a number on either side."""
    first, second, _ = draw.dtype_pair(target, data, INTEGERS)
    x1 = draw.array(data, first, draw.shape(data, _SHAPES), _REPEATED, "x1")
    x2 = draw.array(data, second, draw.shape(data, _SHAPES), _REPEATED, "x2")
    form = draw.pick(data, ("arrays", "arrays", "x1 a number", "x2 a number"), "form")
    given1: Any = target.put(x1)
    given2: Any = target.put(x2)
    if form == "x1 a number":
        x1 = draw.array(data, second, (), _REPEATED, "number")
        given1 = x1.item()
    elif form == "x2 a number":
        x2 = draw.array(data, first, (), _REPEATED, "number")
        given2 = x2.item()
    invert = draw.pick(data, (None, False, True), "invert")
    keywords = {} if invert is None else {"invert": invert}
    call = Call(f"isin(x1, x2, {keywords})", {"x1": x1, "x2": x2})
    out = target.function("isin")(given1, given2, **keywords)
    members = set(x2.ravel().tolist())
    expected = [(v in members) != keywords.get("invert", False) for v in x1.ravel().tolist()]
    compare.same(target, out, np.array(expected, dtype=bool).reshape(x1.shape), call)


def _draw(target: Target, data: Draw) -> NumpyArray:
    """Draw an array with repeated values, and now and then with NaN and both zeros."""
    name, x = draw.typed_array(target, data, ALL, _SHAPES, _REPEATED)
    if x.dtype.kind in "fc":
        x = np.asarray(np.round(x), dtype=name)
        odd = draw.array(data, "uint8", x.shape, draw.Domain(0, 3), "NaN where 0, -0.0 where 1")
        x = np.where(odd == 0, np.nan, np.where(odd == 1, -0.0, x)).astype(name)
    return x


def _groups(x: NumpyArray) -> dict[Any, list[int]]:
    """Return each distinct value with its flat indices; every NaN is distinct."""
    groups: dict[Any, list[int]] = {}
    for index, value in enumerate(x.ravel().tolist()):
        key = ("NaN", index) if value != value else value
        groups.setdefault(key, []).append(index)
    return groups


def _values(target: Target, values: Any, x: NumpyArray, call: Call) -> NumpyArray:
    """Check unique values, which may come in any order; NaN may not merge."""
    groups = _groups(x)
    got = compare.fetch(target, values, x.dtype.name, (len(groups),), call)
    numbers = [v for v in got.tolist() if v == v]
    expected = {key for key in groups if not isinstance(key, tuple)}
    if len(set(numbers)) != len(numbers) or set(numbers) != expected:
        raise call.fail(f"got values {compare.show(got)}, wanted {sorted(expected, key=str)}")
    return got


def _field(result: Any, name: str, position: int, call: Call) -> Any:
    if not isinstance(result, tuple) or getattr(result, name, None) is not result[position]:
        raise call.fail(
            f"got {type(result).__name__}, wanted a namedtuple with {name} at {position}"
        )
    return result[position]


def _counts(target: Target, counts: Any, got: NumpyArray, x: NumpyArray, call: Call) -> None:
    groups = _groups(x)
    want = [1 if v != v else len(groups[v]) for v in got.tolist()]
    compare.same(
        target, counts, np.array(want, dtype=np.int64), call, dtype=target.default("indexing")
    )


def _inverse(target: Target, inverse: Any, got: NumpyArray, x: NumpyArray, call: Call) -> None:
    indices = compare.fetch(target, inverse, target.default("indexing"), x.shape, call)
    if x.size and not np.array_equal(got[indices], x, equal_nan=x.dtype.kind in "fc"):
        raise call.fail(f"values[inverse_indices] is {compare.show(got[indices])}")


@case("unique_values", "values")
def unique_values(target: Target, data: Draw) -> None:
    """Each value once, in any order; every NaN is distinct."""
    x = _draw(target, data)
    call = Call("unique_values(x)", {"x": x})
    _values(target, target.function("unique_values")(draw.put(target, data, x)), x, call)


@case("unique_counts", "values")
def unique_counts(target: Target, data: Draw) -> None:
    """The number of occurrences of each value; one for each NaN."""
    x = _draw(target, data)
    call = Call("unique_counts(x)", {"x": x})
    result = target.function("unique_counts")(draw.put(target, data, x))
    got = _values(target, _field(result, "values", 0, call), x, call)
    _counts(target, _field(result, "counts", 1, call), got, x, call)


@case("unique_inverse", "values")
def unique_inverse(target: Target, data: Draw) -> None:
    """Indices that rebuild x, in its shape."""
    x = _draw(target, data)
    call = Call("unique_inverse(x)", {"x": x})
    result = target.function("unique_inverse")(draw.put(target, data, x))
    got = _values(target, _field(result, "values", 0, call), x, call)
    _inverse(target, _field(result, "inverse_indices", 1, call), got, x, call)


@case("unique_all", "values")
def unique_all(target: Target, data: Draw) -> None:
    """Values, first places, inverse and counts together."""
    x = _draw(target, data)
    call = Call("unique_all(x)", {"x": x})
    result = target.function("unique_all")(draw.put(target, data, x))
    got = _values(target, _field(result, "values", 0, call), x, call)
    groups = _groups(x)
    places = compare.fetch(
        target, _field(result, "indices", 1, call), target.default("indexing"), got.shape, call
    )
    nans = {key[1] for key in groups if isinstance(key, tuple)}
    for value, index in zip(got.tolist(), places.tolist(), strict=True):
        first = index in nans if value != value else index == groups[value][0]
        if not first:
            raise call.fail(f"index {index} is not the first place of {value!r}")
    _inverse(target, _field(result, "inverse_indices", 2, call), got, x, call)
    _counts(target, _field(result, "counts", 3, call), got, x, call)

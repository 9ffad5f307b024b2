"""Drawn inputs stay within their domain and vary in few examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import Phase, given, seed, settings
from portarray_conformance import draw, module_target
from portarray_conformance.draw import Domain
from portarray_conformance.promotion import ALL, FLOATS, INTEGERS


@pytest.mark.parametrize("name", ALL)
def test_arrays_have_their_dtype_and_shape(name: str) -> None:
    @settings(max_examples=20, database=None, deadline=None)
    @given(st.data())
    def check(data: Any) -> None:
        shape = draw.shape(data)
        x = draw.array(data, name, shape, draw.ANY)
        assert x.dtype == name
        assert x.shape == shape

    check()


@pytest.mark.parametrize("domain", [Domain(-3, 5), Domain(2, 100), Domain(-1, 1, tiny=True)])
@pytest.mark.parametrize("name", [*INTEGERS, *FLOATS])
def test_elements_keep_to_the_bounds(name: str, domain: Domain) -> None:
    @settings(max_examples=20, database=None, deadline=None)
    @given(draw.arrays(name, (20,), domain))
    def check(x: Any) -> None:
        low = max(domain.low, 0) if name.startswith("u") else domain.low
        assert np.all(x >= low)
        assert np.all(x <= domain.high)

    check()


@pytest.mark.parametrize("name", FLOATS)
def test_subnormal_numbers_are_not_drawn(name: str) -> None:
    @settings(max_examples=50, database=None, deadline=None)
    @given(draw.arrays(name, (20,), Domain(tiny=True, special=True)))
    def check(x: Any) -> None:
        finite = np.abs(x[np.isfinite(x) & (x != 0)])
        assert np.all(finite >= np.finfo(name).smallest_normal)

    check()


def test_zero_and_the_most_negative_integer_can_be_excluded() -> None:
    @settings(max_examples=50, database=None, deadline=None)
    @given(draw.arrays("int8", (20,), Domain(symmetric=True, nonzero=True)))
    def check(x: Any) -> None:
        assert np.all(x != 0)
        assert np.all(x != -128)

    check()


def test_examples_differ_from_each_other() -> None:
    """Hypothesis does not repeat choices from example to example."""
    drawn = set()

    @seed(0)
    @settings(max_examples=50, database=None, deadline=None)
    @given(st.data())
    def check(data: Any) -> None:
        name = draw.pick(data, ALL, "dtype")
        flags = [draw.flag(data, label) for label in ("keepdims", "strided", "descending")]
        axis = draw.axes(data, 3)
        x = draw.array(data, "float64", (4,), draw.ANY)
        drawn.add((name, *flags, axis, x.tobytes()))

    check()
    assert len(drawn) >= 40


def test_every_kind_of_number_is_drawn_within_a_few_arrays() -> None:
    drawn: list[float] = []

    @seed(0)
    @settings(max_examples=20, database=None, deadline=None)
    @given(draw.arrays("float32", (10,), Domain(special=True, tiny=True)))
    def check(x: Any) -> None:
        drawn.extend(x.tolist())

    check()
    assert any(math.isnan(v) for v in drawn)
    assert any(math.isinf(v) for v in drawn)
    assert any(v == 0 and math.copysign(1, v) < 0 for v in drawn)
    assert any(0 < abs(v) < 1e-6 for v in drawn)
    assert any(1e6 < abs(v) < math.inf for v in drawn)


@pytest.mark.parametrize("ndim", [0, 1, 2, 3])
def test_axes_are_valid(ndim: int) -> None:
    x = np.ones((1,) * ndim)
    for option in draw._axes(ndim, True):
        np.sum(x, axis=option)


def examples_of(function: Callable[[Any], Any], count: int = 80) -> list[Any]:
    """Return the draws of a function in many examples."""
    examples: list[Any] = []

    @seed(0)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate])
    @given(st.data())
    def check(data: Any) -> None:
        examples.append(function(data))

    check()
    return examples


def many(name: str, domain: Domain) -> Any:
    """Return the elements of many drawn arrays."""
    return np.concatenate(examples_of(lambda data: draw.array(data, name, (20,), domain), 40))


@pytest.mark.parametrize("name", FLOATS)
def test_small_numbers_are_drawn_often_on_request(name: str) -> None:
    def share(domain: Domain) -> float:
        x = np.abs(many(name, domain))
        return float(np.mean((x > 0) & (x < 2.0**-20)))

    assert share(draw.TINY) > 0.1
    assert share(draw.SMALL) < 0.05


@pytest.mark.parametrize("name", INTEGERS)
def test_the_ends_of_integer_dtypes_are_drawn(name: str) -> None:
    x, limits = many(name, draw.FINITE), np.iinfo(name)
    for value in (limits.min, limits.max, limits.max - 1):
        assert np.mean(x == value) > 0.01, value


def test_parts_of_complex_numbers_differ() -> None:
    x = many("complex64", draw.FINITE)
    assert np.mean(x.real != x.imag) > 0.5
    assert np.mean(x.real == 0) < 0.5
    assert np.mean(x.imag == 0) < 0.5


def test_operands_of_two_dtypes_are_drawn() -> None:
    target = module_target("array_api_strict")
    pairs = examples_of(lambda data: draw.dtype_pair(target, data, ALL))
    equal = sum(first == second for first, second, _ in pairs)
    assert 0.2 < equal / len(pairs) < 0.8
    assert len(set(pairs)) > 20


def test_views_are_drawn() -> None:
    target = module_target("numpy")
    placed = examples_of(lambda data: draw.put(target, data, np.arange(6.0).reshape(2, 3)))
    assert 0.1 < np.mean([x.strides != (24, 8) for x in placed]) < 0.9
    assert all(np.array_equal(x, np.arange(6.0).reshape(2, 3)) for x in placed)


def test_axes_are_of_every_kind() -> None:
    options = draw._axes(3, True)
    kinds = {None if o is None else len(o) if isinstance(o, tuple) else "one" for o in options}
    assert kinds == {None, "one", 1, 2, 3}
    assert any(isinstance(o, tuple) and o != tuple(sorted(o)) and len(o) > 1 for o in options)
    assert None not in draw._axes(2, False)

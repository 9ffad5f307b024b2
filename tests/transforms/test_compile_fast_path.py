"""``pa.compile``: repeated calls with containers of arrays and values, which have a fast path."""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np
from compiled_arrays import host
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import portarray as pa


class Color(enum.StrEnum):
    """Strings of another class."""

    RED = "red"


ARRAYS = [np.ones((2, 1)), np.ones(2, np.float32), *[np.full(2, n / 2) for n in range(5)]]
VALUES = [1, 1.0, True, 0.0, -0.0, math.nan, None, "red", Color.RED, 2**70, float("1e300")]
# An index stands for one of the arrays, so that one array may be in several places.
LEAVES = st.integers(0, len(ARRAYS) - 1).map(lambda n: ("array", n)) | st.sampled_from(VALUES)
TREES = st.recursive(
    LEAVES,
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", "red", Color.RED]), children, max_size=3)
    ),
    max_leaves=6,
)


ARGUMENTS = st.lists(TREES, max_size=2)
NAMED = st.dictionaries(st.sampled_from(["p", "x0", "run"]), TREES, max_size=2)


def _placed(tree: Any, arrays: list[Any]) -> Any:
    if type(tree) is tuple and len(tree) == 2 and tree[0] == "array":
        return arrays[tree[1]]
    if type(tree) in (list, tuple):
        return type(tree)(_placed(x, arrays) for x in tree)
    return {key: _placed(x, arrays) for key, x in tree.items()} if type(tree) is dict else tree


def _described(tree: Any, visited: list[Any]) -> Any:
    """Return everything that a function can see of a tree, arrays as copies of twice them."""
    if isinstance(tree, pa.Array):
        first = next(n for n, x in enumerate([*visited, tree]) if x is tree)
        visited.append(tree)
        return [str(tree.dtype), str(first), tree * 2]
    if type(tree) is dict:
        return {"dict": [[repr(key), _described(x, visited)] for key, x in tree.items()]}
    if type(tree) in (list, tuple):
        return [type(tree).__name__, *[_described(x, visited) for x in tree]]
    return repr(tree)


def _values(tree: Any) -> Any:
    if isinstance(tree, pa.Array):
        return host(tree).tolist()
    if type(tree) is dict:
        return {key: _values(x) for key, x in tree.items()}
    return [_values(x) for x in tree] if type(tree) is list else tree


def _function(*args: Any, **named: Any) -> Any:
    visited: list[Any] = []
    return [*[_described(x, visited) for x in (*args, named)], pa.zeros(1)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(calls=st.lists(st.tuples(ARGUMENTS, NAMED), min_size=2, max_size=4))
@example(calls=[([{"a": ("array", 0), "b": 1}], {}), ([{"b": ("array", 0), "a": 1}], {})])
@example(calls=[([{"red": ("array", 0)}], {}), ([{Color.RED: ("array", 0)}], {})])
@example(calls=[([[("array", 0), 0.0]], {}), ([[("array", 0), -0.0]], {})])
@example(calls=[([[("array", n) for n in range(2, 7)]], {}), ([[("array", 2)] * 5], {})])
@example(calls=[([[("array", 2)] * 5], {}), ([[("array", n) for n in range(2, 7)]], {})])
@example(calls=[([{"p": ("array", 0)}], {}), ([], {"p": ("array", 0)})])
@example(calls=[([], {"p": ("array", 0), "x0": 1}), ([], {"x0": ("array", 0), "p": 1})])
@example(calls=[([], {"p": ("array", 2), "x0": 1}), ([], {"x0": 1, "p": ("array", 2)})])
def test_repeated_calls_are_those_of_the_function(
    calls: list[tuple[list[Any], dict[str, Any]]],
) -> None:
    arrays = [pa.asarray(x, device="numpy") for x in ARRAYS]
    compiled = pa.compile(_function)
    for args, named in [*calls, *calls[::-1]]:
        placed = [_placed(x, arrays) for x in args]
        by_name = {name: _placed(x, arrays) for name, x in named.items()}
        expected = _values(_function(*placed, **by_name))
        for _ in range(3):  # traced, cached, the fast path
            assert _values(compiled(*placed, **by_name)) == expected


def test_containers_that_are_one_object_stay_one() -> None:
    @pa.compile
    def same(p: Any, q: Any) -> Any:
        return p[0] + (1 if p is q else 2)

    x = pa.asarray([1.0], device="numpy")
    shared = [x]
    for _ in range(3):
        assert float(same(shared, shared)[0]) == 2
        assert float(same(shared, q=shared)[0]) == 2
    for _ in range(3):
        assert float(same([x], [x])[0]) == 3
        assert float(same([x], q=[x])[0]) == 3


def test_calls_without_arrays_read_those_of_the_scope() -> None:
    scope = [pa.asarray([2.0], device="numpy"), pa.asarray([3.0], device="numpy")]
    compiled = pa.compile(
        lambda sign: sign * (scope[0] if scope[0] is not scope[1] else 0 * scope[1])
    )
    for _ in range(3):
        assert float(compiled(-1)[0]) == -2
    scope[1] = scope[0]
    for _ in range(3):
        assert float(compiled(-1)[0]) == 0


def test_returned_containers_are_the_arguments() -> None:
    compiled = pa.compile(lambda p, q: (q, p["w"] * 2, p))
    x = pa.asarray([1.0], device="numpy")
    for _ in range(3):
        p, q = {"w": x}, [x]
        for first, _, third in (compiled(p, q), compiled(p, q=q), compiled(q=q, p=p)):
            assert first is q
            assert third is p


def test_repeated_calls_see_the_order_of_named_arguments() -> None:
    compiled = pa.compile(lambda **named: (list(named), pa.zeros(1, device="numpy")))
    for names in ("ab", "ba", "ab"):
        for _ in range(3):
            assert compiled(**dict.fromkeys(names, 1))[0] == [*names]


def test_a_dict_is_not_taken_for_named_arguments() -> None:
    compiled = pa.compile(lambda x, d=None, **named: x + (d["a"] if d else 10 * named["a"]))
    x, a = pa.asarray([1.0], device="numpy"), pa.asarray([2.0], device="numpy")
    for _ in range(3):
        assert float(compiled(x, {"a": a})[0]) == 3
        assert float(compiled(x, a=a)[0]) == 21

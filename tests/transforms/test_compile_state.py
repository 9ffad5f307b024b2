"""``pa.compile``: what a function reads besides its arguments, and what it must not change."""

from __future__ import annotations

import collections
import dataclasses
import decimal
import functools
import itertools
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest
from compiled_arrays import asarray, host
from hypothesis import given, settings
from hypothesis import strategies as st

import portarray as pa
from portarray.errors import TracedArrayError

MADE = itertools.count()


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Layer:
    weight: Any
    power: Any


class Slotted:
    __slots__ = ("weight", "power")

    def __init__(self, weight: Any, power: Any) -> None:
        self.weight, self.power = weight, power


class Plain:
    shift = 1.0

    def __init__(self, weight: Any, power: Any) -> None:
        self.weight, self.power, self.itself = weight, power, self

    @property
    def doubled(self) -> Any:
        return self.weight * 2

    def __call__(self, x: Any) -> Any:
        return x * self.doubled + self.power + self.shift


class Tagged:
    """Registered with optree, with metadata."""

    def __init__(self, weight: Any, power: Any) -> None:
        self.weight, self.power = weight, power


optree.register_pytree_node(
    Tagged, lambda x: ((x.weight,), x.power), lambda power, xs: Tagged(xs[0], power),
    namespace="portarray",
)  # fmt: skip

HOLDERS: dict[str, Callable[[Any, Any], Any]] = {
    "tuple": lambda w, p: (w, p),
    "list": lambda w, p: [w, p],
    "dict": lambda w, p: {"weight": w, "power": p},
    "ordered": lambda w, p: collections.OrderedDict([("power", p), ("weight", w)]),
    "default": lambda w, p: collections.defaultdict(int, weight=w, power=p),
    "named tuple": Pair,
    "dataclass": Layer,
    "registered": Tagged,
    "slots": Slotted,
    "plain": Plain,
    "namespace": lambda w, p: types.SimpleNamespace(weight=w, power=p),
    "nested": lambda w, p: {"a": [Plain(w, p)], "b": (Slotted(w, p), {"c": Layer(w, p)})},
    "partial": lambda w, p: functools.partial(lambda w, p, x: x * w + p, w, p),
    "method": lambda w, p: Plain(w, p).__call__,
    "closure": lambda w, p: lambda x: x * w + p,
    "default argument": lambda w, p: lambda x, *, w=w: x * w + p,
    "deque": lambda w, p: collections.deque([w, p]),
}


def used(holder: Any, x: Any) -> Any:
    """Return a number that depends on all that a holder holds, and on the order of it."""
    if type(holder) is pa.Array:
        return x * holder
    if isinstance(holder, bool):
        return x * 3 if holder else -x
    if isinstance(holder, (int, float)):
        return x + holder if np.copysign(1.0, holder) > 0 else x - holder * holder - 1
    if isinstance(holder, str):
        return x * len(holder)
    if isinstance(holder, dict):
        for key, value in holder.items():
            x = used(value, x * 2 + len(str(key)))
        return x
    if isinstance(holder, (list, tuple, collections.deque)):
        for value in holder:
            x = used(value, x * 2)
        return x
    if callable(holder):
        return holder(x)
    return used(holder.power, used(holder.weight, x))


VALUES = st.sampled_from([0, 1, 1.0, True, 0.0, -0.0, 2.5, float("nan"), "ab", "abc"])
KINDS = st.sampled_from(sorted(HOLDERS))
WAYS = st.sampled_from(["argument", "closure", "global", "attribute", "default", "callee"])
STEPS = st.lists(st.tuples(st.sampled_from(["array", "value", "kind", "in place"]), VALUES), max_size=3)

GLOBAL: Any = None


def reads_global(x: Any) -> Any:
    return used(GLOBAL, x)


def calls_reader(x: Any) -> Any:
    return reads_global(x) * 2


def program(way: str, holder: Any) -> tuple[Callable[..., Any], Callable[[Any], None]]:
    """Return a function that reads a holder in some way, and one that replaces the holder."""
    global GLOBAL

    def rebind(new: Any) -> None:
        nonlocal holder
        global GLOBAL
        holder = owner.holder = GLOBAL = new
        with_default.__defaults__ = (new,)

    def with_default(x: Any, held: Any = holder) -> Any:
        return used(held, x)

    class Owner:
        def __init__(self) -> None:
            self.holder = holder

        def method(self, x: Any) -> Any:
            return used(self.holder, x)

    owner = Owner()
    GLOBAL = holder
    functions: dict[str, Callable[..., Any]] = {
        "argument": lambda x, held=None: used(held, x),
        "closure": lambda x: used(holder, x),
        "global": reads_global,
        "attribute": owner.method,
        "default": with_default,
        "callee": calls_reader,
    }
    return functions[way], rebind


def assert_same(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(host(actual), host(expected), rtol=1e-5, atol=1e-6)


def test_drawn_programs_read_what_is_there_now(device: str) -> None:
    examples = 60 if device.startswith("numpy") else 6

    @settings(max_examples=examples, deadline=None)
    @given(WAYS, KINDS, VALUES, STEPS, st.integers(0, 5))
    def check(way: str, kind: str, power: Any, steps: list[tuple[str, Any]], seed: int) -> None:
        rng = np.random.default_rng(seed)
        weight = asarray(rng.normal(size=2), device)
        x = asarray(rng.normal(size=2), device)
        power = 1 if isinstance(power, str) and kind not in ("tuple", "list", "dict") else power
        holder = HOLDERS[kind](weight, power)
        function, rebind = program(way, holder)
        compiled = pa.compile(function)

        def compare() -> None:
            extra = (holder,) if way == "argument" else ()
            expected = function(x, *extra)
            for _ in range(2):
                assert_same(compiled(x, *extra), expected)

        compare()
        for step, value in steps:
            if step == "in place":
                weight += 1.0
            elif step == "array":
                weight = asarray(rng.normal(size=2), device)
                holder = HOLDERS[kind](weight, power)
            elif step == "value" and not isinstance(value, str):
                power = value
                holder = HOLDERS[kind](weight, power)
            rebind(holder)
            compare()

    check()

"""``pa.compile``: what a function reads besides its arguments."""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import decimal
import functools
import io
import logging
import math
import random
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest
from compiled_arrays import Plain, asarray, assert_same, host
from hypothesis import given, settings
from hypothesis import strategies as st

import portarray as pa
from portarray.errors import TracedArrayError


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Layer:
    weight: Any
    power: Any


class Slotted:
    __slots__ = ("power", "weight")

    def __init__(self, weight: Any, power: Any) -> None:
        self.weight, self.power = weight, power


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


VALUES = st.sampled_from(
    [0, 1, 1.0, True, 0.0, -0.0, 2.5, float("nan"), -float("nan"), "ab", "abc"]
)
KINDS = st.sampled_from(sorted(HOLDERS))
WAYS = st.sampled_from(["argument", "closure", "global", "attribute", "default", "callee"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["array", "value", "kind", "in place"]), VALUES), max_size=3
)

GLOBAL: Any = None


def reads_global(x: Any) -> Any:
    return used(GLOBAL, x)


def calls_reader(x: Any) -> Any:
    return reads_global(x) * 2


def program(access: str, holder: Any) -> tuple[Callable[..., Any], Callable[[Any], None]]:
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
    return functions[access], rebind


def test_drawn_programs_read_what_is_there_now(device: str, replayed: None) -> None:
    examples = 30 if device.startswith("numpy") else 4

    @settings(max_examples=examples, deadline=None)
    @given(WAYS, KINDS, VALUES, STEPS, st.integers(0, 5))
    def check(access: str, kind: str, power: Any, steps: list[tuple[str, Any]], seed: int) -> None:
        rng = np.random.default_rng(seed)
        weight = asarray(rng.normal(size=2), device)
        x = asarray(rng.normal(size=2), device)
        power = 1 if isinstance(power, str) and kind not in ("tuple", "list", "dict") else power
        holder = HOLDERS[kind](weight, power)
        function, rebind = program(access, holder)
        compiled = pa.compile(function)

        def compare() -> None:
            extra = (holder,) if access == "argument" else ()
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


class Base:
    power = 2.0


class Derived(Base):
    pass


CONTEXT = contextvars.ContextVar("CONTEXT", default=2.0)
MADE = types.ModuleType("made")
MADE.power = 2.0  # type: ignore[attr-defined]


@pytest.mark.one_device
@pytest.mark.parametrize(
    ("function", "holder", "name"),
    [
        (lambda x: x * Derived().power, Base, "power"),
        (lambda x: x * Derived().power, Derived, "power"),
        (lambda x: x * getattr(Derived, "other", 2.0), Derived, "other"),
        (lambda x: x * hash(2), sys.modules[__name__], "hash"),
        (lambda x: x * MADE.power, MADE, "power"),
    ],
)
def test_a_name_that_a_new_definition_hides_is_looked_up_again(
    device: str, monkeypatch: pytest.MonkeyPatch, function: Any, holder: Any, name: str
) -> None:
    """Attributes of a base class and functions of Python may be hidden later."""
    x = asarray([1.0, 2.0], device)
    compiled = pa.compile(function)
    np.testing.assert_array_equal(host(compiled(x)), [2.0, 4.0])
    monkeypatch.setattr(
        holder, name, (lambda value: value + 1.0) if name == "hash" else 3.0, raising=False
    )
    np.testing.assert_array_equal(host(compiled(x)), [3.0, 6.0])
    monkeypatch.undo()
    np.testing.assert_array_equal(host(compiled(x)), [2.0, 4.0])


@pytest.mark.one_device
def test_context_variables_are_inputs(device: str) -> None:
    x = asarray([1.0, 2.0], device)
    compiled = pa.compile(lambda x: x * CONTEXT.get())
    np.testing.assert_array_equal(host(compiled(x)), [2.0, 4.0])
    context = contextvars.copy_context()
    for value in (3.0, asarray([5.0, 7.0], device)):
        context.run(CONTEXT.set, value)
        expected = host(x) * host(pa.asarray(value, device=device))
        np.testing.assert_array_equal(host(context.run(compiled, x)), expected)
    np.testing.assert_array_equal(host(compiled(x)), [2.0, 4.0])


def test_calls_without_arrays(device: str) -> None:
    weight = asarray([1.0, 2.0], device)
    for function, args in (
        (lambda: weight * 2, ()),
        (lambda: pa.ones(2, device=device), ()),
        (lambda n, text: pa.full(2, n, device=device) * len(text), (2.5, "ab")),
        (lambda n: weight, (1,)),
        (lambda key: {key: weight + 1.0}[key], (decimal.Decimal("-0.0"),)),
    ):
        compiled = pa.compile(function)
        for _ in range(2):
            assert_same(compiled(*args), function(*args))
    signed = pa.compile(lambda n: weight * 0 + float(np.copysign(1.0, n.real)))
    for zero in (0.0, -0.0, 0, complex(0.0, 0.0), complex(-0.0, 0.0), np.float64(-0.0)):
        np.testing.assert_array_equal(host(signed(zero)), np.copysign(1.0, [zero.real] * 2))


def test_the_same_object_is_the_same_object(device: str) -> None:
    x, y = asarray([1.0, 2.0], device), asarray([3.0, 4.0], device)
    weight = x

    def function(a: Any, b: Any) -> Any:
        return a + b if a is b else (a * 5 if b is weight else a * b)

    compiled = pa.compile(function)
    for a, b in ((x, y), (y, y), (y, x), (x, x), (x, y)):
        for _ in range(2):
            assert_same(compiled(a, b), function(a, b))


def test_settings_and_default_devices_are_part_of_the_key(device: str) -> None:
    def function(x: Any) -> Any:
        created = pa.ones(2, dtype=pa.float32)
        scale = 2.0 if pa.config.progress else 3.0
        return {"created": created * scale, "x": x * scale}

    compiled = pa.compile(function)
    second_device = "numpy" if not device.startswith("numpy") else "clarray"
    x = asarray([1.0, 2.0], device)
    for where in (device, second_device, device):
        if not pa.functional(where):
            continue
        for progress in (False, True):
            with pa.device(where), pa.config(progress=progress):
                for _ in range(2):
                    output, expected = compiled(x), function(x)
                    assert output["created"].device is pa.device(where)
                    assert_same(output["created"], expected["created"])
                    assert_same(output["x"], expected["x"])


def test_values_of_the_scope_may_be_read(device: str) -> None:
    """They are compared in each call; those that arguments affect are still refused."""
    mask = pa.asarray([True, False], device=device)
    scale = asarray([2.0, 3.0], device)

    def function(x: Any) -> Any:
        total = float(pa.sum(scale * 2))
        return x[mask] * total if scale[0] < 3 else pa.repeat(x, pa.astype(scale, pa.int64))

    x = asarray([1.0, 2.0], device)
    compiled = pa.compile(function)
    for step in (None, "mask", "scale"):
        if step == "mask":
            mask[1] = True
        elif step == "scale":
            scale += 1.0
        for _ in range(2):
            assert_same(compiled(x), function(x))
    with pytest.raises(TracedArrayError, match=r"pa\.where"):
        pa.compile(lambda x: x * float(x[0] * scale[0]))(x)


def test_objects_that_cannot_be_read_are_refused(device: str) -> None:
    x = asarray([1.0, 2.0], device)
    numbers, generator = iter([1, 2, 3]), np.random.default_rng(0)
    dice = random.Random(0)
    for function in (
        lambda x: x * next(numbers),
        lambda x: x * generator.normal(),
        lambda x: x * dice.random(),
    ):
        with pytest.raises(TypeError, match=r"(?s)pa.compile cannot read.*as arguments"):
            pa.compile(function)(x)
    with pytest.raises(TypeError, match="cannot read"):
        pa.compile(lambda x, numbers: x * next(numbers))(x, numbers)

    class Result:
        def __init__(self, y: Any) -> None:
            self.y = y

    with pytest.raises(TracedArrayError, match=r"(?s)Result.*dataclass"):
        pa.compile(lambda x: [x, Result(x * 2)])(x)


@functools.lru_cache(maxsize=1)
def cached() -> list[float]:
    return [2.0]


@pytest.mark.one_device
def test_values_read_through_files_threads_and_c_functions_stay_constant(
    device: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list in docs/compile.md: the first call's value stays."""
    x = asarray([1.0, 2.0], device)
    file = tmp_path / "scale"
    memory = io.StringIO("2")
    scale = asarray([2.0], device)

    def from_thread(x: Any) -> Any:
        results: list[float] = []
        thread = threading.Thread(target=lambda: results.append(float(scale[0])))
        thread.start()
        thread.join()
        return x * results[0]

    def from_file(x: Any) -> Any:
        return x * float(file.read_text())

    def from_memory(x: Any) -> Any:
        return x * float(memory.getvalue())

    def from_c_function(x: Any) -> Any:
        return x * cached()[0]

    logger = logging.getLogger(__name__)
    module = types.ModuleType("found_by_name_in_a_test")
    monkeypatch.setitem(sys.modules, "found_by_name_in_a_test", module)

    def from_logger(x: Any) -> Any:
        return x * logger.level

    def from_module(x: Any) -> Any:
        return x * sys.modules["found_by_name_in_a_test"].scale

    def from_name(x: Any) -> Any:
        return x * len(named.__name__)

    def from_python(x: Any) -> Any:
        return x * math.sqrt(4.0)

    def named() -> None: ...

    for function in (
        from_file, from_memory, from_c_function, from_thread, from_logger, from_module, from_name,
        from_python,
    ):  # fmt: skip
        logger.setLevel(2)
        module.scale, named.__name__ = 2.0, "ab"  # type: ignore[attr-defined]
        file.write_text("2")
        memory.seek(0)
        memory.truncate()
        memory.write("2")
        compiled = pa.compile(function)
        np.testing.assert_array_equal(host(compiled(x)), [2.0, 4.0])
        file.write_text("3")
        memory.write("2")
        cached()[0] = 3.0
        scale[0] = 3.0
        logger.setLevel(3)
        module.scale, named.__name__ = 3.0, "abc"  # type: ignore[attr-defined]
        with monkeypatch.context() as patch:
            patch.setattr(math, "sqrt", lambda x: 3.0)
            np.testing.assert_array_equal(host(compiled(x)), [2.0, 4.0])
        cached()[0] = 2.0
        scale[0] = 2.0

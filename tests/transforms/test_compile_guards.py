"""``pa.compile``: each kind of what a function may read, changed between two calls.

Each case is a generator of functions and their arguments, with a change before each but the first.
"""

from __future__ import annotations

import array
import collections
import datetime as dt
import enum
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import optree
import pytest
from compiled_arrays import asarray, host

import portarray as pa
from portarray.errors import TracedArrayError

Calls = Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]
CASES: dict[str, Callable[[Any], Calls]] = {}


def case(function: Callable[[Any], Calls]) -> Callable[[Any], Calls]:
    CASES[function.__name__] = function
    return function


class Key:
    """Equal to all others of its class."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key)

    def __hash__(self) -> int:
        return 1


class Scale:
    """An object with a method, a special method and an attribute."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __len__(self) -> int:
        return int(self.scale)

    def apply(self, x: Any) -> Any:
        return x * self.scale


def thrice(self: Any, x: Any) -> Any:
    return x * 3.0


# --- functions and classes -------------------------------------------------------------------


@case
def code_of_functions_and_methods(x: Any) -> Calls:
    def doubled(x: Any) -> Any:
        return x * 2.0

    class Local(Scale):
        def apply(self, x: Any) -> Any:
            return x * 2.0

    scale = Local(2.0)
    first, second = (lambda x: doubled(x)), (lambda x: scale.apply(x))
    for function in (first, second, doubled):
        yield function, (x,)
    doubled.__code__ = (lambda x: x * 5.0).__code__
    Local.apply.__code__ = thrice.__code__
    for function in (first, second, doubled):
        yield function, (x,)


@case
def base_classes_metaclasses_and_special_methods(x: Any) -> Calls:
    class Meta(type):
        scale = 2.0

        def scaled(cls, x: Any) -> Any:
            return x * cls.scale

    class Other:
        base = 7.0

    class Base:
        base = 3.0

    class Middle(Base): ...

    class Local(Middle, metaclass=Meta):
        def __len__(self) -> int:
            return 2

    local = Local()

    def function(x: Any) -> Any:
        return Local.scaled(x) * local.base * len(local) + (x if local else 0.0)

    yield function, (x,)
    Meta.scale = 5.0
    yield function, (x,)
    Middle.__bases__ = (Other,)
    yield function, (x,)
    Local.__len__ = lambda self: 4  # type: ignore[method-assign]
    yield function, (x,)
    Local.__bool__ = lambda self: False  # type: ignore[attr-defined]
    yield function, (x,)


@case
def names_in_strings(x: Any) -> Calls:
    def executed(x: Any) -> Any:
        names: dict[str, Any] = {}
        exec("scale = SCALE + HELD.scale", globals(), names)
        return x * names["scale"]

    functions = (lambda x: x * globals()["SCALE"], lambda x: x * eval("SCALE"), executed)
    for scale in (2.0, 3.0):
        globals()["SCALE"] = scale
        for function in functions:
            yield function, (x,)
    HELD.scale += 1.0
    yield executed, (x,)


@case
def partial_methods(x: Any) -> Calls:
    class Local:
        def scaled(self, n: float, x: Any) -> Any:
            return x * n

        half = functools.partialmethod(scaled, 0.5)

    local = Local()
    yield (lambda x: local.half(x)), (x,)
    Local.half = functools.partialmethod(Local.scaled, 7.0)
    yield (lambda x: local.half(x)), (x,)


@case
def methods_of_another_kind(x: Any) -> Calls:
    def counted(*arguments: Any) -> Any:
        return float(len(arguments))

    class Local:
        count: Any = counted

    local = Local()

    def function(x: Any) -> Any:
        return x * local.count(x)

    for kind in (staticmethod, classmethod, staticmethod):
        yield function, (x,)
        Local.count = kind(counted)


@case
def keys_of_dicts(x: Any) -> Calls:
    def function(tree: Any) -> Any:
        return sum(tree.values()) + ("a" in tree) * 10.0

    for tree in ({"a": x}, {"b": x}, {1: x}, {"a": x, "b": x + 1.0}, {"b": x + 1.0, "c": x}):
        yield function, (tree,)


@case
def arrays_written_after_they_were_used(x: Any) -> Calls:
    def function(x: Any) -> Any:
        shared = pa.zeros(x.shape, dtype=x.dtype, device=x.device)
        first = x + shared
        shared += 5.0
        return first * 100.0 + x + shared

    for _ in range(2):
        yield function, (x,)


@case
def methods_of_python_objects(x: Any) -> Calls:
    items, table = [2.0, 3.0], {"a": 2.0}
    item, get, values = items.__getitem__, table.get, table.values()

    def function(x: Any) -> Any:
        return x * item(0) * get("a", 1.0) + sum(values)

    yield function, (x,)
    items[0] = 5.0
    yield function, (x,)
    table["a"] = 7.0
    yield function, (x,)


@case
def modules_imported_by_the_function(x: Any) -> Calls:
    def function(x: Any) -> Any:
        import imported_in_a_test as module  # type: ignore[import-not-found]

        return x * module.scale

    for scale in (2.0, 3.0):
        module = types.ModuleType("imported_in_a_test")
        module.scale = scale  # type: ignore[attr-defined]
        sys.modules["imported_in_a_test"] = module
        yield function, (x,)
    module.scale = 5.0  # type: ignore[attr-defined]
    yield function, (x,)
    del module.scale
    module.__getattr__ = lambda name: 7.0  # type: ignore[method-assign]
    yield function, (x,)
    del sys.modules["imported_in_a_test"]


# --- arguments -------------------------------------------------------------------------------


class Weights(NamedTuple):
    weight: Any

    def scaled(self) -> Any:
        return self.weight * 2.0


class Registered:
    scale: ClassVar[float] = 2.0

    def __init__(self, weight: Any, power: Any = 1) -> None:
        self.weight, self.power = weight, power


optree.register_pytree_node(
    Registered,  # type: ignore[arg-type]
    lambda x: ((x.weight,), x.power),  # type: ignore[attr-defined]
    lambda power, xs: Registered(*xs, power),  # type: ignore[arg-type, return-value]
    namespace="portarray",
)


@case
def classes_of_trees(x: Any) -> Calls:
    def function(x: Any, weights: Any, more: list[Any]) -> Any:
        return x * weights.scaled() * more[0].scale * more[0].weight

    arguments = (x, Weights(x), [Registered(x)])
    scaled = Weights.scaled
    yield function, arguments
    Registered.scale = 5.0
    yield function, arguments
    Weights.scaled = lambda self: self.weight * 7.0  # type: ignore[method-assign]
    yield function, arguments
    Registered.scale, Weights.scaled = 2.0, scaled  # type: ignore[method-assign]


@case
def metadata_of_trees(x: Any) -> Calls:
    def function(x: Any, tree: Any) -> Any:
        if isinstance(tree, Registered):
            return x * tree.weight**tree.power
        first, second = tree.values()
        return first - second

    for power in (2, 3, 2.0):
        yield function, (x, Registered(x, power))
    for keys in ("ab", "ba"):
        values = {"a": x, "b": x * 3.0}
        yield function, (x, collections.OrderedDict((key, values[key]) for key in keys))
        yield function, (x, {key: values[key] for key in keys})


@case
def values_whose_classes_extend_those_of_python(x: Any) -> Calls:
    class Integer(int): ...

    class Real(float):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = float.__hash__

    class Text(str):
        __slots__ = ()

    class Day(dt.date): ...

    def function(x: Any, n: Any, text: Any, day: Any = None) -> Any:
        return x * n + len(text) * (day.year if day else 1)

    def reads_held(x: Any) -> Any:
        return x * held

    held: Any = None
    kinds: tuple[Any, ...] = (Integer, Real)
    for n in (2, 3):
        for kind in kinds:
            yield function, (x, kind(n), "a")
            held = kind(n)
            yield reads_held, (x,)
        yield function, (x, 2, Text("a" * n))
        yield function, (x, 2, "", Day(2000 + n, 1, 1))


@case
def keys_and_elements_that_are_objects(x: Any) -> Calls:
    key, scale = Key(2.0), Scale(2.0)
    table, elements = {key: x, 0.0: 2.0}, {scale}

    def function(x: Any, table: Any, elements: Any) -> Any:
        for key, value in table.items():
            x = x * value + (key.scale if isinstance(key, Key) else np.copysign(1.0, key))
        return x * sum(element.scale for element in elements)

    def of_scope(x: Any) -> Any:
        return function(x, table, elements)

    for _ in range(2):
        for changed in (None, key, scale):
            if changed is not None:
                changed.scale += 3.0
            yield function, (x, table, elements)
            yield of_scope, (x,)
        key, scale = Key(3.0), Scale(4.0)
        table, elements = {key: x, -0.0: 2.0}, {scale}


@case
def attributes_of_members(x: Any) -> Calls:
    class Kind(enum.Enum):
        FIRST = 1
        SECOND = 2

        def factor(self) -> float:
            return FACTORS[self.name]

    FACTORS = {"FIRST": 2.0, "SECOND": 3.0}
    Kind.FIRST.weight = x  # type: ignore[attr-defined]
    Kind.SECOND.weight = x * 2.0  # type: ignore[attr-defined]

    def function(x: Any, kind: Any) -> Any:
        return x * kind.factor() * kind.weight

    for change in (lambda: None, lambda: FACTORS.update(FIRST=5.0)):
        change()
        yield function, (x, Kind.FIRST)
        yield function, (x, Kind.SECOND)
    Kind.FIRST.weight = x * 3.0  # type: ignore[attr-defined]
    yield function, (x, Kind.FIRST)

    def of_scope(x: Any) -> Any:
        return function(x, held)

    for held in Kind:
        yield of_scope, (x,)
        held.weight = x * 4.0  # type: ignore[attr-defined]
        yield of_scope, (x,)


# --- objects of the scope --------------------------------------------------------------------


@case
def weak_references(x: Any) -> Calls:
    scale, weight = Scale(2.0), x * 2.0
    reference: Any = weakref.ref(scale)
    method: Any = weakref.WeakMethod(scale.apply)
    keys = weakref.WeakKeyDictionary({scale: 2.0})
    values: Any = weakref.WeakValueDictionary(a=scale)
    of_array: Any = weakref.ref(weight)

    def function(x: Any) -> Any:
        target = reference()
        if target is None:
            return x * 100.0
        return method()(x) * target.scale * keys[target] * values["a"].scale * of_array()

    yield function, (x,)
    scale.scale = 3.0
    yield function, (x,)
    keys[scale] = 5.0
    yield function, (x,)
    weight += 1.0
    yield function, (x,)
    del scale
    yield function, (x,)


@case
def memory_of_other_kinds(x: Any) -> Calls:
    numbers, letters = array.array("d", [2.0]), bytearray(b"ab")
    view, queue = memoryview(letters), collections.deque([1.0], maxlen=2)
    objects = np.asarray([2.0, None], dtype=object)
    tagged: Any = np.ones(1).view(type("Tagged", (np.ndarray,), {}))
    tagged.scale = 2.0

    def function(x: Any) -> Any:
        return x * numbers[0] * view[0] * objects[0] * tagged.scale + queue.maxlen

    yield function, (x,)
    numbers[0] = 3.0
    yield function, (x,)
    letters[0] = 3
    yield function, (x,)
    objects[0] = 5.0
    yield function, (x,)
    tagged.scale = 5.0
    yield function, (x,)
    queue = collections.deque(queue, maxlen=3)
    yield function, (x,)


@case
def containers_in_themselves(x: Any) -> Calls:
    table: dict[str, Any] = {"scale": 2.0}
    table["itself"] = [table]
    yield (lambda x: x * table["itself"][0]["scale"]), (x,)
    table["scale"] = 3.0
    yield (lambda x: x * table["itself"][0]["scale"]), (x,)


# --- identity --------------------------------------------------------------------------------


@case
def objects_that_become_the_same(x: Any) -> Calls:
    first, second, weight = Scale(2.0), Scale(2.0), x * 2.0

    def function(x: Any, scale: Any = None, items: Any = None, others: Any = None) -> Any:
        same = (first is second) + 2 * (scale is first) + 4 * (items is others)
        return x * (same + (8 if x is weight else 1))

    items, others = [1], [1]
    for scale in (second, first):
        for pair in ((items, others), (items, items), (others, items)):
            yield function, (x, scale, *pair)
            yield function, (weight, scale, *pair)
    second = first
    yield function, (x, second, items, others)

    def of_arrays(a: Any, b: Any) -> Any:
        return a * 5.0 if b is weight else a * b

    for arguments in ((x, x * 3.0), (x, weight), (weight, x)):
        yield of_arrays, arguments

    def of_arguments(a: Any, b: Any, scale: float) -> Any:
        return a * scale if a is b else a * b

    for arguments in ((x, weight), (weight, weight), (x, weight)):
        yield of_arguments, (*arguments, 5.0)

    def nested(x: Any, a: Any, b: Any) -> Any:
        return x * (2.0 if a[0] is b[0] else 3.0)

    yield nested, (x, [items], [others])
    yield nested, (x, [items], [items])


@pytest.mark.one_device
@pytest.mark.parametrize("name", CASES)
def test_changed_values_that_a_function_reads_are_used(name: str, device: str) -> None:
    compiled: dict[Any, Any] = {}
    for function, arguments in CASES[name](asarray([1.0, 2.0], device)):
        expected = host(function(*arguments))
        cells = tuple(map(id, function.__closure__ or ()))
        key = function.__qualname__, cells  # its code may change
        compiled.setdefault(key, pa.compile(function))
        for _ in range(2):
            np.testing.assert_array_equal(host(compiled[key](*arguments)), expected)


@pytest.mark.one_device
def test_a_module_that_is_imported_while_tracing_is_followed(
    device: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_late_in_a_test.py").write_text("scale = 2.0\n")
    monkeypatch.syspath_prepend(tmp_path)

    @pa.compile
    def function(x: Any) -> Any:
        import imported_late_in_a_test as module  # type: ignore[import-not-found]

        return x * module.scale

    x = asarray([1.0, 2.0], device)
    np.testing.assert_array_equal(host(function(x)), [2.0, 4.0])
    monkeypatch.setattr(sys.modules["imported_late_in_a_test"], "scale", 3.0)
    np.testing.assert_array_equal(host(function(x)), [3.0, 6.0])


def test_returned_containers_and_objects_are_the_same(device: str, replayed: None) -> None:
    x = asarray([1.0, 2.0], device)
    scale, items = Scale(2.0), [x, 1]

    def function(x: Any, tree: dict[str, Any]) -> Any:
        constant = pa.asarray([3.0], dtype=pa.float32, device=device)
        return [x * 2.0, tree["a"], scale, items, (tree, [3]), {3}, constant]

    compiled = pa.compile(function)
    for _ in range(3):
        tree = {"a": [x, {}]}
        output = compiled(x, tree)
        assert output[1] is tree["a"]
        assert output[2] is scale
        assert output[3] is items
        assert output[4][0] is tree
        assert output[4][1] == [3]
        assert output[5] == {3}
        assert output[6][0] == 3.0
        output[4][1].append(4)
        output[5].add(4)
        output[6][0] = 4.0
    assert tree == {"a": [x, {}]}
    scale, items = Scale(2.0), [x, 1]
    output = compiled(x, tree)
    assert output[2] is scale
    assert output[3] is items


def test_arrays_that_stay_where_they_are_are_the_same(device: str, replayed: None) -> None:
    x = asarray([1.0, 2.0], device)
    for function in (
        lambda x: pa.to_device(x, x.device),
        lambda x: x.to_device(x.device),
        lambda x: pa.asarray(x, device=x.device),
        lambda x: pa.asarray(x, copy=False),
    ):
        assert function(x) is x
        assert pa.compile(function)(x) is x


def sets_attribute_of_function(x: Any) -> Any:
    sets_attribute_of_function.last = x.shape  # type: ignore[attr-defined]
    return x * 2.0


def sets_global_by_name(x: Any) -> Any:
    globals()["NEW_GLOBAL"] = x.shape
    return x * 2.0


MODULE = types.ModuleType("made_in_a_test")


def sets_attribute_of_module(x: Any) -> Any:
    MODULE.last = x.shape  # type: ignore[attr-defined]
    return x * 2.0


@pytest.mark.one_device
@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (sets_attribute_of_function, TracedArrayError, "changes.*last"),
        (sets_attribute_of_module, TracedArrayError, "changes MODULE"),
        (sets_global_by_name, TracedArrayError, "changes NEW_GLOBAL"),
        (lambda x: x * PROXY.scale, TypeError, "PROXY is ProxyType|PROXY is .*weakproxy"),
        (lambda x: x * DEEP[0], TypeError, "nested too deep.*as an argument"),
    ],
)
def test_functions_with_unreadable_state_are_refused(
    function: Any, error: type[Exception], message: str, device: str
) -> None:
    with pytest.raises(error, match=rf"(?s){message}"):
        pa.compile(function)(asarray([1.0, 2.0], device))


@pytest.mark.one_device
def test_an_argument_that_contains_itself_is_refused(device: str) -> None:
    items: list[Any] = [1.0]
    items.append(items)
    with pytest.raises(TypeError, match=r"(?s)contains itself.*Hint: pass the arrays"):
        pa.compile(lambda x, items: x * items[0])(asarray([1.0, 2.0], device), items)


SCALE = 2.0
HELD = Scale(2.0)
TARGET = Scale(2.0)
PROXY: Any = weakref.proxy(TARGET)
DEEP: list[Any] = [1.0]
for _ in range(2000):
    DEEP = [1.0, [Scale(1.0), DEEP]]


# --- containers that are freed while a function is traced -----------------------------------------


def test_an_output_is_not_taken_for_a_freed_container(device: str) -> None:
    """Copies of containers of arguments may be freed before the output is read."""
    x = asarray([1.0, 2.0], device)

    def function(x: Any) -> list[tuple[Any, int]]:
        y = x * 2.0
        return [(y, n) for n in range(300)]  # one of them is where a copy was

    pairs = pa.compile(function)(x)
    assert [n for _, n in pairs] == list(range(300))
    assert {tuple(host(y)) for y, _ in pairs} == {(2.0, 4.0)}


class _Nested:
    """A tree whose children are lists that flattening makes anew."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


optree.register_pytree_node(
    _Nested,
    lambda x: ([[part] for part in x.parts], None),
    lambda _, children: _Nested(*(child[0] for child in children)),
    namespace="portarray",
)


def test_containers_that_flattening_makes_are_different(device: str) -> None:
    values = [float(n) for n in range(30)]

    def function(nested: list[_Nested]) -> Any:
        return [part * 10 for pair in nested for part in pair.parts]

    nested = [_Nested(asarray([a], device), asarray([a + 0.5], device)) for a in values]
    result = pa.compile(function)(nested)
    assert [float(part[0]) for part in result] == [10 * a + b for a in values for b in (0.0, 5.0)]

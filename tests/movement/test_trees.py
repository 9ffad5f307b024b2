"""Trees of arrays on every device: containers, sharing, and leaves that stay."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import optree
import pytest

import portarray as pa


class Pair(NamedTuple):
    left: Any
    right: Any


class Producer:
    """An array of a library that portarray does not know."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def host(x: Any) -> np.ndarray[Any, Any]:
    """Return the values of an array of any library."""
    return np.asarray(pa.asarray(x, device="numpy", copy=True).native)


def sample(count: int = 1) -> np.ndarray[Any, Any]:
    return np.arange(6, dtype=np.float32).reshape(2, 3) * count


def arrays_in(tree: Any) -> list[Any]:
    return [leaf for leaf in optree.tree_leaves(tree) if hasattr(leaf, "shape")]


def test_containers_keep_their_class_and_order(device: str) -> None:
    x = pa.asarray(sample(), device="numpy")
    tree = {
        "z": [x, (x + 1, 3, None)],
        "a": OrderedDict(q=x, b=x + 2),
        3: defaultdict(list, {"k": x, "c": 1}),
        "deque": deque([x, x], maxlen=4),
        "pair": Pair(x, "text"),
        "time": time.gmtime(0),
        "empty": [{}, (), []],
    }
    moved = pa.to_device(tree, device)
    assert list(moved) == list(tree)
    assert list(moved["a"]) == ["q", "b"]
    assert [type(part) for part in moved.values()] == [type(part) for part in tree.values()]
    assert moved[3].default_factory is list
    assert moved["deque"].maxlen == 4
    assert moved["time"] == tree["time"]
    assert moved["empty"] == [{}, (), []]
    assert moved["z"] is not tree["z"]
    arrays = arrays_in(moved)
    assert len(arrays) == 8
    assert {str(array.device) for array in arrays} == {device}
    np.testing.assert_array_equal(host(moved["z"][1][0]), sample() + 1)
    # And the tree that was given is as it was.
    assert tree["z"][0] is x
    assert {str(array.device) for array in arrays_in(tree)} == {"numpy:cpu:0"}
    back = pa.to_device(moved, "numpy")
    np.testing.assert_array_equal(host(back["a"]["b"]), sample() + 2)


class Point(Pair):
    """A named tuple whose constructor does not take its fields."""

    def __new__(cls, both: Any) -> Point:
        return super().__new__(cls, both, both)


def test_named_tuples_with_a_constructor_of_their_own(device: str) -> None:
    moved = pa.to_device([Point(pa.asarray(sample(), device="numpy"))], device)[0]
    assert type(moved) is Point
    assert moved.left is moved.right
    assert str(moved.left.device) == device


class Unordered:
    """A key that cannot be compared, like the tensors that are keys in optimizers."""

    def __lt__(self, other: object) -> bool:
        raise RuntimeError("ambiguous")


def test_keys_stay_as_they_are(device: str) -> None:
    x = pa.asarray(sample(), device="numpy")
    keys: list[Any] = [Unordered(), 2, Unordered(), "b", float("nan"), (1, "a"), None]
    tree = {key: [x, index] for index, key in enumerate(keys)}
    for mapping in (tree, OrderedDict(tree), defaultdict(list, tree)):
        moved = pa.to_device(mapping, device)
        assert [a is b for a, b in zip(moved, keys, strict=True)] == [True] * len(keys)
        assert [part[1] for part in moved.values()] == list(range(len(keys)))
        assert str(moved[2][0].device) == device


def test_an_array_alone_is_a_tree(device: str) -> None:
    x = pa.asarray(sample(), device="numpy")
    moved = pa.to_device(x, device)
    assert str(moved.device) == device
    assert pa.to_device(moved, device) is moved
    assert pa.to_device(moved.native, device) is moved.native
    assert pa.to_device("text", device) == "text"


def test_arrays_keep_their_kind_of_class(device: str) -> None:
    where = pa.device(device)
    array_type = where._backend.array_type
    wrapped = pa.asarray(sample(), device="numpy")
    tree = {"array": wrapped, "native": sample(2), "other": Producer(sample(3))}
    moved = pa.to_device(tree, device)
    assert type(moved["array"]) is pa.Array
    assert isinstance(moved["native"], array_type)
    assert type(moved["other"]) is pa.Array
    assert {type(x) for x in pa.to_device(tree, device, native=False).values()} == {pa.Array}
    natives = pa.to_device(tree, device, native=True)
    assert all(isinstance(x, array_type) for x in natives.values())
    for name, count in (("array", 1), ("native", 2), ("other", 3)):
        for answer in (moved, natives):
            np.testing.assert_array_equal(host(answer[name]), sample(count))
    # What is there already is itself.
    again = pa.to_device(moved, device)
    assert all(again[name] is moved[name] for name in moved)
    inside = pa.to_device(moved, device, native=True)
    assert inside["native"] is moved["native"]
    assert inside["array"] is moved["array"].native
    outside = pa.to_device(natives, device, native=False)
    assert all(outside[name].native is natives[name] for name in natives)


def test_shared_arrays_stay_shared(device: str) -> None:
    x = pa.asarray(sample(), device="numpy")
    again = pa.asarray(x.native, device="numpy")  # another Array around the same NumPy array
    assert again is not x
    assert again.native is x.native
    part = [x, {"x": x}]
    tree = {"one": x, "two": again, "native": x.native, "list": part, "same": part}
    moved = pa.to_device(tree, device)
    assert moved["list"][0] is moved["one"]
    assert moved["list"][1]["x"] is moved["one"]
    assert moved["list"] is moved["same"]
    assert moved["two"].native is moved["one"].native
    assert moved["native"] is moved["one"].native
    assert (moved["two"] is moved["one"]) == (again is x)


def test_other_producers_are_narrowed_on_request(nofloat64: str) -> None:
    tree = [Producer(np.ones(3)), pa.ones(3, device="numpy"), np.ones(3)]
    moved = pa.to_device(tree, nofloat64, narrow=True, native=False)
    assert {(str(x.dtype), str(x.device)) for x in moved} == {("float32", "nofloat64:metal:0")}


def test_non_blocking_moves_are_complete_after_synchronize(device: str) -> None:
    tree = {"x": pa.asarray(sample(), device="numpy"), "y": sample(2)}
    moved = pa.to_device(tree, device, non_blocking=True)
    pa.synchronize(device)
    np.testing.assert_array_equal(host(moved["x"]), sample())
    np.testing.assert_array_equal(host(moved["y"]), sample(2))


UNTOUCHED: list[Any] = [
    "text",
    b"bytes",
    3,
    2.5,
    True,
    None,
    np.float64(2.0),
    np.str_("name"),
    np.asarray(["a", "b"]),
    np.asarray([b"a"]),
    np.asarray([1, "x", None], dtype=object),
    np.asarray(["2026-01-01"], dtype="datetime64[D]"),
    np.zeros(2, dtype=[("a", "f4")]),
    np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    np.zeros((2, 2)).view(type("Units", (np.ndarray,), {})),
    np.random.default_rng(1),
    np.float32,
    np.dtype("float32"),
    len,
    lambda: 1,
    {1, 2},
    range(3),
    bytearray(b"x"),
    memoryview(b"x"),
    Path("x"),
    type("Sub", (dict,), {})(a=1),
    iter([1.0]),
    {"a": 1.0}.values(),
]


@pytest.mark.parametrize("native", [None, False, True])
def test_leaves_that_are_not_arrays_are_the_same_objects(device: str, native: bool | None) -> None:
    tree = {"x": pa.asarray(sample(), device="numpy"), "rest": UNTOUCHED}
    moved = pa.to_device(tree, device, native=native)
    assert [a is b for a, b in zip(moved["rest"], UNTOUCHED, strict=True)] == [True] * len(
        UNTOUCHED
    )


@pytest.mark.one_device
@pytest.mark.parametrize("value", UNTOUCHED, ids=lambda value: type(value).__name__)
def test_objects_that_are_not_trees(device: str, value: Any) -> None:
    if isinstance(value, Iterator):
        assert list(pa.to_device(value, device)) == [1.0]
    elif value is None or isinstance(value, (str, bytes, int, float, np.generic)):
        assert pa.to_device(value, device) is value
    else:  # who names it means it to be moved
        with pytest.raises(TypeError, match=r"Hint: pass ") as caught:
            pa.to_device(value, device)
        said = f"of dtype {value.dtype}" if isinstance(value, np.ndarray) else "is neither"
        assert said in str(caught.value)


def test_modules_of_pytorch_are_no_arrays(device: str) -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 2)
    assert pa.to_device([layer, torch.float32], device) == [layer, torch.float32]
    with pytest.raises(
        TypeError, match=r"torch\.nn\.modules\.linear\.Linear is neither(.|\n)*state_dict\(\)"
    ):
        pa.to_device(layer, device)
    # Except an iterator of tensors, which is moved when it is read.
    assert isinstance(pa.to_device(layer.parameters(), device), map)


def test_numpy_arrays_of_other_byte_order_and_in_files(device: str, tmp_path: Path) -> None:
    swapped = sample().astype(">f4")
    sample().tofile(tmp_path / "values")
    mapped = np.memmap(tmp_path / "values", dtype=np.float32, mode="r", shape=(2, 3))
    moved = pa.to_device([swapped, mapped], device)
    array_type = pa.device(device)._backend.array_type
    for native in moved:
        assert isinstance(native, array_type)
        np.testing.assert_array_equal(host(native), sample())
        assert pa.asarray(native).dtype == np.float32
    if array_type is np.ndarray:
        assert moved[0].dtype.isnative
        assert moved[1] is mapped
    assert {type(x) for x in pa.to_device([swapped, mapped], device, native=False)} == {pa.Array}


@pytest.mark.parametrize("native", [None, False])
def test_many_mapped_arrays_keep_their_own_values(
    device: str, native: bool | None, tmp_path: Path
) -> None:
    for count in range(8):
        sample(count).tofile(tmp_path / f"{count}")
    mapped = [
        np.memmap(tmp_path / f"{count}", dtype=np.float32, mode="r", shape=(2, 3))
        for count in range(8)
    ]
    for count, moved in enumerate(pa.to_device(mapped, device, native=native)):
        np.testing.assert_array_equal(host(moved), sample(count))


def test_every_dtype_of_both_goes_through(device: str) -> None:
    names = set(pa.__array_namespace_info__().dtypes(device=device))
    tree = {
        name: np.ones(3, dtype=ml_dtypes.bfloat16 if name == "bfloat16" else name) for name in names
    }
    moved = pa.to_device(tree, device, native=False)
    assert {name: str(x.dtype) for name, x in moved.items()} == {name: name for name in names}
    assert {str(x.device) for x in moved.values()} == {device}


class Layer:
    """A user's class that is registered as a node."""

    def __init__(self, weight: Any, name: str) -> None:
        self.weight = weight
        self.name = name


@pytest.fixture(params=["portarray", ""])
def registered(request: pytest.FixtureRequest) -> Iterator[None]:
    # The global one has no public name.
    namespace = request.param or vars(optree.registry)["__GLOBAL_NAMESPACE"]
    optree.register_pytree_node(
        Layer,
        # The children are made for the occasion: nobody else holds them.
        lambda layer: ([layer.weight, layer.weight[:1]], layer.name, ["weight", "row"]),
        lambda name, parts: Layer(parts[0], name),
        path_entry_type=optree.GetAttrEntry,
        namespace=namespace,
    )
    yield
    optree.unregister_pytree_node(Layer, namespace=namespace)


@pytest.mark.usefixtures("registered")
def test_registered_classes(device: str) -> None:
    layers = [Layer(pa.asarray(sample(n), device="numpy"), f"layer {n}") for n in range(5)]
    moved = pa.to_device(layers, device)
    assert [layer.name for layer in moved] == [layer.name for layer in layers]
    for count, layer in enumerate(moved):
        assert str(layer.weight.device) == device
        np.testing.assert_array_equal(host(layer.weight), sample(count))


def test_leaves_that_are_not_arrays_take_little_memory() -> None:
    numbers = list(range(1000, 101_000))
    pairs = [[value, value] for value in range(20_000)]
    pa.to_device([numbers[:2], pairs[:2]], "numpy")
    for tree, most in ((numbers, 30), (pairs, 600)):
        gc.collect()
        tracemalloc.start()
        pa.to_device(tree, "numpy")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak / len(tree) < most, f"{peak / len(tree):.0f} bytes for each"


def test_bad_arguments() -> None:
    with pytest.raises(TypeError, match="does not name a device"):
        pa.to_device([], None)
    with pytest.raises(pa.UnknownDeviceError):
        pa.to_device([], "nonsense")
    with pytest.raises(TypeError, match="native must be True, False or None, not 'yes'"):
        pa.to_device([], "numpy", native="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="progress must be True, False or None, not 1"):
        pa.to_device([], "numpy", progress=1)  # type: ignore[arg-type]

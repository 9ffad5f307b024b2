"""Trees that cannot be moved: the path in the error, and released arrays."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree
import pytest

import portarray as pa


@dataclass
class Layer:
    weight: Any


class Unreadable:
    """A DLPack producer that runs a check and then fails."""

    def __init__(self, error: BaseException, look: Any = None) -> None:
        self.error = error
        self.look = look
        self.staged: weakref.ref[Any] | None = None

    def __dlpack_device__(self) -> tuple[int, int]:
        staged = np.ones(3)  # as a copy on its way would be
        self.staged = weakref.ref(staged)
        if self.look is not None:
            self.look()
        raise self.error

    def __dlpack__(self, **options: Any) -> Any:
        raise self.error


def some(dtype: str = "float32") -> pa.Array:
    return pa.asarray(np.ones(3, dtype), device="numpy", copy=True)


# --- cycles and depth ---------------------------------------------------------------------------


def in_list() -> Any:
    tree: list[Any] = [some(), [1, 2]]
    tree[1].append(tree)
    return tree


def in_dict() -> Any:
    inner: dict[str, Any] = {"x": some()}
    inner["up"] = ({"a": inner},)
    return {"model": inner}


def in_dataclass() -> Any:
    layer = Layer(None)
    layer.weight = [some(), layer]
    return {"layers": [1, layer]}


def in_estimator() -> Any:
    base = pytest.importorskip("sklearn.base")
    estimator = base.BaseEstimator()
    estimator.steps_ = [("one", {"self": estimator})]
    return estimator


@pytest.mark.parametrize(
    ("make", "again", "first"),
    [
        (in_list, "tree[1][2]", "tree"),
        (in_dict, "tree['model']['up'][0]['a']", "tree['model']"),
        (in_dataclass, "tree['layers'][1].weight[1]", "tree['layers'][1]"),
        (in_estimator, "tree.steps_[0][1]['self']", "tree"),
    ],
)
def test_a_tree_within_itself_is_refused_by_its_path(make: Any, again: str, first: str) -> None:
    with pytest.raises(ValueError, match="the tree is cyclic") as caught:
        pa.to_device(make(), "numpy")
    assert f"{again} is {first} again" in str(caught.value)
    assert not hasattr(caught.value, "__notes__")


def test_a_container_that_occurs_twice_is_not_a_cycle() -> None:
    part: list[Any] = [some()]
    for _ in range(60):  # each level twice the one before: 2**60 ways to the array
        part = [part, part]
    moved = pa.to_device(part, "numpy")
    assert moved[0] is moved[1]


def test_paths_of_deep_trees_are_cut() -> None:
    tree: Any = {"values": np.ones(2, np.longdouble)}
    for _ in range(1000):
        tree = [0, tree]
    with pytest.raises(TypeError, match="unsupported dtype") as caught:
        pa.to_device(tree, "numpy")
    ends = "[1]" * 16, f"{'[1]' * 15}['values']"
    assert caught.value.__notes__ == [f"at tree{ends[0]} ... 969 levels ... {ends[1]}"]


def test_depth_has_no_limit() -> None:
    depth = 100_000
    device = str(pa.devices()[-1])
    x = some()
    tree: Any = x
    for level in range(depth):
        tree = [tree] if level % 2 else {"in": tree}
    moved = pa.to_device(tree, device)
    for level in reversed(range(depth)):
        moved = moved[0] if level % 2 else moved["in"]
    assert str(moved.device) == device


# --- which one, and what of the others ----------------------------------------------------------


def test_a_missing_dtype_is_named_with_its_path(nofloat64: str) -> None:
    tree = {"layers": [1, 2, 3, Layer(some("float64"))], "first": some()}
    with pytest.raises(pa.DTypeNotSupportedError, match="narrow=True") as caught:
        pa.to_device(tree, nofloat64)
    assert caught.value.__notes__ == ["at tree['layers'][3].weight"]
    assert pickle.loads(pickle.dumps(caught.value)).__notes__ == caught.value.__notes__
    moved = pa.to_device(tree, nofloat64, narrow=True)
    assert moved["layers"][3].weight.dtype == np.float32
    # A native array is treated alike, and one of another byte order.
    for values in (np.ones(3), np.ones(3, ">f8")):
        with pytest.raises(pa.DTypeNotSupportedError, match="narrow=True") as caught:
            pa.to_device([values], nofloat64)
        assert caught.value.__notes__ == ["at tree[0]"]
        (answer,) = pa.to_device([values], nofloat64, narrow=True, native=False)
        assert answer.dtype == np.float32


@pytest.mark.parametrize("values", [np.ones(2, np.longdouble)])
def test_numbers_that_portarray_has_not_are_refused(device: str, values: Any) -> None:
    with pytest.raises(TypeError, match="unsupported dtype") as caught:
        pa.to_device({"x": [values]}, device)
    assert caught.value.__notes__ == ["at tree['x'][0]"]


def test_an_array_alone_has_no_path(nofloat64: str) -> None:
    with pytest.raises(pa.DTypeNotSupportedError) as caught:
        pa.to_device(some("float64"), nofloat64)
    assert not hasattr(caught.value, "__notes__")


def test_a_tensor_with_a_gradient_is_named(device: str) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.ones(2, requires_grad=True)
    if pa.device(device).library == "torch":
        assert pa.to_device([tensor], device)[0] is tensor
        return
    with pytest.raises(Exception, match="detach") as caught:
        pa.to_device({"w": tensor}, device)
    assert caught.value.__notes__ == ["at tree['w']"]


class Picky:
    """A registered class that cannot be unflattened."""

    def __init__(self, part: Any) -> None:
        self.part = part


@pytest.fixture
def picky() -> Iterator[type]:
    def put_together(_: Any, parts: Any) -> Any:
        raise LookupError("not again")

    optree.register_pytree_node(
        Picky, lambda x: ([x.part], None), put_together, namespace="portarray"
    )
    yield Picky
    optree.unregister_pytree_node(Picky, namespace="portarray")


def test_errors_of_a_users_class_have_the_path_too(picky: Any) -> None:
    with pytest.raises(LookupError, match="not again") as caught:
        pa.to_device((some(), picky(some())), "numpy")
    assert caught.value.__notes__ == ["at tree[1]"]


@pytest.mark.parametrize("kind", [MemoryError, RuntimeError, KeyboardInterrupt])
def test_an_error_releases_moved_arrays(device: str, kind: type[BaseException]) -> None:
    """Moved arrays are freed while the error is handled and its traceback is kept."""
    target = pa.device(device)
    where = "torch:cpu:0" if device == "numpy:cpu:0" and pa.functional("torch") else "numpy:cpu:0"
    sources = [pa.asarray(np.ones((3, 11), np.float32), device=where, copy=True) for _ in "1234"]
    alive: list[weakref.ref[pa.Array]] = []

    def look() -> None:
        alive.extend(
            weakref.ref(x)
            for x in gc.get_objects()
            if type(x) is pa.Array and x.device is target and x.shape == (3, 11)
        )

    last = Unreadable(kind("no more"), look)
    tree = {"layers": [Layer(x) for x in sources], "z": last}
    gc.collect()
    gc.disable()  # what is released is so at once
    try:
        with pytest.raises((kind, pa.OutOfMemoryError, ValueError)) as caught:
            pa.to_device(tree, device)
        if where != device:
            assert len(alive) == len(sources)
            assert [x() for x in alive] == [None] * len(sources)
        assert last.staged is not None
        assert last.staged() is None
    finally:
        gc.enable()
    assert caught.value.__traceback__ is not None
    notes = ["at tree['z']"] if kind is not KeyboardInterrupt else None
    assert getattr(caught.value, "__notes__", None) == notes
    # Nothing was lost.
    assert all(layer.weight is x for layer, x in zip(tree["layers"], sources, strict=True))
    assert float(pa.sum(sources[0])) == 33.0


def test_an_error_that_is_being_handled_keeps_its_variables() -> None:
    def failing() -> None:
        local = "mine"
        raise LookupError(local)

    def handling() -> None:
        try:
            failing()
        except LookupError:
            pa.to_device([some(), Unreadable(KeyError("inner"))], "numpy")

    with pytest.raises(KeyError) as caught:
        handling()
    outer = caught.value.__context__
    assert type(outer) is LookupError
    assert outer.__traceback__ is not None
    assert outer.__traceback__.tb_next is not None
    assert outer.__traceback__.tb_next.tb_frame.f_locals == {"local": "mine"}


OUT_OF_MEMORY = """
import resource, sys
import numpy as np, portarray as pa
import torch  # so that its own memory is not counted below

def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

MB = 2**20
pa.to_device([np.broadcast_to(np.float32(1), (MB,))], "torch")  # what is loaded for that
base = size()
limit = base + 700 * MB
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
earlier = pa.ones(8, device="torch")
# Values that are read-only and take no memory: each becomes a tensor of 100 MB.
tree = {"layers": [np.broadcast_to(np.float32(n), (25 * MB,)) for n in range(12)]}
try:
    pa.to_device(tree, "torch")
except pa.OutOfMemoryError as error:
    assert error.__notes__[0].startswith("at tree['layers']["), error.__notes__
    assert int(error.__notes__[0][18:-1]) >= 3, error.__notes__
    grown = size() - base
    assert grown < 120 * MB, f"{grown / MB:.0f} MB are held"
    again = pa.to_device(tree["layers"][:5], "torch")
    assert float(again[4][-1]) == 4.0
else:
    sys.exit("nothing was raised")
assert float(pa.sum(earlier)) == 8.0
print("released")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are Linux's")
def test_out_of_memory_releases_moved_arrays() -> None:
    if not pa.functional("torch"):
        pytest.skip("PyTorch is not functional here")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OUT_OF_MEMORY],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.stdout.strip(), done.returncode) == ("released", 0), done.stderr

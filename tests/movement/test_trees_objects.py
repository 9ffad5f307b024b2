"""Objects that hold arrays: dataclasses of every kind and scikit-learn's estimators."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections import OrderedDict
from dataclasses import InitVar, dataclass, field, fields
from enum import Enum
from typing import Any, ClassVar

import numpy as np
import pytest

import portarray as pa

VALUES = np.arange(6, dtype=np.float32)


def x_on_numpy() -> pa.Array:
    return pa.asarray(VALUES, device="numpy", copy=True)


@dataclass
class Plain:
    weight: Any
    name: str = "plain"
    scale: ClassVar[Any] = VALUES


@dataclass(frozen=True)
class Frozen:
    weight: Any
    times: InitVar[int] = 2
    scaled: Any = field(init=False)
    free: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self, times: int) -> None:
        object.__setattr__(self, "scaled", self.weight * times)

    @functools.cached_property
    def total(self) -> Any:
        return pa.sum(self.weight)


@dataclass(slots=True)
class Slots:
    weight: Any
    later: Any = field(init=False)


@dataclass(frozen=True, slots=True)
class FrozenSlots:
    weight: Any
    name: str = "both"


@dataclass(slots=True)
class Derived(Slots):
    bias: Any = None
    __hidden: Any = 3


class Guarded:
    """A class that does not allow setting its attributes from outside."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} is not for you to set")


@dataclass(init=False)
class WithRules(Guarded):
    weight: Any
    default: Any = "of the class"

    def __init__(self, weight: Any) -> None:
        self.__dict__["weight"] = weight
        self.__dict__["cache"] = [weight]  # no field, and an array all the same


class Mapping(OrderedDict[str, Any]):
    """A dict whose keys are its attributes, like the outputs of some libraries."""


@dataclass
class Output(Mapping):
    weight: Any

    def __post_init__(self) -> None:
        self["weight"] = self.weight

    def __reduce__(self) -> Any:
        return type(self), (self.weight,)


def objects() -> dict[str, Any]:
    x = x_on_numpy()
    slots = Slots(x)
    both = Slots(x)
    both.later = x
    frozen = Frozen(x)
    assert frozen.total.shape == ()
    return {
        "plain": Plain(x),
        "frozen": frozen,
        "slots": slots,
        "both": both,
        "frozen_slots": FrozenSlots(x),
        "derived": Derived(x, x),
        "rules": WithRules(x),
        "nested": Plain([Plain(x), {"in": Frozen(x)}]),
        "output": Output(x),
    }


def where(x: Any) -> str:
    assert type(x) is pa.Array
    np.testing.assert_array_equal(np.asarray(x.to_device("numpy").native), VALUES)
    return str(x.device)


def test_dataclasses_of_every_kind(device: str) -> None:
    tree = objects()
    x = tree["plain"].weight
    moved = pa.to_device(tree, device)
    assert [type(part) for part in moved.values()] == [type(part) for part in tree.values()]
    weight = moved["plain"].weight
    assert where(weight) == device
    for name in set(moved) - {"nested"}:
        assert moved[name].weight is weight, name
        assert tree[name].weight is x, name
    assert moved["plain"].name == "plain"
    assert Plain.scale is VALUES
    frozen = moved["frozen"]
    assert str(frozen.scaled.device) == device
    assert float(frozen.scaled[1]) == 2.0
    assert str(frozen.__dict__["total"].device) == device
    assert str(tree["frozen"].__dict__["total"].device) == "numpy:cpu:0"
    assert not hasattr(moved["slots"], "later")
    assert moved["both"].later is weight
    assert moved["derived"].bias is weight
    assert moved["derived"]._Derived__hidden == 3
    assert moved["rules"].cache[0] is weight
    assert tree["rules"].cache[0] is x
    assert moved["rules"].default == "of the class"
    assert moved["nested"].weight[0].weight is weight
    assert moved["nested"].weight[1]["in"].weight is weight
    assert list(moved["output"]) == ["weight"]
    assert moved["output"]["weight"] is weight
    assert tree["output"]["weight"] is x


@dataclass
class Rows(list[Any]):
    """Rows, and what they are of."""

    weight: Any


def test_a_dataclass_that_is_a_list_has_its_items(device: str) -> None:
    x = x_on_numpy()
    rows = Rows(x)
    rows.extend([x, 3])
    moved = pa.to_device(rows, device)
    assert type(moved) is Rows
    assert where(moved.weight) == device
    assert list(moved) == [moved.weight, 3]
    assert rows[0] is x


class Kind(Plain, Enum):
    """Constants that are instances of a dataclass."""

    FIRST = (np.ones(3), "first")


def test_constants_are_themselves(device: str) -> None:
    assert pa.to_device({"kind": Kind.FIRST}, device)["kind"] is Kind.FIRST
    assert type(Kind.FIRST.weight) is np.ndarray


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"slots": False}])
def test_classes_of_attrs(device: str, options: dict[str, bool]) -> None:
    attrs = pytest.importorskip("attrs")

    @attrs.define(**options)
    class Layer:
        weight: Any
        name: str = "attrs"
        computed: Any = attrs.field(init=False, default=None)

        def __attrs_post_init__(self) -> None:
            assert str(self.weight.device) == "numpy:cpu:0"  # checked once, when it is made

    layer = Layer(x_on_numpy())
    moved = pa.to_device([layer, layer], device)
    assert moved[0] is moved[1]
    assert type(moved[0]) is Layer
    assert where(moved[0].weight) == device
    assert moved[0].name == "attrs"
    assert where(layer.weight) == "numpy:cpu:0"


def test_objects_that_are_shared_stay_shared(device: str) -> None:
    part = Plain(x_on_numpy())
    moved = pa.to_device([part, {"again": part}, Plain(part)], device)
    assert moved[0] is moved[1]["again"]
    assert moved[0] is moved[2].weight
    assert moved[0] is not part


def test_a_default_that_is_an_array_of_the_class_alone(device: str) -> None:
    x = x_on_numpy()

    class Holder:
        weight: Any = field(init=False, default=x)

    # Arrays cannot be hashed, and dataclass takes what cannot for a mistake.
    with pytest.raises(ValueError, match="mutable default"):
        dataclass(Holder)
    torch = pytest.importorskip("torch")
    tensor = torch.ones(2)

    @dataclass
    class OfTorch:
        weight: Any = field(init=False, default=tensor)

    moved = pa.to_device(OfTorch(), device, native=False)
    assert str(moved.weight.device) == device
    assert OfTorch.weight is tensor


def test_dataclasses_themselves_are_no_trees(device: str) -> None:
    assert pa.to_device([Plain, fields(Plain)], device)[0] is Plain


def test_an_object_that_copies_as_itself_is_refused(device: str) -> None:
    @dataclass
    class Single:
        weight: Any

        def __copy__(self) -> Any:
            return self

    tree = {"single": Single(x_on_numpy())}
    if device == "numpy:cpu:0":  # nothing to exchange
        assert pa.to_device(tree, device)["single"] is tree["single"]
        return
    with pytest.raises(TypeError, match="Single returns the same object") as caught:
        pa.to_device(tree, device)
    assert caught.value.__notes__ == ["at tree['single']"]
    assert where(tree["single"].weight) == "numpy:cpu:0"


def test_scikit_learn_is_not_imported() -> None:
    code = (
        "import sys, numpy as np, portarray as pa\n"
        "from dataclasses import dataclass\n"
        "pa.to_device([np.ones(2), {'a': pa.ones(2)}, object()], 'numpy')\n"
        "print([m for m in ('sklearn', 'torch', 'jax', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"


def test_estimators_and_their_parts(device: str) -> None:
    pytest.importorskip("sklearn")
    from sklearn.ensemble import VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 3))
    labels = np.where(rows[:, 0] > 0, "yes", "no")
    inner = make_pipeline(
        FeatureUnion([("z", StandardScaler()), ("unit", MinMaxScaler())]), LogisticRegression()
    )
    search = GridSearchCV(inner, {"logisticregression__C": [0.1, 1.0]}, cv=2).fit(rows, labels)
    voting = VotingClassifier([("a", inner), ("b", LogisticRegression())]).fit(rows, labels)
    moved = pa.to_device({"search": search, "voting": voting}, device, native=False, narrow=True)
    best = moved["search"].best_estimator_
    assert best is not search.best_estimator_
    logistic = best[-1]
    assert type(logistic) is LogisticRegression
    scaler = best[0].transformer_list[0][1]
    for array in (logistic.coef_, scaler.mean_, moved["voting"].estimators_[1].coef_):
        assert type(array) is pa.Array
        assert str(array.device) == device
    # scikit-learn has the same estimators twice, the second time in a class of its own.
    assert moved["voting"].named_estimators_["b"] is moved["voting"].estimators_[1]
    # Labels are no numbers, and settings are no arrays.
    assert logistic.classes_ is search.best_estimator_[-1].classes_
    assert moved["search"].best_params_ == search.best_params_
    assert type(search.best_estimator_[-1].coef_) is np.ndarray
    # And back: what was fitted predicts the same.
    back = pa.to_device(moved, "numpy", native=True)
    np.testing.assert_array_equal(back["search"].predict(rows), search.predict(rows))
    np.testing.assert_array_equal(back["voting"].predict(rows), voting.predict(rows))


def test_data_sets_of_scikit_learn() -> None:
    utils = pytest.importorskip("sklearn.utils")
    bunch = utils.Bunch(data=np.ones((2, 3)), names=["a", "b"])
    moved = pa.to_device(bunch, "numpy", native=False)
    assert type(moved) is utils.Bunch
    assert type(moved.data) is pa.Array
    assert moved["data"] is moved.data
    assert moved.names == bunch.names
    assert type(bunch.data) is np.ndarray


def test_classes_that_are_registered_with_jax(device: str) -> None:
    jax = pytest.importorskip("jax")

    class Layer:
        def __init__(self, weights: Any, name: str) -> None:
            self.weights = weights
            self.name = name

    jax.tree_util.register_pytree_with_keys(
        Layer,
        lambda layer: (((jax.tree_util.GetAttrKey("weights"), layer.weights),), layer.name),
        lambda name, parts: Layer(parts[0], name),
    )
    layer = Layer({"w": pa.asarray(VALUES, device="numpy"), "none": None}, "first")
    moved = pa.to_device([layer, layer], device)
    assert moved[0] is moved[1]
    assert moved[0].name == "first"
    assert moved[0].weights["none"] is None
    assert where(moved[0].weights["w"]) == device
    assert where(layer.weights["w"]) == "numpy:cpu:0"
    # Paths are JAX's, and what contains itself is found here as everywhere.
    layer.weights["again"] = layer
    with pytest.raises(ValueError, match="the tree is cyclic") as caught:
        pa.to_device({"a": layer}, device)
    assert "tree['a'].weights['again'] is tree['a'] again" in str(caught.value)

"""``pa.save`` and ``pa.load`` keep every bit, and trees of any structure come back."""

from __future__ import annotations

import collections
import enum
import json
import os
import re
import sys
import types
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_files import SHARING, values_of

import portarray as pa
from portarray._array import dispatch
from portarray._installation import pip_install
from portarray._saving import structure, tree_files

safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")


def bits(values: np.ndarray[Any, Any]) -> bytes:
    return values.tobytes(order="C")


def drawn(dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Draw random bits, with NaN payloads, -0.0 and subnormal numbers."""
    rng = np.random.default_rng(0)
    if dtype == np.bool:
        return rng.integers(0, 2, shape).astype(bool)
    return np.frombuffer(rng.bytes(dtype.itemsize * int(np.prod(shape))), dtype).reshape(shape)


def layouts(values: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    return {
        "plain": values,
        "transposed": values.T,
        "strided": values[1:, ::2],
        "reversed": values[::-1, ::-1],
        "broadcast": np.broadcast_to(values[0], (2, values.shape[1])),
        "of no axes": values[1, 1],
        "empty": values[:0],
    }


def test_every_bit_of_every_dtype_and_layout_comes_back(device: str, path: Path) -> None:
    where = pa.device(device)
    tree = {}
    for dtype in dispatch.dtypes_of(where):
        for layout, values in layouts(drawn(dtype, (3, 4))).items():
            with np.errstate(invalid="ignore"):
                tree[f"{dtype} {layout}"] = pa.asarray(np.asarray(values), device=where)
    assert len(tree) >= 7 * 12
    pa.save(path, tree)
    for again in (pa.load(path, device=device), pa.load(path, device=device, names=tree)):
        assert list(again) == list(tree)
        for name, x in tree.items():
            y = again[name]
            assert (y.device, y.dtype, y.shape) == (where, x.dtype, x.shape), name
            assert bits(values_of(y)) == bits(values_of(x)), name
            if where.library in SHARING:  # its memory is the file's, for this load alone
                y[...] = 0
    third = pa.load(path, device=device)
    assert all(bits(values_of(third[name])) == bits(values_of(x)) for name, x in tree.items())


def test_any_tree_of_any_arrays(path: Path, fake: str) -> None:
    tree = {
        "layers": [
            {"weight": pa.ones((2, 3), device="numpy"), "bias": pa.arange(3, device=fake)},
            (np.arange(6)[::2], np.arange(3, dtype=">i4")),
        ],
        "nothing": {},
        "of length none": [[], ()],
        "a": pa.asarray(1 + 2j, device="numpy"),
    }
    natives = {}
    for device in pa.devices():
        natives[device.library] = pa.ones(2, device=device).native
    pa.save(path, {**tree, "natives": natives}, metadata={"größe": "3"})
    again, metadata = pa.load(path, device="numpy", return_metadata=True)
    assert metadata == {"größe": "3"}
    assert list(again) == [*tree, "natives"]
    assert [*again["natives"]] == [*natives]
    assert all(x.tolist() == [1.0, 1.0] for x in again["natives"].values())
    first, second = again["layers"]
    assert list(first) == ["weight", "bias"]
    assert type(second) is tuple
    assert first["weight"].tolist() == [[1.0] * 3] * 2
    assert [first["bias"].tolist(), *(x.tolist() for x in second)] == [
        [0, 1, 2],
        [0, 2, 4],
        [0, 1, 2],
    ]
    assert second[1].dtype == pa.int32
    assert (again["nothing"], again["of length none"]) == ({}, [[], ()])
    assert complex(again["a"]) == 1 + 2j
    assert list(pa.load(path, device="numpy", names=["layers.1.0", "a"])) == ["layers.1.0", "a"]
    assert pa.load(path, names=[]) == {}
    for small_tree in (pa.ones(3), [pa.ones(3)], (), {"b": pa.ones(3), "a": pa.zeros(())}):
        pa.save(path, small_tree)
        assert _shape_of(pa.load(path)) == _shape_of(small_tree)
    mapping = collections.OrderedDict(z=pa.ones(1), a=pa.ones(2))
    pa.save(path, mapping)
    assert type(pa.load(path)) is dict
    assert list(pa.load(path)) == ["z", "a"]


class Name(enum.StrEnum):
    """A string key whose text form differs."""

    WEIGHT = "weight"

    def __str__(self) -> str:
        return "Name.WEIGHT"

    __format__ = __repr__ = __str__


def test_keys_are_the_strings_that_they_are(path: Path) -> None:
    pa.save(path, {"layer": {Name.WEIGHT: pa.ones(2)}, np.str_("b"): [pa.zeros(1)]})
    again = pa.load(path)
    assert (list(again), list(again["layer"])) == (["layer", "b"], ["weight"])
    assert {type(key) for key in (*again, *again["layer"])} == {str}
    assert set(safetensors.load_file(path)) == {"layer.weight", "b.0"}


def test_the_deepest_tree(path: Path) -> None:
    tree: Any = np.ones(1)
    for level in range(structure.DEEPEST):
        tree = {"a": tree} if level % 2 else [tree]
    pa.save(path, tree)
    again = pa.load(path)
    for level in reversed(range(structure.DEEPEST)):
        again = again["a" if level % 2 else 0]
    assert again.tolist() == [1.0]


def _shape_of(tree: Any) -> Any:
    if isinstance(tree, pa.Array):
        return tree.shape
    if isinstance(tree, dict):
        return [(key, _shape_of(value)) for key, value in tree.items()]
    return (type(tree), [_shape_of(value) for value in tree])


leaves = st.integers()
trees = st.recursive(
    leaves,
    lambda inner: (
        st.dictionaries(st.text("ab01.", max_size=3), inner, max_size=3)
        | st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


def named(tree: Any, *path: str) -> Iterator[str]:
    """Yield the names of a tree's arrays in a file."""
    if isinstance(tree, int):
        yield ".".join(path) if path else "array"
    else:
        pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in pairs:
            yield from named(value, *path, str(key))


@given(tree=trees)
@settings(deadline=None)
def test_any_structure_comes_back_or_has_names_that_clash(tree: Any) -> None:
    if len(set(every := list(named(tree)))) < len(every):
        with pytest.raises(ValueError, match="would both be named"):
            structure.flatten(tree, lambda value, path: None)
        return
    leaves_by_name, structured = structure.flatten(tree, lambda value, path: None)
    assert list(leaves_by_name) == every
    stored = json.loads(json.dumps(structured))
    assert list(structure.leaf_names(stored)) == list(leaves_by_name)
    again = structure.unflatten(stored, (leaf.value for leaf in leaves_by_name.values()))
    assert again == tree
    assert repr(again) == repr(tree)  # lists and tuples, and the order of keys
    for leaf in leaves_by_name.values():
        assert eval(leaf.path, {"tree": tree}) == leaf.value


# --- sharing --------------------------------------------------------------------------------------


def test_shared_arrays_are_saved_once_and_shared_again(device: str, path: Path) -> None:
    x = pa.asarray(np.arange(1000.0, dtype=np.float32), device=device)
    y = pa.asarray(np.arange(1000.0, dtype=np.float32), device=device)  # equal, and another
    same_native = pa.asarray(x.native)
    pa.save(path, {"w": x, "tied": [x, same_native, x.native], "other": y})
    assert path.stat().st_size < 9000
    again = pa.load(path, device=device)
    assert again["w"] is again["tied"][0] is again["tied"][1] is again["tied"][2]
    assert again["other"] is not again["w"]
    assert list(safetensors.load_file(path)) == ["other", "w"]
    selected = pa.load(path, device=device, names=["tied.1", "w"])
    assert selected["tied.1"] is selected["w"]


def test_tied_parameters_stay_tied(path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    state = model.state_dict()
    assert state["0.weight"] is not state["1.weight"]  # two tensors, one memory
    pa.save(path, state)
    again = pa.load(path, device="torch")
    assert list(again) == list(state)
    assert again["0.weight"] is again["1.weight"]
    model.load_state_dict({name: x.native for name, x in again.items()})
    with pytest.raises(ValueError, match="detach") as caught:
        pa.save(path, dict(model.named_parameters()))
    assert caught.value.__notes__ == ["at tree['0.weight']"]


# --- other programs -------------------------------------------------------------------------------


def test_files_of_other_programs(path: Path, device: str) -> None:
    arrays = {"w.b": np.ones((2, 3), np.float32), "a": np.arange(3, dtype=np.int16)}
    safetensors.save_file(arrays, path, metadata={"format": "np", "by": "another"})
    again, metadata = pa.load(path, device=device, return_metadata=True)
    assert metadata == {"format": "np", "by": "another"}
    assert list(again) == ["a", "w.b"]
    for name, x in again.items():
        assert (x.dtype, x.device) == (arrays[name].dtype, pa.device(device))
        np.testing.assert_array_equal(values_of(x), arrays[name])


def test_flat_dicts_are_written_as_by_any_program(path: Path) -> None:
    arrays = {"a": np.arange(3.0), "b.c": np.ones((2, 3), np.float16), "d": np.bool([True])}
    reference = path.with_name("other")
    for metadata in (None, {"format": "pt"}):
        pa.save(path, arrays, metadata=metadata)
        safetensors.save_file(arrays, reference, metadata=metadata)
        assert path.read_bytes() == reference.read_bytes()
    written = []
    for _ in range(2):
        pa.save(path, {"z": arrays, "a": [np.ones(2, complex)]})
        written.append(path.read_bytes())
    assert written[0] == written[1]


def test_complex128_is_pairs_for_others(path: Path) -> None:
    values = np.asarray([[1 + 2j, complex(np.nan, -0.0)]])
    pa.save(path, {"z": values, "s": np.asarray(3j), "e": np.zeros((0, 2), complex)})
    arrays = safetensors.load_file(path)
    np.testing.assert_array_equal(arrays["z"], np.stack([values.real, values.imag], axis=-1))
    assert (arrays["z"].dtype, arrays["s"].shape, arrays["e"].shape) == (
        np.float64,
        (2,),
        (0, 2, 2),
    )


# --- devices --------------------------------------------------------------------------------------


def test_a_dtype_that_the_device_lacks(path: Path, nofloat64: str) -> None:
    pa.save(path, {"a": np.ones(2, np.float32), "b": np.ones(2)})
    with pytest.raises(pa.DTypeNotSupportedError, match="pass narrow=True") as caught:
        pa.load(path, device=nofloat64)
    assert caught.value.__notes__ == [f"The array is 'b' in {str(path)!r}"]
    narrowed = pa.load(path, device=nofloat64, narrow=True)
    assert {name: str(x.dtype) for name, x in narrowed.items()} == {"a": "float32", "b": "float32"}


def test_an_error_leaves_no_arrays_behind(
    path: Path, nofloat64: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portarray._array import conversion

    references: list[weakref.ref[pa.Array]] = []

    def watched(*args: Any, **kwargs: Any) -> pa.Array:
        x = conversion.from_host(*args, **kwargs)
        references.append(weakref.ref(x))
        return x

    watching = types.SimpleNamespace(from_host=watched)
    pa.save(path, {"a": np.ones(2, np.float32), "b": np.ones(2)})
    monkeypatch.setattr(tree_files, "conversion", watching)
    with pytest.raises(pa.DTypeNotSupportedError) as caught:
        pa.load(path, device=nofloat64)
    assert caught.value.__traceback__ is not None
    assert [x() for x in references] == [None]


def test_bfloat16_becomes_the_dtype_that_holds_it(path: Path) -> None:
    import ml_dtypes

    values = np.asarray([1.0, 3e38, -1e-38, np.inf], ml_dtypes.bfloat16)
    pa.save(path, values)
    with pytest.raises(pa.DTypeNotSupportedError, match="pass narrow=True"):
        pa.load(path, device="numpy")
    wider = pa.load(path, device="numpy", narrow=True)
    assert wider.dtype == pa.float32
    np.testing.assert_array_equal(np.asarray(wider), values.astype(np.float32))


def test_files_go_to_the_default_device(path: Path, fake: str) -> None:
    pa.save(path, {"x": pa.arange(3, device=f"{fake}:cuda:1")})
    with pa.device(f"{fake}:cuda:1"):
        assert str(pa.load(path)["x"].device) == f"{fake}:cuda:1"
    assert str(pa.load(path, device=fake)["x"].device) == f"{fake}:cuda:0"
    assert pa.load(path, device="numpy")["x"].tolist() == [0, 1, 2]


def test_without_the_library(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa.save(path, pa.ones(2))
    monkeypatch.setitem(sys.modules, "safetensors", None)
    for use in (lambda: pa.load(path), lambda: pa.save(path, pa.zeros(2))):
        with pytest.raises(
            ModuleNotFoundError, match=re.escape(pip_install("portarray[files]"))
        ) as caught:
            use()
        assert caught.value.name == "safetensors"
    assert os.listdir(path.parent) == [path.name]

"""``pa.save`` and ``pa.load`` keep every bit, write atomically, and load without a copy."""

from __future__ import annotations

import collections
import enum
import errno
import gc
import json
import os
import pickle
import re
import stat
import subprocess
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

safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")

import portarray as pa  # noqa: E402
from portarray._array import dispatch  # noqa: E402
from portarray._installation import pip_install  # noqa: E402
from portarray._saving import safetensors_files, structure, tree_files  # noqa: E402

FILES = Path(__file__).parent
SHARING = {"numpy", "torch", "clarray"}
"""Libraries whose arrays may lie in memory that NumPy has."""

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.safetensors"


def values_of(x: pa.Array) -> np.ndarray[Any, Any]:
    """Return an array's values in host memory, including bfloat16."""
    return x.device._backend.to_host(x.native, copy=None)


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


# --- memory ---------------------------------------------------------------------------------------


def in_mapping(values: np.ndarray[Any, Any], path: Path) -> bool:
    """Return whether an array is in a memory mapping of the file."""
    address = values.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start <= address < end:
            return line.endswith(str(path))
    raise AssertionError("at no address of this process")


@linux
def test_arrays_lie_in_the_file_on_devices_that_use_host_memory(device: str, path: Path) -> None:
    library = device.partition(":")[0]
    names = ["bool", "int8", "int64", "float32", "complex128"]
    tree = {name: pa.ones(100, dtype=name, device="numpy") for name in names}
    pa.save(path, tree)
    x = pa.load(path, device=device, narrow=True)
    if library not in SHARING:
        assert not any(in_mapping(values_of(y), path) for y in x.values() if library != "dpnp")
        return
    loaded = safetensors_files.read(str(path))
    for name, y in x.items():
        # PyTorch and OpenCL need addresses that are multiples of the items' size.
        address = loaded.values(name).__array_interface__["data"][0]
        if library == "numpy" or address % y.dtype.itemsize == 0:
            assert in_mapping(values_of(y), path), name
        content = path.read_bytes()
        y[...] = 0
        assert not values_of(y).any()
        assert path.read_bytes() == content
    again = pa.load(path, device=device)
    assert all(values_of(y).all() for y in again.values())
    # The arrays hold the mapping, and a file that is replaced meanwhile does not touch them.
    loaded_array = again["float32"]
    pa.save(path, dict.fromkeys(names, loaded_array))
    path.unlink()
    del again, x
    assert values_of(loaded_array).sum() == 100


def resident(key: str) -> int:
    match = re.search(rf"^{key}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    assert match
    return int(match[1]) * 1024


@linux
def test_memory_that_saving_and_loading_take(path: Path) -> None:
    nbytes = 64 << 20
    x = pa.ones(nbytes // 4, dtype=pa.float32, device="numpy")
    pa.save(path, pa.zeros(3))  # what is imported for it is
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    initial = resident("VmRSS")
    pa.save(path, {"x": x, "rows": x.native.reshape(2, -1)[:1]})
    assert resident("VmHWM") - initial < nbytes / 8
    del x
    initial = resident("VmRSS")
    x = pa.load(path, device="numpy", names=["x"])["x"]
    assert resident("VmRSS") - initial < nbytes / 8
    assert float(pa.sum(x)) == x.size
    assert resident("VmRSS") - initial > nbytes / 2  # what is used is read, and counted here


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Keep the garbage collector from running."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_arrays_live_no_longer_than_their_tree(device: str, path: Path) -> None:
    values = np.ones(3, np.float32)
    tree: dict[str, Any] = {"a": [pa.asarray(values, device=device)]}
    tree["b"] = pa.asarray(values + 1, device=device)
    references = [weakref.ref(tree["a"][0]), weakref.ref(tree["b"])]
    pa.save(path, tree)
    tree["c"] = object()
    with pytest.raises(TypeError, match="not an array"):
        pa.save(path, tree)
    del tree
    again = pa.load(path, device=device)
    references += [weakref.ref(again["a"][0]), weakref.ref(again["b"])]
    del again
    assert [x() for x in references] == [None] * 4


@linux
@pytest.mark.usefixtures("uncollected")
def test_descriptors_of_files_that_are_loaded(path: Path) -> None:
    pa.save(path, {"a": [pa.ones(3), pa.ones(2)]})
    pa.load(path, device="numpy")
    initial = len(os.listdir("/proc/self/fd"))
    loaded = [pa.load(path, device="numpy") for _ in range(10)]
    per_file = 0 if sys.version_info >= (3, 13) else 1  # Python's mmap keeps one
    assert len(os.listdir("/proc/self/fd")) - initial == 10 * per_file
    del loaded
    assert len(os.listdir("/proc/self/fd")) == initial


@linux
def test_files_and_pickles_of_more_than_32_bits_can_count(path: Path) -> None:
    rows = (1 << 20) + 1  # of 4096 bytes
    nbytes = rows << 12
    entries = {
        "large": {"dtype": "U8", "shape": [rows, 4096], "data_offsets": [0, nbytes]},
        "last": {"dtype": "F32", "shape": [3], "data_offsets": [nbytes, nbytes + 12]},
    }
    header = json.dumps(entries).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.seek(nbytes - 1, os.SEEK_CUR)  # a gap, of which neither disk nor memory has anything
        file.write(b"\7" + np.arange(1, 4, dtype=np.float32).tobytes())
    for device in pa.devices():
        last = pa.load(path, device=device, names=["last"])["last"]
        assert values_of(last).tolist() == [1, 2, 3]
        if device.library not in SHARING or not device._backend.on_host(device.native):
            continue
        x = pa.load(path, device=device)["large"]
        assert x.shape == (rows, 4096)
        assert values_of(x[-1]).tolist() == [0] * 4095 + [7]
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(x, 5, buffer_callback=buffers.append)
        # Where portarray.dask was imported, a byte is before it.
        assert [size for buffer in buffers if (size := buffer.raw().nbytes) > 1] == [nbytes]
        again = pickle.loads(data, buffers=buffers)
        assert values_of(again[-1]).tolist() == values_of(x[-1]).tolist()


def test_memory_that_is_not_aligned_is_copied(path: Path) -> None:
    header = b'{"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}'
    data = np.asarray([1.0, 2.0]).tobytes()
    for padding in range(8):
        whole = header + b" " * padding
        path.write_bytes(len(whole).to_bytes(8, "little") + whole + data)
        assert safetensors_files.read(str(path)).values("w").flags.aligned
        for device in pa.devices():
            if "float64" in pa.__array_namespace_info__().dtypes(device=device):
                assert values_of(pa.load(path, device=device)["w"]).tolist() == [1.0, 2.0]


def test_saving_leaves_no_mark_on_arrays_of_clarray(path: Path) -> None:
    clarray = pytest.importorskip("portarray.clarray")
    if not pa.functional("clarray"):
        pytest.skip("no OpenCL device is here")
    x = pa.asarray(clarray.ones(3, dtype=clarray.float32)) + 1
    pa.save(path, {"x": x, "native": x.native, "strided": x[::2]})
    pickle.dumps([x, x[::2]], 5)
    assert not x.native.storage.shared  # of marked memory each call waits for its kernels
    assert pa.load(path, device="numpy")["strided"].tolist() == [2.0, 2.0]


def test_a_file_that_is_replaced_while_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load never mixes the contents of two files."""
    replacement = path.with_name("other")
    pa.save(path, {"x": np.arange(3.0)})
    pa.save(replacement, {"much longer name than the first one's": np.arange(2.0), "x": np.ones(5)})
    read_header, calls = safetensors_files._header, []

    def header(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            os.replace(replacement, path)
        return read_header(*arguments)

    monkeypatch.setattr(safetensors_files, "_header", header)
    loaded = pa.load(path, device="numpy")
    assert len(calls) == 2
    assert {name: values_of(x).tolist() for name, x in loaded.items()} == {
        "much longer name than the first one's": [0.0, 1.0],
        "x": [1.0] * 5,
    }


@pytest.mark.parametrize("change", [b"more", b""])
def test_a_file_whose_length_changes_while_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, change: bytes
) -> None:
    pa.save(path, {"x": np.arange(3.0)})
    mapped = safetensors_files._mapped

    def changed(descriptor: int) -> Any:
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - (0 if change else 8))
            file.seek(0, os.SEEK_END)
            file.write(change)
        return mapped(descriptor)

    monkeypatch.setattr(safetensors_files, "_mapped", changed)
    with pytest.raises(ValueError, match="its length changed while it was read"):
        pa.load(path)


# --- whole or not at all --------------------------------------------------------------------------


def run(function: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FILES / "killed.py"), function, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills children that it forks")
def test_a_killed_save_leaves_the_earlier_file(path: Path) -> None:
    saves, leftovers = map(int, run("killed", path).split())
    assert saves > 2  # saves that came to their end between kills
    assert leftovers > 5  # and saves that did not


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs limits of POSIX")
def test_a_save_that_fails_leaves_the_earlier_file_and_nothing_else(path: Path) -> None:
    message, files = run("too_large", path).splitlines()
    assert str(path) in message
    assert "File too large" in message
    assert files == "['x.safetensors']"


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs users of POSIX")
def test_a_file_that_may_not_be_written_is_not_replaced(path: Path) -> None:
    for folder in (path.parent, *path.parents[1:-2]):
        folder.chmod(folder.stat().st_mode | 0o111)
    message, files = run("refused", path).splitlines()
    assert message == f"[Errno {errno.EACCES}] the file is not writable: {str(path)!r}"
    assert files == "['x.safetensors']"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyboardInterrupt(), "^$"),
        # Where a full disk of another machine, or one that fails, is found out.
        (
            OSError(errno.EIO, "Input/output error"),
            "error; the file was not written: '.*x.safetensors'",
        ),
    ],
)
def test_an_interrupted_save(
    error: BaseException, message: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa.save(path, pa.ones(2))

    def interrupted(descriptor: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(type(error), match=message):
        pa.save(path, pa.zeros(2))
    assert os.listdir(path.parent) == [path.name]
    assert pa.load(path).tolist() == [1.0, 1.0]


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_modes_and_links(path: Path) -> None:
    plain = path.with_name("plain")
    umask = os.umask(0o027)
    try:
        plain.write_bytes(b"")
        pa.save(path, pa.ones(2))
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode) == 0o640
    path.chmod(0o604)
    pa.save(str(path), pa.zeros(2))  # a text is as good as a path
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    folder = path.parent / "folder"
    folder.mkdir()
    link, nowhere = folder / "link", folder / "nowhere"
    link.symlink_to("../x.safetensors")
    nowhere.symlink_to("../new")
    for symlink in (link, nowhere):
        pa.save(symlink, pa.ones(3))
        assert symlink.is_symlink()
        assert pa.load(symlink).shape == (3,)
    assert pa.load(path).shape == pa.load(path.parent / "new").shape == (3,)
    assert sorted(os.listdir(folder)) == ["link", "nowhere"]


def test_saving_to_a_missing_folder_or_a_folder_raises(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        FileNotFoundError, match="the folder does not exist; create it first"
    ) as caught:
        pa.save(path / "sub" / "file", pa.ones(2))
    assert caught.value.filename == str(path / "sub" / "file")
    with pytest.raises(IsADirectoryError, match="the path is a folder"):
        pa.save(path.parent, pa.ones(2))
    with pytest.raises(IsADirectoryError, match="the path is the name of a folder"):
        pa.save(f"{path}{os.sep}", pa.ones(2))
    with pytest.raises(TypeError, match="the path has type dict"):
        pa.save({"x": pa.ones(2)}, "x.safetensors")  # type: ignore[arg-type]
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)
        for use in (lambda: pa.save(path, pa.ones(2)), lambda: pa.load(path)):
            with pytest.raises(OSError, match="the path is not a regular file"):
                use()
        path.unlink()
    assert os.listdir(path.parent) == []
    monkeypatch.chdir(path.parent)
    no_text = [os.fsdecode(b"\xff")] if sys.platform.startswith("linux") else []
    for name in ("x", "größe", *no_text):
        pa.save(name, pa.ones(2))
        assert pa.load(name).shape == (2,)


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

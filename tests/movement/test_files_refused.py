"""Trees and files that cannot be saved or loaded raise clear errors and lose nothing."""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray import errors

pytest.importorskip("safetensors", reason="safetensors is not installed")


# --- trees that cannot be saved -------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")
cycle: list[Any] = []
cycle.append({"again": cycle})
ARRAY = np.ones(1)

WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a number": (
        {"a": [ARRAY, 3.5]},
        TypeError,
        r"tree\['a'\]\[1\] is 3.5 of type float, not an array\nHint: make it an array",
    ),
    "a NumPy scalar": (
        [np.float32(3)],
        TypeError,
        r"tree\[0\] is np.float32\(3.0\) of type float32",
    ),
    "None": (
        {"a": None},
        TypeError,
        r"tree\['a'\] is None of type NoneType, not an array",
    ),
    "a text": ("text", TypeError, "tree is 'text' of type str, not an array"),
    "an object": (
        {"a": object()},
        TypeError,
        r"tree\['a'\] is .*of type object, not an array",
    ),
    "strings": (
        {"a": np.asarray(["x"])},
        TypeError,
        r"tree\['a'\] cannot be saved: unsupported dtype dtype\('<U1'\)",
    ),
    "objects": (
        [np.asarray([None])],
        TypeError,
        r"tree\[0\] cannot be saved: unsupported dtype dtype\('O'\)",
    ),
    "long double": ([np.ones(1, np.longdouble)], TypeError, "unsupported dtype"),
    "a masked array": (
        [np.ma.ones(3)],
        TypeError,
        r"tree\[0\] is a MaskedArray, which has more than",
    ),
    "a named tuple": (
        [Point(ARRAY, ARRAY)],
        TypeError,
        "of type Point, not an array\nHint: use its _asdict",
    ),
    "a set": ({"a": {1}}, TypeError, r"tree\['a'\] is \{1\} of type set, not an array"),
    "a number as key": (
        {"a": {3: ARRAY}},
        TypeError,
        r"the key 3 in tree\['a'\] is not a string(.|\n)*use str\(key\)",
    ),
    "one name twice": (
        {"a": [ARRAY], "a.0": np.zeros(2)},
        ValueError,
        r"tree\['a'\]\[0\] and tree\['a.0'\] would both be named 'a.0'",
    ),
    "the format's name": (
        {"__metadata__": ARRAY},
        ValueError,
        r"tree\['__metadata__'\] cannot be named",
    ),
    "a cycle": (cycle, ValueError, r"tree\[0\]\['again'\] contains itself"),
    "no Unicode": ({"\ud800": ARRAY}, ValueError, r"in tree has a lone surrogate"),
}


def nested(depth: int) -> Any:
    tree: Any = ARRAY
    for _ in range(depth):
        tree = [tree]
    return tree


WRONG["a tree of great depth"] = (
    nested(201),
    ValueError,
    "nested too deeply: more than 200 levels",
)


def test_errors_of_a_library_name_the_leaf(path: Path) -> None:
    torch = pytest.importorskip("torch")
    for wrong in (torch.ones(2, device="meta"), torch.ones(2).to_sparse()):
        with pytest.raises((TypeError, ValueError)) as caught:
            pa.save(path, {"a": [ARRAY, wrong]})
        assert caught.value.__notes__ == ["at tree['a'][1]"]
    with pytest.raises(
        TypeError, match=r"of type Linear, not an array\nHint: save its state_dict\(\)"
    ):
        pa.save(path, torch.nn.Linear(2, 2))
    assert not path.exists()


@pytest.mark.parametrize("case", WRONG)
def test_trees_that_cannot_be_saved(case: str, path: Path) -> None:
    tree, error, message = WRONG[case]
    pa.save(path, pa.ones(2))
    content = path.read_bytes()
    with pytest.raises(error, match=message):
        pa.save(path, tree)
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ("text", TypeError, "metadata must map str to str"),
        ({"epoch": 3}, TypeError, r"metadata\['epoch'\] is 3, and metadata maps str to str"),
        ({3: "x"}, TypeError, r"metadata\[3\] is 'x'"),
        ({"portarray": "x"}, ValueError, "portarray reserves the metadata key 'portarray'"),
        ({"by": "\ud800"}, ValueError, r"metadata\['by'\] has a lone surrogate"),
        ({"\udcff": "x"}, ValueError, r"metadata\['\\udcff'\] has a lone surrogate"),
    ],
)
def test_metadata_is_text(metadata: Any, error: type[Exception], message: str, path: Path) -> None:
    with pytest.raises(error, match=message):
        pa.save(path, pa.ones(2), metadata=metadata)
    assert not path.exists()


# --- files that cannot be loaded ------------------------------------------------------------------


def file_of(header: dict[str, Any], data: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def noted(notes: Any) -> bytes:
    text = notes if isinstance(notes, str) else json.dumps(notes)
    entry = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    return file_of({"__metadata__": {"portarray": text}, "w": entry}, bytes(8))


def _npy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.ones(1000))


def _npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.ones(1000))


BROKEN: dict[str, tuple[bytes | Callable[[Path], None], str]] = {
    "empty": (b"", "(?s)not a complete safetensors file: .*too small.*restore it"),
    "a few bytes": (b"abc", "not a complete safetensors file"),
    "text": (b"some text that is longer than the header's length", "header too large"),
    "no JSON": ((5).to_bytes(8, "little") + b"{nope", "invalid JSON|header"),
    "too short for its shape": (
        file_of({"w": {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
        "header",
    ),
    "too long": (
        file_of({"w": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}, bytes(9)),
        "not fully covered",
    ),
    "a gap": (
        file_of({"w": {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}}, bytes(16)),
        "header",
    ),
    "a dtype of nobody": (
        file_of({"w": {"dtype": "F99", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
        "unknown variant",
    ),
    "an .npy file": (_npy, r"NumPy's .npy files: use numpy.load"),
    "an .npz file": (_npz, "a zip archive.*use numpy.load or torch.load"),
    "booleans of other bits": (
        file_of({"w": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\1\2"),
        "'w' has values that are not booleans",
    ),
    "notes of no JSON": (
        noted("{nope"),
        r"its metadata 'portarray' is not JSON written by portarray: '\{nope'",
    ),
    "notes of a list": (noted([1]), "not JSON written by portarray"),
    "notes without end": (noted("[" * 100_000), "not JSON written by portarray"),
    "pairs of nothing": (noted({"complex128": ["v"]}), "lists arrays that are not float64 pairs"),
    "pairs of one": (noted({"complex128": ["w"]}), "lists arrays that are not float64 pairs"),
    "pairs of numbers": (noted({"complex128": 3}), "lists arrays that are not float64 pairs"),
    "a structure without the array": (
        noted({"structure": {"v": None}}),
        r"metadata 'structure' (.|\n)*names=\[...\]",
    ),
    "a structure with less": (noted({"structure": {}}), "metadata 'structure'"),
    "a structure of numbers": (noted({"structure": {"w": 3}}), "metadata 'structure'"),
    "a structure of sets": (noted({"structure": ["set", None]}), "metadata 'structure'"),
    "a structure of great depth": (
        noted('{"structure": ' + '["list", ' * 600 + "null" + "]" * 600 + "}"),
        "metadata 'structure'",
    ),
    "shared with nothing": (noted({"shared": {"v": "u"}}), "metadata 'shared'"),
    "shared numbers": (noted({"shared": {"v": [3]}}), "metadata 'shared'"),
    "shared of a list": (noted({"shared": [3]}), "metadata 'shared'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_files_that_cannot_be_loaded(case: str, path: Path) -> None:
    content, message = BROKEN[case]
    path.write_bytes(content) if isinstance(content, bytes) else content(path)
    with pytest.raises(ValueError, match=message) as caught:
        pa.load(path, device="numpy")
    assert str(path) in str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    if case.startswith("a structure"):
        assert pa.load(path, device="numpy", names=["w"])["w"].tolist() == [0.0]


def test_every_truncation_is_found(path: Path) -> None:
    pa.save(path, {"a": [np.arange(3), np.ones(2, complex)], "b": np.ones(5, bool)})
    whole = path.read_bytes()
    for length in range(0, len(whole), 2):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="not a complete safetensors file"):
            pa.load(path, device="numpy")


def test_changed_headers_are_refused_or_give_arrays(path: Path) -> None:
    pa.save(path, {"a": [np.arange(3), np.ones(2, complex)], "b": np.ones(5, bool)})
    whole = path.read_bytes()
    length = 8 + int.from_bytes(whole[:8], "little")
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(200):
        changed = bytearray(whole)
        for position in rng.integers(0, length, 2):
            changed[position] = rng.choice(np.frombuffer(whole[:length], np.uint8))
        path.write_bytes(changed)
        try:
            pa.load(path, device="numpy")
        except ValueError:
            refused += 1
    assert refused > 50


def test_dtypes_that_portarray_has_not(path: Path) -> None:
    path.write_bytes(
        file_of(
            {
                "f8": {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [0, 3]},
                "f4": {"dtype": "F4", "shape": [2], "data_offsets": [3, 4]},
                "good": {"dtype": "U8", "shape": [2], "data_offsets": [4, 6]},
            },
            b"abcd\1\2",
        )
    )
    with pytest.raises(
        ValueError, match=r"array 'f4' in .* has the unsupported dtype F4"
    ) as caught:
        pa.load(path)
    assert f"{str(path)!r}" in str(caught.value)
    assert pa.load(path, device="numpy", names=["good"])["good"].tolist() == [1, 2]


def test_missing_files_and_names(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=re.escape(str(path))):
        pa.load(path)
    with pytest.raises(IsADirectoryError, match="the path is a folder"):
        pa.load(path.parent)
    with pytest.raises(TypeError, match="type Array\nHint: the path is the first argument"):
        pa.load(pa.ones(2))  # type: ignore[call-overload]
    pa.save(path, {"weight": pa.ones(2), "bias": pa.ones(2)})
    with pytest.raises(
        ValueError, match=r"does not have an array named 'wieght'\nHint: use 'weight'"
    ):
        pa.load(path, names=["wieght"])
    with pytest.raises(
        ValueError, match=r"does not have an array named 'x'\nHint: it has 'bias', 'weight'"
    ):
        pa.load(path, names=["x"])
    with pytest.raises(
        TypeError, match=r"names must be a list, not 'bias'\nHint: use names=\['bias'\]"
    ):
        pa.load(path, names="bias")
    with pytest.raises(errors.UnknownDeviceError):
        pa.load(path, device="nowhere")


def _refused(code: str) -> str:
    """Return the output of a program that exceeds a limit of the system."""
    pytest.importorskip("resource")
    imports = (
        "import errno, os, resource, sys, tempfile\nimport numpy as np\nimport portarray as pa\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", imports + code], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_that_may_not_grow(path: Path) -> None:
    pa.save(path, {"w": ARRAY})
    content = path.read_bytes()
    # As on a full disk, the system says why, by number and text.
    out = _refused(
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        f"path = {str(path)!r}\n"
        "try:\n"
        "    pa.save(path, {'w': np.ones(100_000)})\n"
        "except OSError as error:\n"
        "    print(error.errno == errno.EFBIG, error.filename == path, error)\n"
    )
    assert out.startswith("True True [Errno 27] File too large; it was not written: ")
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_that_may_not_be_written() -> None:
    out = _refused(
        "folder = tempfile.mkdtemp()\n"
        "path = os.path.join(folder, 'x')\n"
        "pa.save(path, np.ones(2))\n"  # whatever that imports
        "os.unlink(path)\n"
        "os.chmod(folder, 0o555)\n"
        "root = os.geteuid() == 0\n"
        "if root:\n"
        "    os.seteuid(65534)\n"
        "try:\n"
        "    pa.save(path, np.ones(2))\n"
        "except PermissionError as error:\n"
        "    print(error.filename == path, error)\n"
        "if root:\n"
        "    os.seteuid(0)\n"
        "os.rmdir(folder)\n"
    )
    assert out.startswith(
        "True [Errno 13] Permission denied: a file next to it could not be created: "
    )


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits no memory")
@pytest.mark.parametrize("case", ["for the library", "for the mapping"])
def test_no_memory_to_map_a_file(case: str, path: Path) -> None:
    nbytes = 1 << 34
    path.write_bytes(
        file_of({"x": {"dtype": "U8", "shape": [nbytes], "data_offsets": [0, nbytes]}})
    )
    os.truncate(path, path.stat().st_size + nbytes)  # of which the disk has nothing
    limit = "resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))\n"
    mapping = (
        "from portarray._saving import safetensors_files as files\n"
        "mapped = files._mapped\n"
        "def limited(descriptor):\n"
        f"    {limit}"
        "    return mapped(descriptor)\n"
        "files._mapped = limited\n"
    )
    out = _refused(
        (limit if case == "for the library" else mapping) + "try:\n"
        f"    pa.load({str(path)!r}, device='numpy')\n"
        "except pa.OutOfMemoryError as error:\n"
        "    print(error)\n"
    )
    assert out.startswith("numpy:cpu:0: out of memory (requested 17,179,869,")


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits no memory")
def test_no_memory_to_copy_a_pickled_array() -> None:
    out = _refused(
        "import pickle\n"
        "x = pa.asarray(np.broadcast_to(np.ones(1), (1 << 31,)), device='numpy')\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))\n"
        "try:\n"
        "    pickle.dumps(x, 5)\n"
        "except pa.OutOfMemoryError as error:\n"
        "    print(error)\n"
    )
    assert out.startswith("numpy:cpu:0: out of memory (requested 17,179,869,184 bytes")


@pytest.mark.skipif(sys.platform != "linux", reason="the system limits no memory")
def test_no_memory_to_copy_a_saved_array(path: Path) -> None:
    out = _refused(
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))\n"
        "try:\n"
        f"    pa.save({str(path)!r}, {{'w': np.broadcast_to(np.ones(1), (1 << 31,))}})\n"
        "except pa.OutOfMemoryError as error:\n"
        "    print(error)\n"
    )
    assert out.startswith("numpy:cpu:0: out of memory (requested 17,179,869,184 bytes")
    assert os.listdir(path.parent) == []

"""Memory of saved and loaded arrays: it is the file's where that is possible, and never leaks."""

from __future__ import annotations

import gc
import json
import os
import pickle
import re
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saved_files import SHARING, linux, values_of

import portarray as pa
from portarray._saving import safetensors_files

pytest.importorskip("safetensors", reason="safetensors is not installed")


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

"""Copies between devices and the host are reported to listeners, or refused."""

from __future__ import annotations

import copy
import operator
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

import portarray as pa
from portarray import _name_hints
from portarray._array import host_access
from portarray.errors import HostAccessError, HostAccessWarning
from portarray.testing import virtual_devices

Transfers = list[tuple[str, bool, str]]


@pytest.fixture
def transfers() -> Iterator[Transfers]:
    """Yield the kind, whether it is to the host, and the name of each reported transfer."""
    reported: Transfers = []

    def listen(transfer: host_access.Transfer) -> None:
        assert isinstance(transfer.device, pa.Device)
        reported.append((transfer.kind, transfer.to_host, transfer.name))

    host_access.LISTENERS.append(listen)
    yield reported
    host_access.LISTENERS.remove(listen)


READS: dict[str, Callable[[Any], Any]] = {
    "bool": lambda x: bool(x[0]),
    "int": lambda x: int(x[0]),
    "float": lambda x: float(x[0]),
    "complex": lambda x: complex(x[0]),
    "index": lambda x: operator.index(x[0]),
    "item": lambda x: x[1].item(),
    "tolist": lambda x: x.tolist(),
    "print": repr,
    "pickle": pickle.dumps,
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "asarray": lambda x: pa.asarray([1, 2], device=x.device),
    "indexing": lambda x: x[[0, 1]],
    "from_dlpack": lambda x: pa.from_dlpack(_Producer(), device=x.device),
}


class _Producer:
    """An array of a library without a backend."""

    def __dlpack__(self, **options: Any) -> Any:
        return np.arange(3).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def array(device: str) -> pa.Array:
    return pa.asarray([1, 2, 3], dtype=pa.int32, device=device)


@pytest.mark.parametrize("kind", READS)
def test_reads_of_values_are_reported_and_allowed(
    device: str, kind: str, transfers: Transfers
) -> None:
    x = array(device)
    transfers.clear()
    with pa.config(host_access="error"):
        READS[kind](x)
    assert transfers == [(kind, True, "")]


@pytest.mark.parametrize("kind", WRITES)
def test_host_values_are_reported(device: str, kind: str, transfers: Transfers) -> None:
    x = array(device)
    transfers.clear()
    WRITES[kind](x)
    assert transfers == [(kind, False, "")]


def test_numpy_arrays_are_reported_once(device: str, transfers: Transfers) -> None:
    for values in (np.ones(2, np.float32), np.ones(2, ">f4"), [[1.0]], 3, np.float32(2)):
        for dtype in (None, pa.float32):
            pa.asarray(values, dtype=dtype, device=device)
            assert transfers == [("asarray", False, "")]
            transfers.clear()


def test_moves_are_reported(device: str, transfers: Transfers, fake: str) -> None:
    gpu = pa.device(f"{fake}:cuda:0")
    x = array(device)
    transfers.clear()
    for move in (
        lambda x, where: x.to_device(where),
        lambda x, where: pa.to_device({"x": x}, where)["x"],
        lambda x, where: pa.asarray(x, device=where),
        lambda x, where: pa.astype(x, pa.float32, device=where),
        lambda x, where: pa.from_dlpack(x, device=where),
    ):
        y = move(x, gpu)
        move(y, pa.device(device))
        cpu = x.device.kind == "cpu"
        assert transfers == [("to_device", False, device), ("to_device", True, device)] * cpu
        transfers.clear()
        move(y, f"{fake}:cuda:1")
        move(y, y.device)
        assert transfers == []


def test_files_are_reported(device: str, transfers: Transfers, tmp_path: Path) -> None:
    x = array(device)
    transfers.clear()
    pa.save(tmp_path / "x.safetensors", {"x": x})
    pa.load(tmp_path / "x.safetensors", device=device)
    pickled = pickle.dumps(x)
    pickle.loads(pickled)
    assert transfers == [
        ("save", True, ""),
        ("load", False, ""),
        ("pickle", True, ""),
        ("unpickle", False, ""),
    ]


def test_other_calls_are_not_reported(device: str, transfers: Transfers) -> None:
    x = pa.arange(6, device=device)
    x = pa.reshape(x, (2, 3)) * 2 + pa.ones((2, 3), dtype=x.dtype, device=device)
    x[0, :] = 3
    pa.sum(x, axis=0), x[:, 1], copy.deepcopy(x), pa.concat([x, x]), pa.sort(x), x == x
    pa.linspace(0, 9, 10, dtype=pa.int32, device=device), np.multiply(x, 2), x.native
    pa.asarray(x), pa.asarray(x, device=device), x.to_device(device), pa.astype(x, pa.float32)
    assert transfers == []


def test_host_fallbacks_are_reported(transfers: Transfers) -> None:
    with virtual_devices("oneapi", host_functions=["cos"]) as (device,):
        x = pa.asarray([0.0, 1.0], device=device)
        transfers.clear()
        with pa.config(host_fallback="allow"):
            pa.cos(x)
        assert transfers == [("host fallback", True, "cos")]


IMPLICIT: dict[str, Callable[[Any], Any]] = {
    "numpy.asarray": np.asarray,
    "DLPack": np.from_dlpack,
    "ufunc j0": special._ufuncs.j0,
}


@pytest.mark.parametrize("operation", IMPLICIT)
def test_implicit_reads_are_refused(device: str, operation: str) -> None:
    x = array(device).astype(pa.float32)
    read = IMPLICIT[operation]
    if pa.device(device)._backend.dlpack_device_of(x.device.native) != (1, 0):
        pytest.skip("no host memory: refused anyway")
    read(x)
    with pa.config(host_access="error"), pytest.raises(HostAccessError) as caught:
        read(x)  # this line
    error = caught.value
    assert (error.function, error.device) == (operation, device)
    assert error.line.startswith(f"{__file__}:")
    assert error.line.endswith("read(x)  # this line")
    assert "x.to_device('numpy').native" in str(error)
    assert error.line in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.line) == (HostAccessError, str(error), error.line)
    read(x)


def test_a_librarys_line_is_named_with_the_users() -> None:
    signal = pytest.importorskip("scipy.signal")
    x = pa.asarray([1.0, 2.0], device="numpy")
    with pa.config(host_access="error"), pytest.raises(HostAccessError) as caught:
        signal.lfilter(x, x, x)
    library, _, user = caught.value.line.partition(", called from ")
    assert "scipy" in library
    assert user.startswith(f"{__file__}:")
    assert "lfilter" in user


def test_a_librarys_function_is_named_once_with_what_to_use() -> None:
    linalg = pytest.importorskip("scipy.linalg")
    x = pa.asarray([[2.0, 1.0], [1.0, 3.0]], device="numpy")
    calls = {"cholesky": "pa.linalg.cholesky(", "inv": "pa.linalg.inv", "expm": "copy it to"}
    with pa.config(host_access="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in (*calls, "det"):
            for _ in range(3):
                getattr(linalg, name)(x)
        np.add(x, np.ones(2))  # NumPy arrays beside arrays are not read from a device
    assert [warning.filename for warning in caught] == [__file__]
    assert "numpy.asarray in scipy.linalg.cholesky: reads an array" in str(caught[0].message)
    for name, fix in calls.items():
        host_access._warned.clear()
        with pa.config(host_access="warn"), pytest.warns(HostAccessWarning) as warned:
            getattr(linalg, name)(x)
        assert f"scipy.linalg.{name}: reads" in str(warned[0].message)
        assert f"\nHint: {'use ' if 'pa.' in fix else ''}{fix}" in str(warned[0].message)


def test_replacements_named_in_hints_exist() -> None:
    for name, fix in _name_hints.LIBRARIES.items():
        module, _, function = name.rpartition(".")
        assert hasattr(pytest.importorskip(module), function), name
        for used in re.findall(r"pa\.([\w.]+)", fix):
            assert operator.attrgetter(used)(pa) is not None, used


def test_a_listener_may_refuse() -> None:
    def refuse(transfer: host_access.Transfer) -> None:
        raise RuntimeError(f"{transfer.kind}: {next(host_access.callers())}")

    x = array("numpy")
    host_access.LISTENERS.append(refuse)
    try:
        with pytest.raises(RuntimeError, match=r"tolist: .*test_host_access.py:\d+: x.tolist\(\)"):
            x.tolist()
    finally:
        host_access.LISTENERS.remove(refuse)

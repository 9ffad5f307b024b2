"""Damaged or replaced files that outlive the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

import portarray as pa
from portarray import _atomic_files
from portarray._devices import markers, preferences


def _pipe(file: Path, whole: bytes) -> None:
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def _folder(file: Path, whole: bytes) -> None:
    file.unlink(missing_ok=True)
    (file / "in it").mkdir(parents=True)


def _unreadable(file: Path, whole: bytes) -> None:
    file.write_bytes(b"what nobody may read")  # but root
    file.chmod(0)


DAMAGE: dict[str, Callable[[Path, bytes], object]] = {
    "cut short": lambda file, whole: file.write_bytes(whole[:-2]),
    "empty": lambda file, whole: file.write_bytes(b""),
    "of zeros": lambda file, whole: file.write_bytes(bytes(100)),
    "binary": lambda file, whole: file.write_bytes(bytes(range(256))),
    "a folder": _folder,
    "unreadable": _unreadable,
    **({"a pipe": _pipe} if hasattr(os, "mkfifo") else {}),
}

damaged = pytest.mark.parametrize("damage", list(DAMAGE))


def in_time(function: Callable[[], object]) -> object:
    """Return a function's result, or fail after a minute: reading a pipe blocks."""
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(60)
    assert results, "it does not return"
    return results[0]


@damaged
def test_any_file_is_replaced(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    _atomic_files.write(file, b"first")
    DAMAGE[damage](file, b"first")
    _atomic_files.write(file, b"second")
    assert _atomic_files.read(file) == b"second"
    assert os.listdir(file.parent) == ["file"]


def test_an_interrupt_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    _atomic_files.write(tmp_path / "file", b"first")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _atomic_files.write(tmp_path / "file", b"second")
    assert os.listdir(tmp_path) == ["file"]
    assert _atomic_files.read(tmp_path / "file") == b"first"


@damaged
def test_verdicts_of_probes(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged verdict refuses nothing, and the next one replaces it."""
    monkeypatch.setenv("PORTARRAY_STATE_DIR", str(tmp_path))

    def refusal(said: str) -> str:
        with markers.guarded("fake-1", lambda: said) as verdict:
            return verdict

    def crash() -> None:
        folder = markers.state_folder()
        folder.mkdir(exist_ok=True)
        (folder / f"{stem}@{os.getpid()}").touch()

    with markers.guarded("fake-1", lambda: ""):
        (marker,) = markers.state_folder().iterdir()
        stem = marker.name.partition("@")[0]
    crash()
    assert "it crashes" in refusal("it crashes")
    (verdict,) = markers.state_folder().iterdir()
    DAMAGE[damage](verdict, verdict.read_bytes())
    assert in_time(lambda: refusal("not asked")) == ""
    crash()
    assert "still" in str(in_time(lambda: refusal("it crashes still")))
    assert "still" in refusal("not asked")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_instead_of_preferences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(preferences.PROJECT_FILE)
    pa.reset_gpu_device()
    with pytest.warns(pa.DeviceSelectionWarning, match="portarray.toml cannot be read: not a"):
        assert isinstance(in_time(lambda: pa.ones(2).device), pa.Device)
    with pytest.raises(pa.errors.PreferenceError, match="not a regular file"):
        pa.set_preference("numpy", scope="project")


needs_opencl = pytest.mark.skipif(find_spec("pyopencl") is None, reason="pyopencl is missing")


@needs_opencl
@damaged
def test_verdicts_on_drivers(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged verdict disabled the device for good."""
    from portarray._opencl import discovery, probe

    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path))
    native = discovery.candidates()[0]
    file = probe.verdict_file(native)
    for said in ("it works", f"it crashes: signal 6; remove {file} to try again"):
        _atomic_files.write(file, said.encode())
        assert probe.refusals_of([native]) == ["" if said == probe.WORKS else said]
        DAMAGE[damage](file, said.encode())
        assert in_time(lambda: probe.refusals_of([native])) == [""]
        assert _atomic_files.read(file) == probe.WORKS.encode()


@needs_opencl
@damaged
def test_programs_and_entries(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from portarray import clarray
    from portarray._opencl import loader
    from portarray._opencl.program_cache import ProgramCache

    entry = tmp_path / "driver.icd"
    assert loader._write_entry(entry, "libdriver.so")
    DAMAGE[damage](entry, b"libdriver.so\n")
    assert in_time(lambda: loader._write_entry(entry, "libdriver.so"))
    assert loader._library(entry) == "libdriver.so"

    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path))
    device = clarray.devices()[0]
    binaries = ProgramCache(device.native)
    file = binaries.file("text", "")
    _atomic_files.write(file, b"a program")
    DAMAGE[damage](file, b"a program")
    assert in_time(lambda: binaries.load(device.context, file, "") is None)

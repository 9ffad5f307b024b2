from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portarray._installation import pip_install
from portarray._opencl import probe, registry
from portarray._opencl.device import Device
from portarray._opencl.errors import DeviceNotFunctionalError
from portarray._opencl.registry import devices
from portarray.clarray import selection

Process = Callable[..., "subprocess.CompletedProcess[str]"]

TELL = """
import json, os
from portarray._opencl import registry
found = registry.devices()
print(json.dumps({
    "platforms": [one.platform_name for one in found],
    "discrete": [not one.host_memory for one in found],
    "reasons": registry.reasons(),
    "vendors": os.environ.get("OCL_ICD_VENDORS"),
}))
"""


def parsed(result: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(result.stdout.splitlines()[-1])


def wheel_is_there() -> bool:
    try:
        return bool(importlib.metadata.files("intel-opencl-rt"))
    except importlib.metadata.PackageNotFoundError:
        return False


needs_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a Linux loader")
needs_intel = pytest.mark.skipif(
    not wheel_is_there(), reason="the wheel intel-opencl-rt is missing"
)
needs_pocl = pytest.mark.skipif(
    not any("Portable" in device.platform_name for device in devices()), reason="PoCL is missing"
)


@needs_linux
@needs_intel
def test_the_wheels_driver_is_found_without_root_beside_the_systems(
    process: Process, cache: Path
) -> None:
    result = parsed(process(TELL))
    assert "Intel(R) OpenCL" in result["platforms"]
    assert not any("FPGA" in name for name in result["platforms"])
    folder = Path(result["vendors"])
    assert folder.parent == cache / "drivers"
    (first, *_) = sorted(folder.glob("*.icd"))
    assert Path(first.read_text().strip()).is_file()


@needs_linux
def test_entries_that_are_stale_or_cut_short_are_put_right(process: Process) -> None:
    folder = Path(parsed(process(TELL))["vendors"])
    entries = {file.name: file.read_text() for file in folder.iterdir()}
    (folder / "99-old.icd").write_text("/gone/libold.so\n")
    (folder / min(entries)).write_text("")
    process(TELL)
    assert {file.name: file.read_text() for file in folder.iterdir()} == entries


@needs_linux
@needs_intel
def test_a_folder_of_the_users_own_is_left_alone(process: Process, tmp_path: Path) -> None:
    vendors_folder = tmp_path / "own"
    vendors_folder.mkdir()
    intel = next(Path(parsed(process(TELL))["vendors"]).glob("*intel*.icd"))
    (vendors_folder / "mine.icd").write_text(intel.read_text())
    result = parsed(process(TELL, OCL_ICD_VENDORS=str(vendors_folder)))
    assert result["vendors"] == str(vendors_folder)
    assert result["platforms"] == ["Intel(R) OpenCL"]


def test_platforms_listed_earlier_are_used(process: Process) -> None:
    """The loader lists platforms once; later ones are missing without an error."""
    ask = """
import contextlib, pyopencl
with contextlib.suppress(pyopencl.Error):
    pyopencl.get_platforms()
"""
    process(f"{ask}{TELL}")


@needs_linux
@pytest.mark.parametrize("how", ["no folder", "no library", "no entry"])
def test_without_a_driver_the_reason_names_the_cause(
    how: str, process: Process, tmp_path: Path
) -> None:
    folder = tmp_path / "vendors"
    if how != "no folder":
        folder.mkdir()
    if how == "no library":
        (folder / "wrong.icd").write_text("/nowhere/libwrong.so\n")
    code = """
from portarray import clarray
from portarray._opencl import registry
assert registry.devices() == ()
try:
    clarray.default_device()
except clarray.DeviceNotFunctionalError as error:
    print(error)
    assert error.reasons
"""
    said = process(code, OCL_ICD_VENDORS=str(folder)).stdout
    assert "pip install intel-opencl-rt" in said
    expected = {
        "no folder": f"OCL_ICD_VENDORS={folder}: there is no such folder",
        "no library": "wrong.icd: it names /nowhere/libwrong.so, which does not exist",
        "no entry": "the loader finds no driver",
    }
    assert expected[how] in said


@needs_pocl
def test_a_platform_without_a_device_is_named(process: Process) -> None:
    result = parsed(process(TELL, POCL_DEVICES=""))
    assert "no device" in result["reasons"]["Portable Computing Language"]
    assert "Portable Computing Language" not in result["platforms"]


@needs_intel
@needs_linux
def test_a_driver_that_fails_is_named(process: Process) -> None:
    result = parsed(process(TELL, CL_CONFIG_CPU_TARGET_ARCH="unheard-of"))
    assert "Intel(R) OpenCL" not in result["platforms"]
    (reason,) = [text for name, text in result["reasons"].items() if "(Intel(R) OpenCL)" in name]
    assert "DEVICE_NOT_AVAILABLE" in reason


DIES = """
import os, sys
if "portarray._opencl.probe" in sys.orig_argv and {platform!r} in sys.orig_argv:
    os.abort()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_driver_that_ends_its_process_is_tried_once_and_named(
    process: Process, cache: Path, tmp_path: Path
) -> None:
    """A simulated driver ends the process that tries it, like a broken compiler."""
    for file in (cache / "verdicts").iterdir():
        file.unlink()
    platform = devices()[0].platform_name
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(DIES.format(platform=platform))
    settings = {"PYTHONPATH": f"{site}:{':'.join(path for path in sys.path if path)}"}
    first = parsed(process(TELL, **settings))
    assert platform not in first["platforms"]
    (reason,) = [text for name, text in first["reasons"].items() if f"({platform})" in name]
    assert "SIGABRT" in reason
    assert "to try again" in reason
    assert len(first["platforms"]) == len(devices()) - 1, "the other drivers work on"
    # Known now: nothing is tried any more.
    (site / "sitecustomize.py").unlink()
    again = parsed(process(TELL))
    assert again["reasons"] == first["reasons"]
    for file in (cache / "verdicts").iterdir():
        file.unlink()
    assert platform in parsed(process(TELL))["platforms"]
    assert {file.read_text() for file in (cache / "verdicts").iterdir()} == {probe.WORKS}


def test_a_device_that_computes_wrongly_is_refused(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert probe.check(device) == ""
    monkeypatch.setattr(probe, "_SOURCE", probe._SOURCE.replace("+ value", "- value"))
    assert "it computes wrong results" in probe.check(device)
    monkeypatch.setattr(probe, "_SOURCE", "no program")
    assert probe.check(device).startswith("KernelError: kernel 'probe' could not be built")


def test_the_environment_chooses_the_default(process: Process) -> None:
    code = "from portarray import clarray; print(clarray.default_device().index)"
    every = devices()
    for device in every:
        assert process(code, CLARRAY_DEVICE=str(device.index)).stdout.strip() == str(device.index)
        name = device.platform_name.lower()
        assert process(code, CLARRAY_DEVICE=name).stdout.strip() == str(device.index)
    wrong = process(code, check=False, CLARRAY_DEVICE="no such thing")
    assert "CLARRAY_DEVICE='no such thing' does not name a device" in wrong.stderr
    assert every[0].name in wrong.stderr
    wrong = process(code, check=False, CLARRAY_DEVICE="7")
    assert "CLARRAY_DEVICE='7' does not name a device" in wrong.stderr


def test_the_environment_makes_devices_discrete(process: Process) -> None:
    assert set(parsed(process(TELL, CLARRAY_MEMORY="discrete"))["discrete"]) == {True}
    wrong = process(TELL, check=False, CLARRAY_MEMORY="far away")
    assert "CLARRAY_MEMORY='far away'" in wrong.stderr


def test_intels_cpu_runtime_comes_before_pocl() -> None:
    kinds = [device.kind for device in devices()]
    assert kinds == sorted(kinds, key=["gpu", "cpu", "accelerator"].index)
    platforms = [device.platform_name for device in devices() if device.kind == "cpu"]
    ranks = [0 if "Intel" in name else 2 if "Portable" in name else 1 for name in platforms]
    assert ranks == sorted(ranks)


DPNP = """
import warnings
warnings.filterwarnings("ignore", "Setting the shape on a NumPy array")  # NumPy 2.5 of dpnp 0.20
import dpctl, dpnp
def use_dpnp():
    intel = [one for one in dpctl.get_devices() if "Intel" in one.sycl_platform.name]
    if intel:  # dpnp is killed by others
        default = "Intel" in dpctl.select_default_device().sycl_platform.name
        for device in [intel[0], None] if default else [intel[0]]:
            x = dpnp.ones(1000, device=device)
            assert float((x + x).sum()) == 2000
    print(bool(intel))
"""
OURS = """
from portarray._installation import pip_install
from portarray._opencl import probe, registry
def use_clarray():
    assert [probe.check(one) for one in registry.devices()] == [""] * len(registry.devices())
"""


@needs_linux
@needs_intel
@pytest.mark.parametrize("order", ["clarray first", "dpnp first", "dpnp imported first"])
def test_dpnp_and_clarray_work_in_one_process(order: str, process: Process) -> None:
    if importlib.util.find_spec("dpnp") is None:
        pytest.skip("dpnp is missing")
    code = {
        "clarray first": f"{OURS}use_clarray()\n{DPNP}use_dpnp()\nuse_clarray()\nuse_dpnp()",
        "dpnp first": f"{DPNP}use_dpnp()\n{OURS}use_clarray()\nuse_dpnp()\nuse_clarray()",
        "dpnp imported first": f"{DPNP}{OURS}use_clarray()\nuse_dpnp()\nuse_clarray()",
    }[order]
    said = process(code).stdout.split()
    if order != "dpnp first":  # it then sees what clarray found
        assert said[-1] == "True"


def test_two_first_calls_at_once_give_the_same_devices(process: Process) -> None:
    code = """
import threading
from portarray._opencl.registry import devices
found = []
threads = [threading.Thread(target=lambda: found.append(devices())) for _ in range(8)]
[one.start() for one in threads]
[one.join() for one in threads]
assert len(found) == 8 and all(one is found[0] for one in found)
"""
    process(code)


def test_reasons_come_without_asking_for_devices_first(process: Process) -> None:
    process("from portarray._opencl import registry; registry.reasons()")
    assert registry.reasons() == {
        name: text for name, text in registry.reasons().items() if name and text
    }


def test_without_pyopencl_the_import_names_the_package(process: Process) -> None:
    code = "import sys; sys.modules['pyopencl'] = None; import portarray.clarray"
    result = process(code, check=False)
    assert pip_install("portarray[opencl]") in result.stderr


def test_no_device_at_all_is_reported_with_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_devices", ())
    monkeypatch.setattr(selection, "_default", None)
    with pytest.raises(DeviceNotFunctionalError, match="no OpenCL device"):
        selection.default_device()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_trial_that_others_end_is_no_verdict(
    process: Process, cache: Path, tmp_path: Path
) -> None:
    for file in (cache / "verdicts").iterdir():
        file.unlink()
    site = tmp_path / "site"
    site.mkdir()
    platform = devices()[0].platform_name
    dies = DIES.format(platform=platform).replace("os.abort()", "os.kill(os.getpid(), 9)")
    (site / "sitecustomize.py").write_text(dies)
    settings = {"PYTHONPATH": f"{site}:{':'.join(path for path in sys.path if path)}"}
    assert len(parsed(process(TELL, **settings))["platforms"]) == len(devices())
    verdicts = sorted(file.read_text() for file in (cache / "verdicts").iterdir())
    assert verdicts == ["", *[probe.WORKS] * (len(devices()) - 1)]


FIRST = """
import os
from portarray._opencl import svm, probe, registry
started = []
start, check = probe._start, probe.check
probe._start = lambda native: started.append(native) or start(native)
probe.check = lambda device: os._exit(3) if "DIES" in os.environ else check(device)
found = svm.host_device()
assert registry._devices is None and list(registry._opened) == [found.native]
assert registry.devices()[found.index] is found
print(found.platform_name, len(started))
"""


@needs_linux
@needs_intel
def test_intels_driver_is_tried_in_the_first_process_unless_that_ended(
    process: Process, cache: Path
) -> None:
    for file in (cache / "verdicts").iterdir():
        file.unlink()
    code = FIRST.replace("registry.devices()[found.index] is found", "True")
    assert process(code, check=False, DIES="").returncode == 3
    # The mark that it left makes the next process try in a child of its own.
    assert process(code).stdout.split() == ["Intel(R)", "OpenCL", "1"]
    (file,) = (cache / "verdicts").iterdir()
    assert file.read_text() == probe.WORKS
    file.unlink()
    for _ in range(2):
        assert process(code).stdout.split() == ["Intel(R)", "OpenCL", "0"]
        assert file.read_text() == probe.WORKS


def test_the_device_opened_early_is_listed(process: Process) -> None:
    process(FIRST)

"""Probes that raise, compute wrongly, hang or kill their process, in separate processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import portarray as pa
from portarray._devices import markers, probe

BACKENDS = Path(__file__).parents[1] / "fakes"

PROGRAM = """
import json, sys
sys.path.insert(0, {backends!r})
import portarray as pa
from portarray._devices import probe
from portarray.backends import registry
probe.TIMEOUT = {timeout}
registry.add_backend("faulty")
{first}
try:
    said = str(pa.device("faulty"))
except pa.DeviceNotFunctionalError as error:
    said = error.reasons
print(json.dumps([said, str(pa.ones(2).device)]))
"""


class Machine:
    """Processes that request the faulty device and share a state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "faulty.log"

    def start(
        self, fault: str, first: str = "", *, timeout: float = 120.0
    ) -> subprocess.Popen[str]:
        """Start a process that requests the device, with a time limit for its probes."""
        self.log.unlink(missing_ok=True)
        program = PROGRAM.format(backends=str(BACKENDS), first=first, timeout=timeout)
        return subprocess.Popen(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "FAULTY": fault,
                "FAULTY_LOG": str(self.log),
                "PORTARRAY_STATE_DIR": str(self.folder / "state"),
                "PORTARRAY_DEVICE": "numpy",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, fault: str, first: str = "", *, timeout: float = 120.0) -> tuple[int, Any]:
        """Request the device in a new process; return the status and the output."""
        with self.start(fault, first, timeout=timeout) as process:
            out, error = process.communicate(timeout=300)
        return process.returncode, json.loads(out) if out else error

    def steps(self) -> list[str]:
        """Return the steps that the last process and its children tried."""
        return self.log.read_text().split() if self.log.exists() else []

    def files(self) -> list[str]:
        folder = self.folder / "state" / "probes"
        return sorted(f.name for f in folder.iterdir()) if folder.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_sound_device_leaves_no_marker(machine: Machine) -> None:
    assert machine.ask("") == (0, ["faulty:opencl:0", "numpy:cpu:0"])
    assert machine.files() == []


@pytest.mark.parametrize("step", ["load", "count", "compute"])
def test_a_probe_that_raises(machine: Machine, step: str) -> None:
    status, (reasons, default) = machine.ask(f"{step}:raise")
    assert status == 0
    (reason,) = reasons.values()
    assert "RuntimeError: the driver said no" in reason
    assert default == "numpy:cpu:0"
    assert machine.files() == []


@pytest.mark.parametrize("how", ["wrong", "dtype"])
def test_a_device_that_computes_wrongly(machine: Machine, how: str) -> None:
    _, (reasons, _) = machine.ask(f"compute:{how}")
    assert "it computes wrong results" in reasons["faulty:opencl:0"]
    reported = "[3.0, 7.0, 13.0, 21.0] in float32" if how == "wrong" else "in float64"
    assert reasons["faulty:opencl:0"].endswith(reported)


def test_a_child_whose_driver_talks(machine: Machine) -> None:
    assert machine.ask("compute:abort")[0] != 0
    _, (reasons, _) = machine.ask("compute:chatter")
    assert "RuntimeError: the driver said no" in reasons["faulty:opencl:0"]
    assert "firmware" not in reasons["faulty:opencl:0"]


def test_a_broken_device_is_tried_once_in_a_process(machine: Machine) -> None:
    again = "for _ in range(3):\n    assert not pa.functional('faulty')"
    _, (reasons, _) = machine.ask("compute:raise", again)
    assert "the driver said no" in reasons["faulty:opencl:0"]
    assert machine.steps() == ["load", "count", "compute"]


@pytest.mark.parametrize(
    ("step", "how"), [("load", "abort"), ("count", "exit"), ("compute", "abort")]
)
def test_a_probe_kills_its_process_once(machine: Machine, step: str, how: str) -> None:
    fault = f"{step}:{how}"
    status, _ = machine.ask(fault)
    assert status != 0
    assert len(machine.files()) == 1

    # The next process tries it in a child and goes on.
    status, (reasons, default) = machine.ask(fault)
    assert status == 0
    assert default == "numpy:cpu:0"
    (reason,) = reasons.values()
    assert "it crashes" in reason
    assert ("SIGABRT" if how == "abort" else "status 3") in reason
    assert "portarray devices --reprobe" in reason
    assert step in machine.steps()

    # The one after that knows, and tries nothing.
    status, (reasons, _) = machine.ask(fault)
    assert status == 0
    assert "found earlier" in next(iter(reasons.values()))
    assert step not in machine.steps()

    # Repaired and asked to probe again, it is used and leaves nothing behind.
    assert machine.ask("", "pa.reset_gpu_device()")[1][0] == "faulty:opencl:0"
    assert machine.files() == []


def test_a_probe_that_hangs(machine: Machine) -> None:
    with machine.start("compute:hang") as process:
        while "compute" not in machine.steps():
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    status, (reasons, _) = machine.ask("compute:hang", timeout=2.0)
    assert status == 0
    assert "it hangs: a child process did not finish in 2 s" in reasons["faulty:opencl:0"]


def test_a_device_that_was_repaired_is_used(machine: Machine) -> None:
    assert machine.ask("compute:abort")[0] != 0
    assert machine.ask("")[1][0] == "faulty:opencl:0"
    assert machine.steps().count("compute") >= 2  # in the child and here
    assert machine.files() == []


def test_a_device_that_works_in_children_only(machine: Machine) -> None:
    fault = "compute:abort-outside-children"
    assert machine.ask(fault)[0] != 0
    assert machine.ask(fault)[0] != 0
    status, (reasons, _) = machine.ask(fault)
    assert status == 0
    assert "killed its process twice" in reasons["faulty:opencl:0"]
    assert "found earlier" in machine.ask(fault)[1][0]["faulty:opencl:0"]


def test_a_folder_that_cannot_be_written(machine: Machine) -> None:
    (machine.folder / "state").write_text("in the way")
    assert machine.ask("") == (0, ["faulty:opencl:0", "numpy:cpu:0"])
    status, (reasons, _) = machine.ask("compute:raise")
    assert status == 0
    assert "the driver said no" in reasons["faulty:opencl:0"]


def test_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTARRAY_STATE_DIR", str(tmp_path))
    tried: list[str] = []

    def child() -> str:
        tried.append("child")
        return ""

    def files() -> list[str]:
        return [f.name for f in (tmp_path / "probes").iterdir()]

    with markers.guarded("lib-1 0/x-step", child) as refusal:
        assert refusal == ""
        (name,) = files()
        assert name.startswith("lib-1_0_x-step-on-")
        assert name.endswith(f"@{os.getpid()}")
    assert files() == []

    # Of a live process: no crash. Of one that is gone: tried in a child.
    stem = name.rpartition("@")[0]
    (tmp_path / "probes" / f"{stem}@{os.getppid()}").touch()
    with markers.guarded("lib-1 0/x-step", child) as refusal:
        assert refusal == ""
    assert tried == []
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / "probes" / f"{stem}@{gone.pid}").touch()
    with markers.guarded("lib-1 0/x-step", child) as refusal:
        assert refusal == ""
    assert tried == ["child"]

    # Of this process's own number, from before it, or so old that the step hangs.
    (tmp_path / "probes" / f"{stem}@{os.getpid()}").touch()
    with markers.guarded("lib-1 0/x-step", child) as refusal:
        assert refusal == ""
    assert tried == ["child"] * 2
    old = tmp_path / "probes" / f"{stem}@{os.getppid()}"
    old.touch()
    os.utime(old, (0, time.time() - markers.STALE - 1))
    with markers.guarded("lib-1 0/x-step", child) as refusal:
        assert refusal == ""
    assert tried == ["child"] * 3

    # An interrupted step may have hung.
    with pytest.raises(KeyboardInterrupt), markers.guarded("other-1", child):
        raise KeyboardInterrupt
    assert any(file.startswith("other-1") for file in files())
    markers.forget("other")
    assert not any(file.startswith("other-1") for file in files())
    markers.forget()
    assert files() == []


def test_probe_as_a_program() -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "portarray._devices.probe", *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode, done.stdout.strip() or done.stderr.strip()

    assert run("numpy:cpu:0") == (0, "")
    assert run("numpy:cpu:5") == (1, "there is 1 device")
    assert run("nunpy:cpu:0") == (1, "unknown library 'nunpy'")
    assert run("numpy:cuda:0")[0] == 1


def test_every_functional_device_passes_again() -> None:
    for device in pa.devices():
        assert probe.compute(device._backend, device.platform, device.index) == ""

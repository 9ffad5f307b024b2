"""The programs on several devices: right by another library's answer, with a picture of the run."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import portarray as pa
from examples.distributed import __main__ as command
from examples.distributed.outcome import Outcome, default_devices

NEEDED = {
    "heat": (),
    "cholesky": ("dask.array", "distributed", "scipy"),
    "images": ("dask.array", "scipy"),
    "kmeans": ("dask.array", "sklearn"),
    "training": ("dask.array", "sklearn"),
}


def ran(program: str, devices: list[str]) -> Outcome:
    for name in NEEDED[program]:
        pytest.importorskip(name, reason=f"{name}, which the program needs, is not installed")
    outcome: Outcome = importlib.import_module(f"examples.distributed.{program}").run(devices, True)
    assert outcome.difference <= outcome.allowed
    assert set(outcome.blocks.values()) == set(devices)
    assert outcome.bars
    return outcome


def test_heat_spreads_over_every_device(device: str) -> None:
    devices = list(dict.fromkeys(["numpy:cpu:0", device]))
    outcome = ran("heat", devices)
    strips, moved = (
        2 * len(devices),
        2 * (len(devices) - 1),
    )  # an edge each way, at each step
    tasks = 10 * (strips + 2 * (strips - 1) + moved)
    assert outcome.notes == [f"{tasks} tasks, of which {10 * moved} are copies between devices"]


@pytest.mark.parametrize("program", ["images", "kmeans"])
def test_chunks_are_on_two_libraries(program: str) -> None:
    ran(program, default_devices())


def test_each_device_sends_one_gradient() -> None:
    devices = default_devices()
    outcome = ran("training", devices)
    moved = f"5 steps; in each, {len(devices) - 1} gradients of "
    assert outcome.notes[0].startswith(moved)


def test_workers_train_as_threads_do() -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    pd = pytest.importorskip("portarray.dask")
    devices = ["numpy:cpu:0", "torch:cpu:0"] if pa.functional("torch") else ["numpy:cpu:0"]
    with (
        pd.LocalCluster(devices, dashboard_address=":0", memory_limit="2GiB") as cluster,
        distributed.Client(cluster),
    ):
        module = importlib.import_module("examples.distributed.training")
        outcome = module.run(devices, True)
    assert outcome.difference <= outcome.allowed
    assert set(outcome.blocks.values()) == set(devices)


STARTERS = {"torch": ("torch", "torchrun"), "mpi": ("mpi4py", "mpiexec")}
OPTIONS = {"torch": ("--standalone", "--nproc-per-node", "2"), "mpi": ("-n", "2")}


@pytest.mark.one_device
@pytest.mark.parametrize("kind", STARTERS)
def test_two_processes_train_as_one(kind: str) -> None:
    package, starter = STARTERS[kind]
    for name in (package, "sklearn"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    path = shutil.which(starter, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if path is None:
        pytest.skip(f"{starter} is not installed")
    python = [sys.executable] if kind == "mpi" else []
    command = [path, *OPTIONS[kind], *python, "-m", "examples.distributed.processes", kind]
    root = Path(__file__).parents[2]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=300)
    assert ended.returncode == 0, ended.stderr
    fields = ended.stdout.split()
    assert fields[:2] == ["2", "processes,"]
    assert float(fields[-1]) < 1e-5


def test_a_matrix_larger_than_memory_is_solved_from_disk() -> None:
    outcome = ran("cholesky", ["numpy:cpu:0"])
    assert "0.0 MB" not in outcome.notes[1]


def test_the_command_tells_the_difference_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / "out.png"
    devices = "numpy,torch" if pa.functional("torch") else "numpy"
    assert command.main(["heat", "--quick", "--devices", devices, "--picture", str(path)]) == 0
    assert "✓ largest difference from NumPy" in capsys.readouterr().out
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_a_wrong_answer_and_a_missing_package_are_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Outcome("NumPy", 1.0, 1e-12, {(0, 0): "numpy:cpu:0"}, [])
    assert command._verdict(wrong) == 1
    assert "✗" in capsys.readouterr().out
    monkeypatch.delitem(sys.modules, "examples.distributed.images", raising=False)
    monkeypatch.setitem(sys.modules, "dask.diagnostics", None)
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(SystemExit, match=r"\.\[dask\]"):
        command.main(["images", "--quick", "--devices", "numpy"])

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import FunctionType

import pytest

import portarray as pa

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("rich", reason="the extra 'cli' is not installed")

import platformdirs
from click.testing import CliRunner, Result

from portarray._array import call
from portarray._cli.group import portarray
from portarray._installation import pip_install
from portarray.testing import virtual_devices


@pytest.fixture(autouse=True)
def fresh(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    monkeypatch.undo()
    pa.reset_gpu_device()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(portarray, arguments, catch_exceptions=False)


def test_help_and_version() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert {"bench", "devices", "prefer", "routes", "support"} <= set(result.stdout.split())
    assert run("--version").stdout == f"portarray {pa.__version__}\n"


def test_devices() -> None:
    result = run("devices")
    assert result.exit_code == 0
    assert "✓ numpy:cpu:0" in result.stdout
    assert "✓ fake:cuda:0" in result.stdout
    assert "← recommended" in result.stdout
    assert run("devices", "--reprobe").stdout.splitlines()[0] == f"portarray {pa.__version__}"


def test_reprobe(monkeypatch: pytest.MonkeyPatch) -> None:
    from fake.backend import LIBRARY

    assert "✓ fake:cuda:0" in run("devices").stdout
    monkeypatch.setattr(LIBRARY, "count", 0)
    assert "✓ fake:cuda:0" in run("devices").stdout  # probes are cached
    assert "✓ fake:cuda:0" not in run("devices", "--reprobe").stdout


def test_devices_as_json() -> None:
    result = run("devices", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["recommended"] == str(pa.device("auto"))


def test_libraries_in_processes_of_their_own_are_described_as_in_one() -> None:
    code = (
        "import json\n"
        "from portarray._devices import side_by_side, summary\n"
        "for document in (side_by_side.document(), summary.summary().as_dict()):\n"
        "    for library in document['libraries']:\n"
        "        for device in library['devices']:\n"
        "            del device['memory']\n"
        "    print(json.dumps(document))"
    )
    settings = {k: v for k, v in os.environ.items() if k != "PORTARRAY_DEVICE"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True
    )
    separate, together = done.stdout.splitlines()[-2:]
    assert separate == together


def test_prefer(tmp_path: Path) -> None:
    assert "No device is preferred" in run("prefer").stdout
    assert run("prefer", "numpy").exit_code == 0
    assert run("prefer").stdout.startswith("numpy (")
    assert pa.device("auto") is pa.device("numpy")
    assert run("prefer", "fake:cuda:1", "--project").exit_code == 0
    assert (tmp_path / "portarray.toml").read_text() == 'device = "fake:cuda:1"\n'
    assert run("prefer").stdout.startswith("fake:cuda:1 (")
    assert run("prefer", "--unset", "--project").exit_code == 0
    assert run("prefer", "--unset").exit_code == 0
    assert "No device is preferred" in run("prefer").stdout


def test_preferring_a_missing_device_warns() -> None:
    result = run("prefer", "fake:cuda:5")
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: ")
    assert "fake sees 2 devices" in result.stderr


def test_wrong_input() -> None:
    result = run("prefer", "troch")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: device: unknown device 'troch'")
    assert "'torch'" in result.stderr
    assert run("prefer", "cpu", "--unset").exit_code == 2
    assert run("devices", "--jsno").exit_code == 2
    assert run("devcies").exit_code == 2
    result = run("support", "--device", "numpy:cpu:4")
    assert result.exit_code == 1
    assert "numpy sees 1 device" in result.stderr


def test_a_preference_that_cannot_be_saved() -> None:
    Path(os.environ["PORTARRAY_CONFIG_DIR"]).write_text("in the way")
    result = run("prefer", "numpy")
    assert result.exit_code == 1
    assert "cannot be written" in result.stderr


def test_support() -> None:
    result = run("support", "--device", "numpy")
    assert result.exit_code == 0
    assert "linalg.svd" in result.stdout
    assert "not run" not in result.stdout
    report = json.loads(run("support", "-d", "numpy", "--json").stdout)
    assert {row["device"] for row in report["rows"]} == {"numpy:cpu:0"}
    assert {row["served"] for row in report["rows"]} <= {"native", "composed", "host"}
    assert "linalg.svd" in {row["function"] for row in report["rows"]}
    (device,) = report["places"]
    assert (device["device"], device["state"], device["reason"]) == (
        "numpy:cpu:0",
        "functional",
        "",
    )
    assert sum(device["totals"].values()) == len(report["rows"])


def test_support_as_csv() -> None:
    rows = list(csv.DictReader(run("support", "-d", "numpy", "--csv").stdout.splitlines()))
    expected = json.loads(run("support", "-d", "numpy", "--json").stdout)["rows"]
    assert [row["function"] for row in rows] == [row["function"] for row in expected]
    assert {row["device"] for row in rows} == {"numpy:cpu:0"}


def test_support_lists_libraries_that_are_not_installed() -> None:
    result = run("support", "--short")
    assert result.exit_code == 0
    assert "linalg.svd" not in result.stdout
    assert "numpy:cpu:0" in result.stdout
    listed = json.loads(run("support", "--short", "--json").stdout)
    assert listed["rows"] == []
    states = {entry["device"]: entry["state"] for entry in listed["places"]}
    for device in pa.devices():
        assert states[str(device)] == "functional"
    for library in pa.supported_backends():
        assert any(device.partition(":")[0] == library for device in states), library
    for entry in listed["places"]:
        assert (entry["state"] == "functional") == (not entry["reason"])
        if entry["state"] == "not run":
            assert entry["totals"] == {}
            assert f"{entry['device']}: not run: " in result.stdout


def test_support_filtered() -> None:
    with virtual_devices("oneapi", host_functions=["cos", "sort"]) as (partial,):
        arguments = ("-d", "numpy", "-d", str(partial), "--served", "host", "--json")
        rows = json.loads(run("support", *arguments).stdout)["rows"]
    served: dict[str, set[str]] = {}
    for row in rows:
        served.setdefault(row["function"], set()).add(row["served"])
    assert served
    assert all("host" in kinds for kinds in served.values())
    assert any("native" in kinds for kinds in served.values())  # NumPy's rows are listed, too
    assert run("support", "--served", "hots").exit_code == 2


def test_commands_of_other_distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "commands-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: commands\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[portarray.commands]\ngood = plug_command:good\nodd = plug_command:odd\n"
        "gone = plug_nowhere:x\ndevices = plug_command:good\n"
    )
    (tmp_path / "plug_command.py").write_text(
        "import click\nimport portarray as pa\nodd = 3\n"
        "@click.command()\ndef good():\n    '''A good one.'''\n    pa.device('fake:cuda:3')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    listed = run("--help")
    assert listed.exit_code == 0
    assert "A good one." in listed.stdout
    assert listed.stdout.count("(broken)") == 2
    assert "ModuleNotFoundError" in run("gone").stderr
    assert run("gone").exit_code == 1
    assert "is not a click command: 3" in run("odd").stderr
    result = run("good")
    assert result.exit_code == 1
    assert "fake sees 2 devices" in result.stderr
    assert "recommended" in run("devices").stdout


def test_without_click(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError('no click', name='click')")
    done = subprocess.run(
        [sys.executable, "-c", "from portarray._cli import main; main()", "devices"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert pip_install("portarray[cli]") in done.stderr
    assert "Traceback" not in done.stderr


def test_as_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from portarray._cli import main; main()", "devices"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PORTARRAY_DEVICE": "troch"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "NumPy" in done.stdout
    assert "PORTARRAY_DEVICE prefers 'troch'" in done.stdout


def piped(command: str) -> subprocess.CompletedProcess[str]:
    """Run a pipe whose reader may stop before the end."""
    start = f"{sys.executable} -c 'from portarray._cli import main; main()'"
    environment = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace("portarray", start, 1)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="pipes are bash's here")
def test_a_pipe_gets_whole_rows_and_may_be_closed() -> None:
    whole = piped("portarray support -d numpy | cat")
    assert whole.returncode == 0, whole.stderr
    assert "…" not in whole.stdout
    assert "linalg.vector_norm" in whole.stdout
    for options in ("", "--json", "--csv"):
        # More than a pipe holds, so that writing meets the closed end.
        closed = piped(f"portarray support {options} | true")
        assert (closed.returncode, closed.stderr) == (0, ""), options


def test_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLARRAY_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / name)
    assert "The cache is empty" in run("cache").stdout
    (tmp_path / "kept" / "programs").mkdir(parents=True)
    (tmp_path / "kept" / "programs" / "one.bin").write_bytes(bytes(1500))
    (tmp_path / "kept" / "mine").mkdir()
    (tmp_path / "portarray" / "conformance").mkdir(parents=True)
    shown = run("cache").stdout
    assert "OpenCL programs" in shown
    assert "Total: 1.5 kB" in shown
    report = json.loads(run("cache", "--json").stdout)
    assert [(Path(row["path"]).name, row["files"], row["bytes"]) for row in report["folders"]] == [
        ("programs", 1, 1500),
        ("conformance", 0, 0),
    ]
    assert "Removed: 1.5 kB" in run("cache", "--clear").stdout
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine"]
    assert "The cache is empty" in run("cache").stdout


def test_doctor() -> None:
    result = run("doctor", "--fast", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["devices"] == [str(device) for device in pa.devices()]
    assert report["packages"]["NumPy"] == version("numpy")
    for library in json.loads(run("devices", "--json").stdout)["libraries"]:
        reasons = set(library["reasons"].values())
        rows = [row for row in report["refused"] if row["why"] in reasons]
        assert {row["why"] for row in rows} == reasons
        for row in rows:  # the reason names the command for these platforms
            assert f"({row['mend']})" in row["why"] if not library["installed"] else not row["mend"]
    text = run("doctor", "--fast").stdout
    assert f"Recommended: {pa.device('auto')}" in text
    calls = "Python" if isinstance(call.unary, FunctionType) else "compiled"
    assert report["calls"] == calls
    assert f"(calls: {calls})" in text


def test_doctor_survives_a_library_that_ends_its_process(tmp_path: Path) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("import os; os.abort()")
    done = subprocess.run(
        [sys.executable, "-c", "from portarray._cli import main; main()", "doctor", "--json"],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    (broken,) = report["broken"]
    assert (broken["what"], "SIGABRT" in broken["why"]) == ("jax", True)
    assert broken["mend"].startswith("reinstall it: pip install")
    speeds = {speed["device"]: speed["gigaflops"] for speed in report["speeds"]}
    assert set(speeds) == set(report["devices"])
    assert not any("jax" in device for device in speeds)
    assert any(speeds.values())

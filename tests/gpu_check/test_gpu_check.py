"""The GPU check as a program, on the devices of this machine, in separate processes."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import portarray as pa
from portarray.backends.types import PlatformFacts
from portarray.testing import virtual_devices

Capture = pytest.CaptureFixture[str]
FOLDER = Path(__file__).parents[2] / "gpu_check"


def check(tmp_path: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    """Run the check; return its status, what it printed and its report."""
    file = tmp_path / "results" / "report.json"
    done = subprocess.run(
        [sys.executable, str(FOLDER), "--json", str(file), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert file.exists(), done.stdout + done.stderr
    return done.returncode, done.stdout, json.loads(file.read_text("utf-8"))


def check_numpy(
    tmp_path: Path, minutes: float, parts: str, enough: Callable[[dict[str, Any]], bool]
) -> tuple[str, dict[str, Any]]:
    """Check parts on NumPy; retry with more time if the machine is too busy."""
    options = [
        "--device",
        "numpy",
        *(option for part in parts.split() for option in ("--part", part)),
    ]

    def complete(most: float) -> tuple[str, dict[str, Any]]:
        status, printed, report = check(tmp_path, *options, "--minutes", str(most))
        assert status == 0, printed
        assert enough(report), printed
        return printed, report

    try:
        return complete(minutes)
    except AssertionError:
        return complete(10 * minutes)


def test_a_machine_without_a_gpu_is_not_a_pass(tmp_path: Path) -> None:
    if any(device.kind != "cpu" for device in pa.devices()):
        pytest.skip("this machine has a GPU")
    status, printed, report = check(tmp_path)
    assert status == 2
    assert "nothing was checked" in printed
    assert report["checked"] == []
    assert "not run  cupy:cuda: " in printed
    assert {"python", "numpy", "drivers", "distributions", "libraries"} <= report.keys()


def test_every_part_reports_on_a_device(tmp_path: Path) -> None:
    pytest.importorskip("portarray_conformance")

    def enough(report: dict[str, Any]) -> bool:
        return bool(report["suite"]["numpy"]["counts"].get("passed", 0) > 10)

    _, report = check_numpy(tmp_path, 0.3, "movement speed suite programs", enough)
    assert report["suite"]["numpy"]["failures"] == []
    assert report["programs"]["numpy"]["counts"] or report["programs"]["numpy"]["not_run"]
    assert report["official"] == {"not_run": "no folder with the official suite was given"}
    others = [device for device in pa.devices() if str(device) != "numpy:cpu:0"]
    rows = report["movement"]["rows"]
    assert len(rows) == 2 * len(others) or report["movement"]["not_run"]
    for row in rows:
        assert row["wrong"] == []
        assert row["seconds"] > 0
        assert row["route"] in ("library", "memory", "dlpack", "staged", "host")
        assert bool(row["why"]) is bool(row["copies"])
        if row["copies"]:
            assert row["gigabytes_per_second"] > 0
            assert row["ratio_to_memcpy"] > 0
            assert row["ratio_to_bus"] is None  # nothing here has page-locked memory
    alone = [{"device": "numpy:cpu:0", "wrong": []}]
    assert report["movement"]["devices"] == alone or report["movement"]["not_run"]
    assert report["speed"]["numpy"]["rows"] or report["speed"]["numpy"]["not_run"]


def test_kernels_and_the_model_report_on_a_device(tmp_path: Path) -> None:
    def enough(report: dict[str, Any]) -> bool:
        return bool(report["verify"]["numpy"]["cases"] >= 10)

    printed, report = check_numpy(tmp_path, 0.3, "verify kernels model", enough)
    verified = report["verify"]["numpy"]
    assert verified["outside"] == 0, printed
    assert f"verify    {verified['cases']} cases, 0 out of bounds" in printed
    assert report["bandwidth"].get("numpy:cpu:0", 1) > 0
    for part in (report["kernels"], report["model"]):
        assert part["rows"] or part["not_run"]
        assert {row["device"] for row in part["rows"]} <= {"numpy:cpu:0"}
    empty: dict[str, object] = {"bus": [], "rows": [], "devices": []}
    assert report["movement"] == {**empty, "not_run": "not selected"}
    assert report["suite"]["numpy"]["not_run"] == "not selected"


def test_figures_of_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    neural = importlib.import_module("neural")
    libraries = [{"devices": [{"device": "numpy:cpu:0"}, {"device": "torch:cpu:0"}]}]
    assert neural.reference_cpu({"libraries": libraries}) == "torch:cpu:0"
    assert neural.reference_cpu({"libraries": []}) == "numpy:cpu:0"
    kernel = {"row": "softmax 4096x4096", "to_torch": 1.1, "bandwidth": 1500.0, "seconds": 1e-4}
    rows = [
        {**kernel, "device": "cupy:cuda:0"},
        {**kernel, "device": "torch:cpu:0", "bandwidth": 15.0, "seconds": 1e-2},
        {**kernel, "device": "cupy:cuda:0", "row": "matmul 1024x1024x1024"},
    ]
    (moving, computing) = neural.kernel_rows(rows, {"cupy:cuda:0": 2e12}, "torch:cpu:0")
    assert moving["share_of_bandwidth"] == pytest.approx(0.75)
    assert moving["times_the_cpu"] == pytest.approx(100)
    assert computing["share_of_bandwidth"] is computing["times_the_cpu"] is None
    rates = {"prompt_rate": 1e4, "prompt_ratio": 1.5, "decode_ratio": 2.0, "same": 33}
    decoder = {
        "bytes_per_token": 5e8,
        "rows": [
            {**rates, "device": "cupy:cuda:0", "decode_rate": 800.0},
            {**rates, "device": "torch:cpu:0", "decode_rate": 20.0},
        ],
    }
    (model,) = neural.model_rows(decoder, {"cupy:cuda:0": 2e12}, "torch:cpu:0")
    assert model["share_of_bandwidth"] == pytest.approx(0.2)
    assert model["times_the_cpu"] == pytest.approx(40)
    kernels = {"rows": [moving, computing], "not_run": ""}
    neural.show({"kernels": kernels, "model": {"rows": [model], "not_run": "it was ended"}})
    printed = capsys.readouterr().out
    assert "1.10 of torch  0.75 of the bandwidth  100.00 times the CPU" in printed
    assert "model: 1 rows; not run: it was ended" in printed
    assert "decoding   800.0/s  2.00 of torch  0.20 of the bandwidth  40.00 times" in printed
    # The rows that are asked for are the benchmark's.
    monkeypatch.syspath_prepend(str(FOLDER.parent / "benchmarks"))
    table = importlib.import_module("kernel_table")
    for names, growing in ((neural.MOVING, True), (neural.COMPUTING, False)):
        for text in names:
            assert table.selected(None, [text], ["float32"], growing)


def test_memory_read_too_late_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("portarray_conformance")
    monkeypatch.syspath_prepend(str(FOLDER))
    movement = importlib.import_module("movement")
    device = pa.device("numpy")
    assert movement.alone(device) == {"device": "numpy:cpu:0", "wrong": []}
    assert movement.bus_of(device) == {}  # there is no page-locked memory to measure with
    monkeypatch.setattr(device._backend, "pinned_copy", lambda x: x.copy(), raising=False)
    assert movement.alone(device)["wrong"] == []
    speeds = movement.bus_of(device)
    assert min(speeds["to_card"], speeds["to_host"]) > 0
    limits = movement.Limits(0.01, {(1, 0): speeds})
    target = next((candidate for candidate in pa.devices() if candidate.library == "dpnp"), None)
    if target is not None:
        row = movement.timed(device, target, limits)
        assert row["ratio_to_bus"] == pytest.approx(row["seconds"] * speeds["to_card"] / 2**26)
    monkeypatch.setattr(pa, "asarray", lambda values, **_options: pa.from_dlpack(values))
    problems = movement.alone(device)["wrong"]
    assert problems[0].startswith("from page-locked memory that was written at once: ")


def test_a_part_that_fails_costs_itself_alone(tmp_path: Path) -> None:
    pytest.importorskip("portarray_conformance")
    status, printed, report = check(tmp_path, "--device", "cupy:rocm:7", "--minutes", "1")
    assert "cupy:rocm" in report["suite"]["cupy:rocm:7"]["not_run"]
    assert "cupy:rocm" in report["movement"]["not_run"]
    assert report["suite"]["cupy:rocm:7"]["counts"] == {}
    assert "nothing; not run: exit status 1" in printed
    assert status == 1, "a device that was asked for and cannot be had is a failure"


def test_compiled_functions_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    compiled = importlib.import_module("compiled")
    inputs = compiled.values((3, 5), 0)
    for name, (function, options, most) in compiled.CASES.items():
        compiled_function = pa.compile(function, **options)
        got = compiled.checked(compiled_function, function, inputs, "numpy", most)
        assert got == ("passed", ""), name

    def wrong(*args: Any) -> Any:
        return compiled.softmax(*args) + 1e-3

    def changing(x: Any, *args: Any) -> Any:
        y = compiled.softmax(x, *args)
        x[0, 0] += 1.0
        return y

    for function, said in ((wrong, "differs from NumPy's"), (changing, "argument was changed")):
        status, message = compiled.checked(function, compiled.softmax, inputs, "numpy", 1e-4)
        assert status == "failed"
        assert said in message or function is changing


@pytest.mark.parametrize("name", ["numpy", "virtual:cuda"])
def test_transforms_are_checked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    part = importlib.import_module("transformed")
    with virtual_devices("cuda"):
        for case, check_case in part.cases(name):
            status, message = check_case()
            assert (status, message) == ("passed", "") or status == "not run", (case, message)
        assert part.checked(lambda x, i: pa.sum(x, axis=0) + 0.1 * x.dtype.itemsize, name) == (
            "failed",
            "33 of 33 differ from NumPy's",
        )


def test_numpys_functions_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    part = importlib.import_module("numpy_functions")
    assert part.checked("np.flip(x, axis=1)", "numpy:cpu:0") == ("passed", "")
    assert part.checked("np.polyfit(v, w, 1)", "numpy:cpu:0")[0] == "failed"
    assert part.declared("numpy")[0] == "not run"
    facts = {"cuda": PlatformFacts(dlpack=10)}
    with virtual_devices("cuda") as (card,):
        monkeypatch.setattr(card._backend, "info", card._backend.info._replace(facts=facts))
        assert part.declared(str(card)) == ("failed", "DLPack type is 2 and not 10")
        facts["cuda"] = PlatformFacts(dlpack=2)
        assert part.declared(str(card)) == ("passed", "")


@pytest.mark.parametrize("name", ["numpy", "virtual:cuda"])
def test_many_devices_are_checked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
    monkeypatch.syspath_prepend(str(FOLDER))
    many = importlib.import_module("many_devices")
    with virtual_devices("cuda"):
        for case in many.CASES:
            if case != "dask workers":
                assert many.checked(case, name) == ("passed", "")
        monkeypatch.setattr(many, "potrf", lambda a: None)
        assert many.checked("cholesky", name)[0] == "failed"

"""``portarray verify``: its tables, its JSON and its exit status."""

from __future__ import annotations

import json
from typing import Any

import pytest

import portarray as pa

pytest.importorskip("click", reason="the extra 'cli' is not installed")
pytest.importorskip("rich", reason="the extra 'cli' is not installed")

from click.testing import CliRunner, Result

from portarray._cli.group import portarray
from portarray._devices.device import Device
from portarray._verification.kernels import Verification


def run(*arguments: str, columns: int = 200) -> Result:
    runner = CliRunner(env={"COLUMNS": str(columns)})
    return runner.invoke(portarray, ["verify", *arguments], catch_exceptions=False)


def test_the_table() -> None:
    result = run("-d", "numpy", "--examples", "2", "-k", "softmax", "-k", "rms_norm")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("numpy:cpu:0 (")
    results = pa.kernels.verify("numpy", ["softmax", "rms_norm"], examples=2)
    for kernel in ("softmax", "rms_norm"):
        (line,) = (line for line in lines if f" {kernel} " in line)
        for row in results.rows:
            assert row.kernel != kernel or f" {row.worst:.3f} " in line
    assert "12 cases in " in lines[-1]
    assert lines[-1].endswith(" s, 0 out of bounds")


def test_every_device_is_verified_unless_some_are_named() -> None:
    result = run("--json", "--examples", "1", "--kernel", "relu")
    assert result.exit_code == 0
    results = json.loads(result.stdout)
    assert [result["device"] for result in results] == [str(device) for device in pa.devices()]
    assert all(result["ok"] for result in results)
    twice = run("--json", "-n", "1", "-k", "relu", "-d", "numpy", "-d", "numpy:cpu", "--seed", "9")
    (single,) = json.loads(twice.stdout)
    assert (single["device"], single["seed"], single["examples"]) == ("numpy:cpu:0", 9, 1)
    again = pa.kernels.verify("numpy", "relu", examples=1, seed=9).as_dict()
    assert {**single, "seconds": 0} == {**json.loads(json.dumps(again)), "seconds": 0}


@pytest.mark.parametrize("columns", [200, 60])
def test_errors_out_of_bounds_are_reported(columns: int) -> None:
    strict = ("-d", "numpy", "-k", "log_softmax", "-n", "3", "--tolerance", "1e-9")
    result = run(*strict, columns=columns)
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())  # as if no line were folded
    assert "out of bounds times 1e-09" in text
    assert " of 3)" in text
    for dtype in ("float32", "float64", "float16"):
        assert f"log_softmax {dtype}, case " in text
    assert "with an error of at most" in text
    report = run(*strict, "--json")
    assert report.exit_code == 1
    (results,) = json.loads(report.stdout)
    assert not results["ok"]
    assert results["rows"][0]["input"].startswith("x float32 (")
    assert results["rows"][0]["problem"]


@pytest.mark.parametrize("devices", [("numpy", "fake"), ("fake", "numpy")])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_one_device_of_two_is_out_of_bounds(
    fake: str, devices: tuple[str, str], options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judged(device: Device, kernels: object, tolerance: object, **others: Any) -> Verification:
        strict = 1e-9 if device.library == "fake" else None
        return pa.kernels.verify(device, "silu", strict, **others)

    monkeypatch.setattr("portarray._cli.verify.verify_kernels", judged)
    arguments = [option for name in devices for option in ("-d", name)]
    assert run(*arguments, "-n", "2", *options).exit_code == 1


def test_generic_versions_alone() -> None:
    result = run("--json", "--generic", "-n", "1", "-k", "silu", "-d", "numpy")
    (results,) = json.loads(result.stdout)
    assert [row["versions"] for row in results["rows"]] == [{"generic": 1}] * 3


def test_wrong_input() -> None:
    result = run("-d", "nmpy")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: device: unknown device 'nmpy'")
    result = run("-d", "numpy", "-k", "softmaxx")
    assert result.exit_code == 2
    assert "unknown kernel 'softmaxx'; known: matmul" in result.stderr
    result = run("-d", "numpy", "--tolerance", "0")
    assert result.exit_code == 2
    assert "tolerance=0.0 must be positive" in result.stderr
    assert run("--examples", "0").exit_code == 2

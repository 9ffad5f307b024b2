"""The plugin on virtual devices: the defaults, and faults that only they find."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from own_pytest import Run

import portarray as pa
from portarray.testing import (
    CheckError,
    _choice,
    assert_close,
    check_function,
    presets,
    yield_namespace_device_dtype_combinations,
)

SOURCE = """
import numpy as np
import pytest

def test_ids(xp, dtype):
    assert xp.ones(2, dtype=dtype).dtype == dtype

def test_numpy(device, xp):
    np.asarray(xp.ones(3, device=device))

@pytest.mark.skip_devices("metal")
def test_marks(device):
    assert device.platform != "metal"

@pytest.mark.skip_xp_backends("cupy")
@pytest.mark.skip_xp_backends(eager_only=True)
def test_read_as_the_library_they_are_like(device):
    assert device.platform == "metal"

def test_late(xp):
    xp.linalg.inv(xp.zeros((2, 2)))
"""


def test_tests_run_on_virtual_devices(run_pytest: Callable[..., Run]) -> None:
    run = run_pytest(SOURCE, "--devices=virtual:cuda,virtual:metal,virtual:tpu")
    names = run.outcomes
    assert {name for name in names if name.startswith("test_ids")} >= {
        "test_ids[virtual:cuda-float32]",
        "test_ids[virtual:cuda-float64]",
        "test_ids[virtual:metal-float32]",
    }
    assert "test_ids[virtual:metal-float64]" not in names  # Metal has none
    for platform in ("cuda", "metal", "tpu"):
        assert names[f"test_late[virtual:{platform}]"] == "failed", run.text
    assert names["test_numpy[virtual:cuda]"] == "failed"
    assert names["test_marks[virtual:metal]"] == "skipped"
    assert names["test_marks[virtual:cuda]"] == "passed"
    assert names["test_read_as_the_library_they_are_like[virtual:cuda]"] == "skipped"
    assert names["test_read_as_the_library_they_are_like[virtual:tpu]"] == "skipped"
    assert names["test_read_as_the_library_they_are_like[virtual:metal]"] == "passed"


def test_by_default_every_cpu_library_and_three_virtual_devices(
    run_pytest: Callable[..., Run],
) -> None:
    run = run_pytest("def test_f(xp): pass", "--devices=cpu,virtual:cuda:1", "--collect-only")
    ids = [line.partition("[")[2].rstrip("]>") for line in run.text.splitlines() if "[" in line]
    assert ids[0] == "numpy:cpu"
    assert ids[-1] == "virtual:cuda:1"
    cpus = {str(device).removesuffix(":0") for device in pa.devices() if device.kind == "cpu"}
    assert set(ids[:-1]) == cpus
    assert "not run: " in run.text


def test_all_virtual_devices_are_one_word(run_pytest: Callable[..., Run]) -> None:
    run = run_pytest("def test_f(xp): pass", "--devices=virtual")
    assert set(run.outcomes) == {f"test_f[virtual:{name}]" for name in presets()}
    run = run_pytest("def test_f(xp): pass", "--devices=virtual:cudda")
    (line,) = run.errors
    assert "--devices: device: unknown device 'virtual:cudda'" in line
    assert "'virtual:cuda'" in line


def constant(x: pa.Array) -> pa.Array:
    return x * pa.asarray(0.5, dtype=pa.float64, device=x.device)


def test_check_function_takes_them_by_default() -> None:
    def scaled(x: pa.Array) -> pa.Array:
        return x / pa.max(pa.abs(x))

    report = check_function(scaled, [1.0, -2.0], devices="numpy,virtual:cuda,virtual:metal")
    assert {row.device for row in report.rows} == {"numpy:cpu", "virtual:cuda", "virtual:metal"}
    with pytest.raises(CheckError, match=r"virtual:metal float32\n    DTypeNotSupportedError"):
        check_function(constant, [1.0, -2.0], devices="virtual:metal")


def test_combinations_for_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    with ExitStack() as stack:  # they last as long as the process, else
        monkeypatch.setattr(_choice, "_entered", stack)
        combinations()


def combinations() -> None:
    yielded = list(yield_namespace_device_dtype_combinations("numpy,virtual:metal"))
    assert yielded == [
        ("portarray", "numpy:cpu:0", "float32"),
        ("portarray", "numpy:cpu:0", "float64"),
        ("portarray", "virtual:metal:0", "float32"),
    ]
    for _, device, dtype in yielded:
        x = pa.asarray([1, 2], device=device, dtype=dtype)
        assert_close(x + x, 2 * x)

"""The sample plugin: installed into a folder of its own, its library is one more device.

Everything runs in processes that have that folder on their path. In this one it would add a device
to every other test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("array_api_strict", reason="array-api-strict, which the plugin drives")
pytest.importorskip("hatchling", reason="hatchling, which builds the plugin, is not installed")
pytest.importorskip("pip", reason="pip, which installs the plugin, is not installed")

PLUGIN = Path(__file__).parents[2] / "examples" / "plugin"

Run = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the plugin as its users do, but into an empty folder and from nowhere else."""
    target = tmp_path_factory.mktemp("plugin")
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)),
            str(PLUGIN),
        ],
        check=True,
    )
    return target


@pytest.fixture
def run(folder: Path) -> Run:
    """Return a function that runs Python with the plugin's folder on its path."""
    paths = [str(folder), *(path for path in sys.path if path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1"}

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_its_devices_are_listed(run: Run) -> None:
    pytest.importorskip("click", reason="the extra 'cli' is not installed")
    pytest.importorskip("rich", reason="the extra 'cli' is not installed")
    report = json.loads(run("-m", "portarray", "devices", "--json"))
    (library,) = (entry for entry in report["libraries"] if entry["library"] == "strict")
    assert library["title"] == "array-api-strict"
    assert library["functional"]
    assert [entry["device"] for entry in library["devices"]] == [
        *("strict:cpu:0", "strict:cpu:1", "strict:cpu:2")
    ]
    assert report["plugin_errors"] == {}
    rows = json.loads(run("-m", "portarray", "support", "--device", "strict", "--json"))
    served = {row["function"]: row["served"] for row in rows["rows"]}
    assert (served["sin"], served["isin"], served["floor_divide"]) == ("native", "composed", "host")


def test_the_example_plugin_passes_the_conformance_suite(run: Run) -> None:
    pytest.importorskip("portarray_conformance", reason="portarray-conformance is not installed")
    said = run("-m", "portarray", "conformance", "run", "--device", "strict", "--examples", "2")
    assert "strict:cpu:0: ok" in said


PROGRAM = """
import pickle

import array_api_strict as strict
import numpy as np
import pytest

import portarray as pa

names = [str(device) for device in pa.devices()]
assert names.index("numpy:cpu:0") < names.index("strict:cpu:0"), names
assert "strict:cpu:2" in names
assert str(pa.device("cpu")) == "numpy:cpu:0"  # its rank is behind all others
assert "strict" in pa.supported_backends()

one, two = pa.device("strict"), pa.device("strict:cpu:1")
assert pickle.loads(pickle.dumps(two)) is two
assert pa.device(strict.Device("device1")) is two

# To and from NumPy, over one memory.
values = np.arange(6.0).reshape(2, 3)
x = pa.asarray(values, device=one)
assert type(x.native) is type(strict.zeros(1))
values[0, 0] = 9
assert float(x[0, 0]) == 9
x[1, :] = 7
assert values[1].tolist() == [7, 7, 7]
assert np.shares_memory(np.asarray(x), values)
assert str(pa.asarray(strict.zeros(2, device=two.native)).device) == "strict:cpu:1"
with pytest.raises(ValueError, match="does not list"):
    pa.asarray(strict.zeros(2, dtype=strict.float32, device=strict.Device("no_float64")))
with pytest.raises(ValueError, match="copy=False"):
    pa.asarray(x, device=two, copy=False)

# Between its devices and to other libraries.
y = x.to_device(two)
assert y.native.device == two.native
assert y.tolist() == x.tolist()
with pytest.raises(pa.DeviceMismatchError):
    x + y
z = pa.astype(x, pa.float32)  # which every device has
for name in names:
    moved = z.to_device(name)
    assert str(moved.device) == name
    assert moved.to_device(two).tolist() == x.tolist(), name

# What the library refuses or gets wrong is right here.
key = pa.asarray([1, 0], device=one)
assert x[key, 1:5].tolist() == [[7.0, 7.0], [1.0, 2.0]]
x[key, 0] = pa.asarray([3.0, 4.0], device=one)
assert x[:, 0].tolist() == [4.0, 3.0]
assert (pa.asarray([float("inf")], device=one) // 2.0).tolist() == [float("inf")]
with pytest.raises(pa.DTypeNotSupportedError, match="float32"):
    pa.zeros(2, dtype="float16", device=one)
with pytest.raises(ValueError, match="copy=False"):
    pa.reshape(pa.asarray(values.T, device=one), (6,), copy=False)

xp = pa.namespace(two)
assert xp.ones((2,), dtype=xp.float32, device=two.native).device == two.native
print("done")
"""


def test_its_arrays_are_arrays_as_all_others(run: Run) -> None:
    assert run("-W", "error::DeprecationWarning:portarray_strict", "-c", PROGRAM) == "done\n"

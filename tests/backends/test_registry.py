from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import portarray as pa
from portarray._devices import discovery
from portarray.backends import registry


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed distribution with plugins; the entry points are read anew."""
    info = tmp_path / "plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("_packages", "_infos", "_errors", "_unloadable"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    monkeypatch.setattr(registry, "_plugins_read", False)
    monkeypatch.setattr(registry, "_plugins_asked", False)
    before = set(sys.modules)
    pa.reset_gpu_device()
    yield info
    for name in set(sys.modules) - before:
        if name.startswith("plug_"):
            del sys.modules[name]
            registry._backends.pop(name, None)
    discovery._made.pop(("plug", "cpu", 0), None)
    monkeypatch.undo()
    pa.reset_gpu_device()


def plugin(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)


BACKEND = (
    "from portarray.backends.types import BackendInfo\n"
    "INFO = BackendInfo(library={library!r}, title='Plug', module='json', ranks={ranks!r}, "
    "install={{'': 'plug'}})\n"
)


def test_built_in_backends() -> None:
    infos = registry.backend_infos()
    assert {"numpy", "torch", "cupy", "dpnp", "mlx", "jax", "clarray"} <= set(infos)
    assert all(library == info.library for library, info in infos.items())
    assert "composed" not in infos
    assert registry.find_info("nunpy") is None


def test_a_plugin_is_a_backend(distribution: Path) -> None:
    plugin(distribution.parent, "plug_good", BACKEND.format(library="plug", ranks={"cuda": 99}))
    (distribution / "entry_points.txt").write_text("[portarray.backends]\nplug = plug_good\n")
    info = registry.find_info("plug")
    assert info is not None
    assert info.title == "Plug"
    assert "plug" in pa.supported_backends()
    with pytest.warns(pa.DeviceSelectionWarning, match="plug:cuda: its import failed"):
        pa.device("auto")  # it has no devices.py
    with pytest.raises(pa.DeviceNotFunctionalError, match=r"No module named 'plug_good\.devices'"):
        pa.device("plug")


def test_built_in_names_read_no_plugins(distribution: Path) -> None:
    plugin(distribution.parent, "plug_bad", "raise RuntimeError('read')")
    (distribution / "entry_points.txt").write_text("[portarray.backends]\nplug = plug_bad\n")
    pa.device("numpy")
    assert "plug_bad" not in sys.modules


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("INFO = 3", "has no INFO"),
        ("", "has no INFO"),
        (BACKEND.format(library="other", ranks={"cuda": 1}), "must be the same"),
        (BACKEND.format(library="cuda", ranks={"cuda": 1}), "none of cuda"),
        (BACKEND.format(library="Plug", ranks={"cuda": 1}), "lower case"),
        (BACKEND.format(library="plug", ranks={"quantum": 1}), "quantum"),
        (BACKEND.format(library="plug", ranks={}), "at least one"),
        (BACKEND.format(library="plug", ranks={"cpu": "first"}), "ranks are integers"),
        (BACKEND.format(library=7, ranks={"cpu": 1}), "TypeError"),
        (
            BACKEND.format(library="plug", ranks={"cpu": 1}).replace("'Plug'", "None"),
            "all else is text",
        ),
        ("from portarray.backends.types import Nothing", "ImportError: cannot import name"),
        ("def INFO(", "SyntaxError"),
    ],
)
def test_a_broken_plugin_harms_nothing(distribution: Path, text: str, reason: str) -> None:
    plugin(distribution.parent, "plug_bad", text)
    (distribution / "entry_points.txt").write_text(
        "[portarray.backends]\nplug = plug_bad\nnumpy = plug_bad\nplug2 = plug_missing\n"
    )
    errors = registry.plugin_errors()
    assert reason in errors["plug"]
    assert "has a backend already" in errors["numpy"]
    assert "ModuleNotFoundError" in errors["plug2"]
    assert pa.ones(2, device="cpu").device is pa.device("numpy")
    with pytest.raises(pa.UnknownDeviceError, match="the plugin for 'plug' cannot be used"):
        pa.device("plug")
    assert reason in pa.summary().plugin_errors["plug"]
    assert "Plugins that cannot be used" in str(pa.summary())


FILES = {
    "devices": """
import json
import numpy as np
from portarray.backends.types import Description
ARRAY_TYPE = json.JSONDecoder
version = lambda: "1"
count = lambda platform: 1
why_not = lambda platform: ""
native_device = lambda platform, index: "plug"
describe = lambda platform, index: Description("Plug", "cpu")
dtypes = lambda platform, index: {np.dtype("float32"): np.dtype("float32")}
recognize = lambda device: None
locate = lambda x: ("cpu", 0)
is_out_of_memory = lambda error: False
""",
    "transfer": """
on_host = lambda device: True
from_host = lambda array, device, *, copy: array
to_host = lambda x, *, copy: x
move = from_dlpack = to_dlpack = dlpack_device = None
""",
    "namespace": """
import numpy as np
add, multiply, getitem, item, setitem = np.add, np.multiply, None, None, None
""",
}


@pytest.mark.parametrize(
    ("file", "line", "reason"),
    [
        ("devices", "1 / 0", "ZeroDivisionError"),
        ("transfer", "import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("namespace", "1 / 0", "ZeroDivisionError"),
        ("devices", "del locate, version", "lacks locate, version"),
        ("transfer", "del to_host", "plug_bad.transfer lacks to_host"),
        ("devices", "count = lambda platform: 1 / 0", "ZeroDivisionError"),
        ("devices", "count = lambda platform: None", "asking for its devices failed: TypeError"),
        ("devices", "describe = lambda *where: Description('Plug', 'toy')", "its kind is 'toy'"),
        ("devices", "describe = lambda *where: None", "describing it failed"),
        ("devices", "dtypes = lambda *where: {}", "neither float32 nor int32"),
        ("devices", "memory = lambda device: 1 / 0", "ZeroDivisionError"),
        ("devices", "scope = lambda device: 1", "its probe failed: TypeError"),
        ("transfer", "to_host = lambda x, *, copy: x.astype(float)", "it computes wrongly"),
        ("namespace", "multiply = np.add", "it computes wrongly"),
    ],
)
def test_a_plugin_with_broken_files_harms_nothing(
    distribution: Path, file: str, line: str, reason: str
) -> None:
    info = BACKEND.format(library="plug", ranks={"cpu": 99})
    plugin(distribution.parent, "plug_bad", info)
    for name, text in FILES.items():
        added = line if name == file else ""
        (distribution.parent / "plug_bad" / f"{name}.py").write_text(text + added)
    (distribution / "entry_points.txt").write_text("[portarray.backends]\nplug = plug_bad\n")
    # Its library is imported, so that it is asked about every object that no other backend knows.
    assert pa.asarray(memoryview(b"ab"), device="numpy").tolist() == [97, 98]
    with pytest.raises(TypeError, match="names no device"):
        pa.device(object())
    listed = str(pa.summary())
    assert reason in listed
    assert "plug:cpu:0" not in [str(device) for device in pa.devices()]
    assert "numpy:cpu:0" in listed
    with pytest.raises(pa.DeviceNotFunctionalError) as raised:
        pa.device("plug")
    assert reason in str(raised.value)


def test_the_files_that_the_broken_ones_are_made_of_are_sound(distribution: Path) -> None:
    plugin(distribution.parent, "plug_good", BACKEND.format(library="plug", ranks={"cpu": 99}))
    for name, text in FILES.items():
        (distribution.parent / "plug_good" / f"{name}.py").write_text(text)
    (distribution / "entry_points.txt").write_text("[portarray.backends]\nplug = plug_good\n")
    assert str(pa.device("plug")) == "plug:cpu:0"


def test_add_backend(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.add_backend("fake").library == "fake"  # again: nothing to say against it
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin(tmp_path, "plug_twice", BACKEND.format(library="numpy", ranks={"cpu": 1}))
    with pytest.raises(ValueError, match=r"a backend already: portarray\.backends\.numpy"):
        registry.add_backend("plug_twice")
    with pytest.raises(ImportError):
        registry.add_backend("plug_nowhere")
    registry.remove_backend("fake")
    assert registry.find_info("fake") is None

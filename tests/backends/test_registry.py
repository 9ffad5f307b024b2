from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import portarray as pa
from portarray._devices import discovery
from portarray._dispatch import categories
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
    modules = set(sys.modules)
    pa.reset_gpu_device()
    yield info
    for name in set(sys.modules) - modules:
        if name.startswith("plug_"):
            del sys.modules[name]
            registry._backends.pop(name, None)
    discovery._device_cache.pop(("plug", "cpu", 0), None)
    categories.category_module.cache_clear()
    monkeypatch.undo()
    pa.reset_gpu_device()


def plugin(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)


INFO = (
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
    plugin(distribution.parent, "plug_good", INFO.format(library="plug", ranks={"cuda": 99}))
    (distribution / "entry_points.txt").write_text("[portarray.backends]\nplug = plug_good\n")
    info = registry.find_info("plug")
    assert info is not None
    assert info.title == "Plug"
    assert "plug" in pa.supported_backends()
    with pytest.warns(pa.DeviceSelectionWarning, match="plug:cuda: its import failed"):
        pa.device("auto")  # it has no backend.py
    with pytest.raises(pa.DeviceNotFunctionalError, match=r"No module named 'plug_good\.backend'"):
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
        ("import sys; sys.exit(3)", "plug_bad raised SystemExit: 3"),
        ("raise GeneratorExit('gone')", "plug_bad raised GeneratorExit: gone"),
        ("INFO = 3", "does not have INFO"),
        ("", "does not have INFO"),
        (INFO.format(library="other", ranks={"cuda": 1}), "they must be equal"),
        (INFO.format(library="cuda", ranks={"cuda": 1}), "none of cuda"),
        (INFO.format(library="Plug", ranks={"cuda": 1}), "use lower-case letters"),
        (INFO.format(library="plug", ranks={"quantum": 1}), "quantum"),
        (INFO.format(library="plug", ranks={}), "at least one"),
        (INFO.format(library="plug", ranks={"cpu": "first"}), "ranks must be integers"),
        (INFO.format(library=7, ranks={"cpu": 1}), "TypeError"),
        (
            INFO.format(library="plug", ranks={"cpu": 1}).replace("'Plug'", "None"),
            "all other fields text",
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
    assert "already has a backend" in errors["numpy"]
    assert "ModuleNotFoundError" in errors["plug2"]
    assert pa.ones(2, device="cpu").device is pa.device("numpy")
    with pytest.raises(pa.UnknownDeviceError, match="the plugin for 'plug' does not work"):
        pa.device("plug")
    assert reason in pa.summary().plugin_errors["plug"]
    assert "Plugins that do not work" in str(pa.summary())


FILES = {
    "backend": """
import json
import sys
import numpy as np
from portarray.backends.base import Backend
from portarray.backends.types import Description
class Plug(Backend):
    array_type = json.JSONDecoder
    def version(self): return "1"
    def count(self, platform): return 1
    def reason_unsupported(self, platform): return ""
    def native_device(self, platform, index): return "plug"
    def describe(self, platform, index): return Description("Plug", "cpu")
    def dtypes(self, platform, index): return {np.dtype("float32"): np.dtype("float32")}
    def device_of_native(self, device): return None
    def device_of_array(self, x): return "cpu", 0
    def is_out_of_memory(self, error): return False
    def on_host(self, device): return True
    def from_host(self, array, device, *, copy, non_blocking=False): return array
    def to_host(self, x, *, copy): return x
    def move(self, x, device, *, copy, **options): return x
    def from_dlpack(self, x, device, *, copy): return x
    def to_dlpack(self, x, **options): return x
    def dlpack_device(self, x): return 1, 0
BACKEND = Plug
""",
    "namespace": """
import numpy as np
add, multiply, getitem, item, setitem = np.add, np.multiply, None, None, None
""",
}


def method(line: str) -> str:
    """Return lines that give the plugin's class another method."""
    return f"class BACKEND(Plug):\n    {line}\n"


@pytest.mark.parametrize(
    ("file", "line", "reason"),
    [
        ("backend", "1 / 0", "ZeroDivisionError"),
        ("backend", "import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("backend", "sys.exit('no licence')", "plug_bad raised SystemExit: no licence"),
        ("backend", "raise GeneratorExit", "plug_bad raised GeneratorExit"),
        ("namespace", "1 / 0", "ZeroDivisionError"),
        (
            "backend",
            "del BACKEND",
            "must have BACKEND = a subclass of portarray.backends.base.Backend",
        ),
        ("backend", "BACKEND = Plug('info', None)", "must have BACKEND = a subclass of"),
        (
            "backend",
            "class BACKEND(Backend):\n    to_host = Plug.to_host\n    count = Plug.count\n",
            "BACKEND lacks array_type, describe, device_of_array, device_of_native, dlpack_device, "
            "dtypes, from_dlpack, from_host, is_out_of_memory, move, native_device, on_host, "
            "reason_unsupported, to_dlpack, version, which every backend must have",
        ),
        (
            "backend",
            method("def sychronize(self, device): pass"),
            "sychronize is not a hook; did you mean synchronize?",
        ),
        ("backend", method("standrad = None"), "did you mean standard?"),
        ("backend", method("qqq = 1"), "qqq is not a hook (start private names with _: _qqq)"),
        ("backend", method("memory = 7"), "memory must be a method, not 7"),
        (
            "backend",
            method("def immutable(self): return True"),
            "immutable must be an attribute, not a method",
        ),
        (
            "backend",
            method("def memory(self): pass"),
            "memory() must be memory(device)",
        ),
        (
            "backend",
            method("def to_host(self, x, copy, flag): return x"),
            "to_host(x, copy, flag) must be to_host(x, *, copy)",
        ),
        (
            "backend",
            method("def why_copied_in(self, device, array): return ''"),
            "why_copied_in(device, array) must be why_copied_in(array, device)",
        ),
        (
            "backend",
            method("def move(self, x, device, *, copy): return x"),
            "move(x, device, *, copy) must be move(x, device, *, copy, non_blocking=False)",
        ),
        ("backend", method("def count(self, platform): 1 / 0"), "ZeroDivisionError"),
        ("backend", method("def count(self, platform): pass"), "listing its devices failed: "),
        (
            "backend",
            method("def describe(self, platform, index): return Description('Plug', 'toy')"),
            "its kind is 'toy'",
        ),
        ("backend", method("def describe(self, platform, index): pass"), "describing it failed"),
        (
            "backend",
            method("def dtypes(self, *where, **named): return {}"),
            "it does not have float32 or int32",
        ),
        ("backend", method("def memory(self, device): 1 / 0"), "ZeroDivisionError"),
        ("backend", method("def scope(self, device): return 1"), "its probe failed: TypeError"),
        (
            "backend",
            method("def to_host(self, x, *, copy): return x.astype(float)"),
            "it computes wrong results",
        ),
        ("namespace", "multiply = np.add", "it computes wrong results"),
    ],
)
def test_a_plugin_with_broken_files_harms_nothing(
    distribution: Path, file: str, line: str, reason: str
) -> None:
    info = INFO.format(library="plug", ranks={"cpu": 99})
    plugin(distribution.parent, "plug_bad", info)
    for name, text in FILES.items():
        added = line if name == file else ""
        (distribution.parent / "plug_bad" / f"{name}.py").write_text(text + added)
    (distribution / "entry_points.txt").write_text("[portarray.backends]\nplug = plug_bad\n")
    # Its library is imported, so that it is asked about every object that no other backend knows.
    assert pa.asarray(memoryview(b"ab"), device="numpy").tolist() == [97, 98]
    with pytest.raises(TypeError, match="does not name a device"):
        pa.device(object())
    listed = str(pa.summary())
    assert reason in listed
    assert "plug:cpu:0" not in [str(device) for device in pa.devices()]
    assert "numpy:cpu:0" in listed
    with pytest.raises(pa.DeviceNotFunctionalError) as raised:
        pa.device("plug")
    assert reason in str(raised.value)


def test_the_originals_of_broken_plugins_are_valid(distribution: Path) -> None:
    plugin(distribution.parent, "plug_good", INFO.format(library="plug", ranks={"cpu": 99}))
    for name, text in FILES.items():
        (distribution.parent / "plug_good" / f"{name}.py").write_text(text)
    (distribution / "entry_points.txt").write_text("[portarray.backends]\nplug = plug_good\n")
    assert str(pa.device("plug")) == "plug:cpu:0"


@pytest.mark.parametrize(
    "line",
    [
        "def memory(self, device, _unit=1): return super().memory(device)",
        "@staticmethod\n    def synchronize(device): pass",
        "@classmethod\n    def reclaim(cls, device): pass",
        "def owns(self, *args, **named): return False",
        "_own = 3",
        "@functools.cache\n    def driver(self, platform): return '1'",
    ],
)
def test_hooks_may_be_written_in_several_ways(distribution: Path, line: str) -> None:
    plugin(distribution.parent, "plug_good", INFO.format(library="plug", ranks={"cpu": 99}))
    for name, text in FILES.items():
        added = f"import functools\n{method(line)}" if name == "backend" else ""
        (distribution.parent / "plug_good" / f"{name}.py").write_text(text + added)
    (distribution / "entry_points.txt").write_text("[portarray.backends]\nplug = plug_good\n")
    assert str(pa.device("plug")) == "plug:cpu:0"


def test_an_interrupt_is_no_fault_of_a_plugin(distribution: Path) -> None:
    plugin(distribution.parent, "plug_bad", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        registry.add_backend("plug_bad")


def test_add_backend(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.add_backend("fake").library == "fake"  # again: nothing to say against it
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin(tmp_path, "plug_twice", INFO.format(library="numpy", ranks={"cpu": 1}))
    with pytest.raises(ValueError, match=r"already has a backend: portarray\.backends\.numpy"):
        registry.add_backend("plug_twice")
    with pytest.raises(ImportError):
        registry.add_backend("plug_nowhere")
    registry.remove_backend("fake")
    assert registry.find_info("fake") is None


def test_arrays_of_a_removed_backend_have_no_owner(fake: str) -> None:
    x = pa.ones(2, device=fake).native
    assert registry.owner(x) is registry.load_backend(fake)
    registry.remove_backend(fake)
    assert registry.owner(x) is None
    registry.add_backend("fake")
    assert registry.owner(x) is registry.load_backend(fake)

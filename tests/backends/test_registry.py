from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import portarray as pa
from portarray.backends import registry


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed distribution with plugins; the entry points are read anew."""
    info = tmp_path / "plugins-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugins\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("_packages", "_infos", "_errors"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    monkeypatch.setattr(registry, "_plugins_read", False)
    before = set(sys.modules)
    pa.reset_gpu_device()
    yield info
    for name in set(sys.modules) - before:
        if name.startswith("plug_"):
            del sys.modules[name]
    monkeypatch.undo()
    pa.reset_gpu_device()


def plugin(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)


ROOM = (
    "from portarray.backends.protocol import RoomInfo\n"
    "INFO = RoomInfo(library={library!r}, title='Plug', module='json', ranks={ranks!r}, "
    "install={{'': 'plug'}})\n"
)


def test_built_in_rooms() -> None:
    infos = registry.room_infos()
    assert {"numpy", "torch", "cupy", "dpnp", "mlx", "jax", "clarray"} <= set(infos)
    assert all(library == info.library for library, info in infos.items())
    assert "composed" not in infos
    assert registry.find_info("nunpy") is None


def test_a_plugin_is_a_room(distribution: Path) -> None:
    plugin(distribution.parent, "plug_good", ROOM.format(library="plug", ranks={"cuda": 99}))
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
        (ROOM.format(library="other", ranks={"cuda": 1}), "must be the same"),
        (ROOM.format(library="cuda", ranks={"cuda": 1}), "none of cuda"),
        (ROOM.format(library="Plug", ranks={"cuda": 1}), "lower case"),
        (ROOM.format(library="plug", ranks={"quantum": 1}), "quantum"),
        (ROOM.format(library="plug", ranks={}), "at least one"),
    ],
)
def test_a_broken_plugin_harms_nothing(distribution: Path, text: str, reason: str) -> None:
    plugin(distribution.parent, "plug_bad", text)
    (distribution / "entry_points.txt").write_text(
        "[portarray.backends]\nplug = plug_bad\nnumpy = plug_bad\nplug2 = plug_missing\n"
    )
    errors = registry.plugin_errors()
    assert reason in errors["plug"]
    assert "has a room already" in errors["numpy"]
    assert "ModuleNotFoundError" in errors["plug2"]
    assert pa.ones(2, device="cpu").device is pa.device("numpy")
    with pytest.raises(pa.UnknownDeviceError, match="the plugin for 'plug' cannot be used"):
        pa.device("plug")
    assert reason in pa.summary().plugin_errors["plug"]
    assert "Plugins that cannot be used" in str(pa.summary())


def test_add_room(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry.add_room("fake").library == "fake"  # again: nothing to say against it
    monkeypatch.syspath_prepend(str(tmp_path))
    plugin(tmp_path, "plug_twice", ROOM.format(library="numpy", ranks={"cpu": 1}))
    with pytest.raises(ValueError, match=r"a room already: portarray\.backends\.numpy"):
        registry.add_room("plug_twice")
    with pytest.raises(ImportError):
        registry.add_room("plug_nowhere")
    registry.remove_room("fake")
    assert registry.find_info("fake") is None

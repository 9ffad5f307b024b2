from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

import portarray as pa
from portarray._devices import preferences
from portarray._devices.selection import current


@pytest.fixture(autouse=True)
def fresh(fake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in an empty project with the fake library."""
    monkeypatch.chdir(tmp_path)
    pa.reset_gpu_device()
    yield
    monkeypatch.undo()
    pa.reset_gpu_device()


@pytest.fixture
def user_file() -> Path:
    folder = Path(os.environ["PORTARRAY_CONFIG_DIR"])
    folder.mkdir(exist_ok=True)
    return folder / "preferences.toml"


def test_preferences_are_stored_used_and_deleted(user_file: Path) -> None:
    automatic = current()
    pa.set_preference("numpy")
    assert user_file.read_text() == 'device = "numpy"\n'
    assert current() is pa.device("auto") is pa.gpu_device() is pa.device("numpy")
    pa.set_preference("fake:cuda:1")
    assert current() is pa.gpu_device() is pa.device("gpu") is pa.device("fake:cuda:1")
    pa.set_preference("gpu")
    assert current().kind == "gpu"
    pa.set_preference(None)
    assert not user_file.exists()
    assert current() is automatic
    pa.set_preference(None)


@pytest.mark.parametrize("home", [None, "", " ", "/configuration", "relative"])
def test_the_users_file_is_where_platformdirs_says(
    home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORTARRAY_CONFIG_DIR", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", home)
    folder = platformdirs.user_config_path("portarray")
    assert preferences.path_of("user") == folder / "preferences.toml"


def test_a_preferred_cpu_is_no_gpu() -> None:
    pa.set_preference("numpy")
    assert pa.device("gpu").kind == "gpu"
    assert pa.gpu_device() is pa.device("numpy")
    assert pa.gpu_device(required=True).kind == "gpu"


def test_order_of_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pa.set_preference("fake:cuda:1")
    pa.set_preference("numpy", scope="project")
    assert (tmp_path / "portarray.toml").exists()
    assert current() is pa.device("numpy")
    inner = tmp_path / "inner" / "most"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    pa.reset_gpu_device()
    assert current() is pa.device("numpy")
    monkeypatch.setenv("PORTARRAY_DEVICE", "fake:cuda:0")
    pa.reset_gpu_device()
    assert current() is pa.device("fake:cuda:0")
    with pytest.warns(pa.DeviceSelectionWarning, match="PORTARRAY_DEVICE overrides it"):
        pa.set_preference("fake:cuda:1")
    monkeypatch.delenv("PORTARRAY_DEVICE")
    pa.set_preference(None, scope="project")
    assert current() is pa.device("fake:cuda:1")


def test_scopes_and_settings_come_first() -> None:
    pa.set_preference("fake:cuda:1")
    with pa.device("numpy"):
        assert current() is pa.device("numpy")
    pa.set_default_device("numpy")
    try:
        assert current() is pa.device("numpy")
    finally:
        pa.set_default_device(None)
    assert current() is pa.device("fake:cuda:1")


@pytest.mark.parametrize("text", ["fkae", "cuda:x", "", "auto:1"])
def test_a_wrong_text_is_not_saved(text: str, user_file: Path) -> None:
    pa.set_preference("numpy")
    with pytest.raises(pa.UnknownDeviceError):
        pa.set_preference(text)
    assert user_file.read_text() == 'device = "numpy"\n'
    assert current() is pa.device("numpy")


def test_wrong_arguments_of_set_preference() -> None:
    with pytest.raises(TypeError, match="set_preference: expected a device text"):
        pa.set_preference(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scope must be 'user' or 'project'"):
        pa.set_preference("cpu", scope="global")  # type: ignore[arg-type]


def test_a_device_that_does_not_function_here_is_saved_with_a_warning(user_file: Path) -> None:
    with pytest.warns(pa.DeviceSelectionWarning, match="does not work here: fake:cuda:7"):
        pa.set_preference("fake:cuda:7")
    assert user_file.read_text() == 'device = "fake:cuda:7"\n'
    with pytest.warns(pa.DeviceSelectionWarning, match="fake sees 2 devices") as caught:
        chosen = current()
    assert len(caught) == 1
    assert str(user_file) in str(caught[0].message)
    assert chosen is pa.devices()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it warns once
        assert pa.device("auto") is chosen
    with pytest.raises(pa.DeviceNotFunctionalError):
        pa.device("fake:cuda:7")


def test_an_unknown_text_in_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTARRAY_DEVICE", "troch")
    pa.reset_gpu_device()
    with pytest.warns(
        pa.DeviceSelectionWarning, match=r"(?s)PORTARRAY_DEVICE prefers 'troch'.*Hint: use 'torch'"
    ):
        x = pa.ones(2)
    assert x.device is pa.devices()[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('device = "cuda', "line 1"),
        ('# mine\n\ndevcie = "cuda"\n', "line 3: unknown key 'devcie'"),
        ("# mine\ndevice = 3\n", "line 2: device = 3 is not a string"),
        ('device = ["cuda"]\n', "is not a string"),
        ('[device]\nname = "cuda"\n', "line 1: device = "),
        ("\xff\xfe", "is not valid TOML"),
    ],
)
def test_a_file_with_a_mistake(content: str, said: str, user_file: Path) -> None:
    user_file.write_text(content, encoding="utf-8")
    with pytest.warns(pa.DeviceSelectionWarning) as caught:
        x = pa.ones(2)
    message = str(caught[0].message)
    assert said in message
    assert str(user_file) in message
    assert "edit it by hand or delete it" in message
    assert x.device is pa.devices()[0]
    for text in ("numpy", None):
        with pytest.raises(pa.PreferenceError) as error:
            pa.set_preference(text)
        assert said in str(error.value)
    assert user_file.read_text(encoding="utf-8") == content


def test_a_file_in_another_encoding(user_file: Path) -> None:
    user_file.write_bytes(b'device = "\xff"\n')
    with pytest.warns(pa.DeviceSelectionWarning, match="cannot be read"):
        pa.ones(2)


def test_a_folder_instead_of_the_file(user_file: Path) -> None:
    user_file.mkdir()
    with pytest.warns(pa.DeviceSelectionWarning, match=r"cannot be read: .*directory"):
        assert pa.ones(2).device is pa.devices()[0]
    with pytest.raises(pa.PreferenceError, match=r"cannot be read: .*directory"):
        pa.set_preference("numpy")
    assert user_file.is_dir()


def test_a_file_instead_of_the_folder() -> None:
    folder = Path(os.environ["PORTARRAY_CONFIG_DIR"])
    folder.write_text("in the way")
    with pytest.raises(pa.PreferenceError, match="cannot be written") as caught:
        pa.set_preference("numpy")
    assert "PORTARRAY_DEVICE" in str(caught.value)
    assert folder.read_text() == "in the way"


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no file permissions")
def test_a_file_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        monkeypatch.setenv("PORTARRAY_CONFIG_DIR", folder_name)
        pa.set_preference("numpy")
        file = folder / "preferences.toml"
        file.chmod(0)
        folder.chmod(0o555)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)  # root may read and write everything
        try:
            with pytest.warns(pa.DeviceSelectionWarning, match="cannot be read: Permission denied"):
                pa.ones(2)
            with pytest.raises(pa.PreferenceError, match="cannot be read: Permission denied"):
                pa.set_preference("fake")
            if root:
                os.seteuid(0)
            file.chmod(0o444)
            if root:
                os.seteuid(65534)
            with pytest.raises(pa.PreferenceError, match="cannot be written: Permission denied"):
                pa.set_preference("fake")
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)
        assert file.read_text() == 'device = "numpy"\n'
        assert [f.name for f in folder.iterdir()] == ["preferences.toml"]


def test_comments_stay(user_file: Path) -> None:
    user_file.write_text("# mine\n  device = 'numpy'  # the best\n# end\n")
    pa.set_preference("fake")
    assert user_file.read_text() == '# mine\n  device = "fake"  # the best\n# end\n'
    pa.set_preference(None)
    assert user_file.read_text() == "# mine\n\n# end\n"
    pa.set_preference("numpy")
    assert user_file.read_text() == '# mine\n\n# end\ndevice = "numpy"\n'


@pytest.mark.skipif(os.name == "nt", reason="files have no such mode there")
def test_a_private_file_stays_private(user_file: Path) -> None:
    user_file.write_text('device = "numpy"\n')
    for mode in (0o600, 0o640):
        user_file.chmod(mode)
        pa.set_preference("fake")
        pa.set_preference("numpy")
        assert user_file.stat().st_mode & 0o777 == mode


def test_a_line_that_cannot_be_edited(user_file: Path) -> None:
    content = '"dev\\u0069ce" = "numpy"\n'  # a key that is written with an escape
    user_file.write_text(content)
    assert current() is pa.device("numpy")
    for text in ("fake", None):
        with pytest.raises(pa.PreferenceError, match="edit it by hand or delete it"):
            pa.set_preference(text)
    assert user_file.read_text() == content


def test_a_write_that_fails_leaves_nothing(
    user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file.write_text('device = "numpy"\n')

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(pa.PreferenceError, match="No space left"):
        pa.set_preference("fake")
    assert user_file.read_text() == 'device = "numpy"\n'
    assert [f.name for f in user_file.parent.iterdir()] == [user_file.name]


def test_a_linked_file_stays_linked(user_file: Path, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere.toml"
    real.write_text('device = "numpy"\n')
    user_file.symlink_to(real)
    pa.set_preference("fake")
    assert user_file.is_symlink()
    assert real.read_text() == 'device = "fake"\n'
    assert sorted(tmp_path.glob(".*")) == []

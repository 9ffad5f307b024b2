"""Files are written whole or not at all, and a load never mixes the contents of two."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saved_files import FILES, values_of

import portarray as pa
from portarray._saving import safetensors_files

pytest.importorskip("safetensors", reason="safetensors is not installed")


def test_a_file_that_is_replaced_while_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load never mixes the contents of two files."""
    replacement = path.with_name("other")
    pa.save(path, {"x": np.arange(3.0)})
    pa.save(replacement, {"much longer name than the first one's": np.arange(2.0), "x": np.ones(5)})
    read_header, calls = safetensors_files._header, []

    def header(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 1:
            os.replace(replacement, path)
        return read_header(*arguments)

    monkeypatch.setattr(safetensors_files, "_header", header)
    loaded = pa.load(path, device="numpy")
    assert len(calls) == 2
    assert {name: values_of(x).tolist() for name, x in loaded.items()} == {
        "much longer name than the first one's": [0.0, 1.0],
        "x": [1.0] * 5,
    }


@pytest.mark.parametrize("change", [b"more", b""])
def test_a_file_whose_length_changes_while_it_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, change: bytes
) -> None:
    pa.save(path, {"x": np.arange(3.0)})
    mapped = safetensors_files._mapped

    def changed(descriptor: int) -> Any:
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - (0 if change else 8))
            file.seek(0, os.SEEK_END)
            file.write(change)
        return mapped(descriptor)

    monkeypatch.setattr(safetensors_files, "_mapped", changed)
    with pytest.raises(ValueError, match="its length changed while it was read"):
        pa.load(path)


def run(function: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FILES / "killed.py"), function, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills children that it forks")
def test_a_killed_save_leaves_the_earlier_file(path: Path) -> None:
    saves, leftovers = map(int, run("killed", path).split())
    assert saves > 2  # saves that came to their end between kills
    assert leftovers > 5  # and saves that did not


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs limits of POSIX")
def test_a_save_that_fails_leaves_the_earlier_file_and_nothing_else(path: Path) -> None:
    message, files = run("too_large", path).splitlines()
    assert str(path) in message
    assert "File too large" in message
    assert files == "['x.safetensors']"


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs users of POSIX")
def test_a_file_that_may_not_be_written_is_not_replaced(path: Path) -> None:
    for folder in path.parents:
        mode = folder.stat().st_mode
        if mode & 0o111 != 0o111:  # others' folders are so already
            folder.chmod(mode | 0o111)
    message, files = run("refused", path).splitlines()
    assert message == f"[Errno {errno.EACCES}] the file is not writable: {str(path)!r}"
    assert files == "['x.safetensors']"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyboardInterrupt(), "^$"),
        # Where a full disk of another machine, or one that fails, is found out.
        (
            OSError(errno.EIO, "Input/output error"),
            "error; the file was not written: '.*x.safetensors'",
        ),
    ],
)
def test_an_interrupted_save(
    error: BaseException, message: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa.save(path, pa.ones(2))

    def interrupted(descriptor: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(type(error), match=message):
        pa.save(path, pa.zeros(2))
    assert os.listdir(path.parent) == [path.name]
    assert pa.load(path).tolist() == [1.0, 1.0]


@pytest.mark.skipif(os.name == "nt", reason="modes and links of POSIX")
def test_modes_and_links(path: Path) -> None:
    plain = path.with_name("plain")
    umask = os.umask(0o027)
    try:
        plain.write_bytes(b"")
        pa.save(path, pa.ones(2))
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode) == 0o640
    path.chmod(0o604)
    pa.save(str(path), pa.zeros(2))  # a text is as good as a path
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    folder = path.parent / "folder"
    folder.mkdir()
    link, nowhere = folder / "link", folder / "nowhere"
    link.symlink_to("../x.safetensors")
    nowhere.symlink_to("../new")
    for symlink in (link, nowhere):
        pa.save(symlink, pa.ones(3))
        assert symlink.is_symlink()
        assert pa.load(symlink).shape == (3,)
    assert pa.load(path).shape == pa.load(path.parent / "new").shape == (3,)
    assert sorted(os.listdir(folder)) == ["link", "nowhere"]


def test_saving_to_a_missing_folder_or_a_folder_raises(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        FileNotFoundError, match="the folder does not exist; create it first"
    ) as caught:
        pa.save(path / "sub" / "file", pa.ones(2))
    assert caught.value.filename == str(path / "sub" / "file")
    with pytest.raises(IsADirectoryError, match="the path is a folder"):
        pa.save(path.parent, pa.ones(2))
    with pytest.raises(IsADirectoryError, match="the path is the name of a folder"):
        pa.save(f"{path}{os.sep}", pa.ones(2))
    with pytest.raises(TypeError, match="the path has type dict"):
        pa.save({"x": pa.ones(2)}, "x.safetensors")  # type: ignore[arg-type]
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)
        for use in (lambda: pa.save(path, pa.ones(2)), lambda: pa.load(path)):
            with pytest.raises(OSError, match="the path is not a regular file"):
                use()
        path.unlink()
    assert os.listdir(path.parent) == []
    monkeypatch.chdir(path.parent)
    no_text = [os.fsdecode(b"\xff")] if sys.platform.startswith("linux") else []
    for name in ("x", "größe", *no_text):
        pa.save(name, pa.ones(2))
        assert pa.load(name).shape == (2,)

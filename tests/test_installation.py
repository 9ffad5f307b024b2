"""Commands that install an extra come from where portarray came."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import portarray as pa
from portarray._installation import pip_install

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ORIGINS = {
    "index": (None, "portarray[files]"),
    "wheel": (
        {"url": "file:///wheels/portarray-1.0-py3-none-any.whl", "archive_info": {}},
        "portarray[files] @ file:///wheels/portarray-1.0-py3-none-any.whl",
    ),
    "folder": (
        {"url": "file:///a%20folder/portarray", "dir_info": {}},
        "/a folder/portarray[files]",
    ),
    "repository": (
        {
            "url": "https://example.org/portarray.git",
            "vcs_info": {"vcs": "git", "commit_id": COMMIT},
        },
        f"portarray[files] @ git+https://example.org/portarray.git@{COMMIT}",
    ),
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_an_installed_portarray(origin: str, tmp_path: Path) -> None:
    """The module alone, installed in a folder of packages as pip does it."""
    origin_json, requirement = ORIGINS[origin]
    package = tmp_path / "portarray"
    package.mkdir()
    shutil.copy(Path(pa.__file__).with_name("_installation.py"), package)
    (package / "__init__.py").touch()
    info = tmp_path / "portarray-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: portarray\nVersion: 1.0\n")
    if origin_json is not None:
        (info / "direct_url.json").write_text(json.dumps(origin_json))
    code = "from portarray._installation import pip_install; print(pip_install('portarray[files]'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f'pip install "{requirement}"'


def test_the_install_command_of_another_package() -> None:
    assert pip_install("jax[cuda12]") == 'pip install "jax[cuda12]"'


def test_this_portarray_can_be_installed_again() -> None:
    command = pip_install("portarray[files]")
    source = command.removeprefix('pip install "').removesuffix('[files]"')
    assert (Path(source) / "pyproject.toml").is_file() or "portarray" in source

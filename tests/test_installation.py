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


WITHOUT_LIBRARIES = """
import sys

class Missing:
    def find_spec(name, path=None, target=None):
        if name in ("cupy", "dpnp", "jax", "mlx", "mlx.core", "pyopencl", "torch"):
            raise ImportError(name)

sys.meta_path.insert(0, Missing)
import contextlib, json
from portarray._cli.doctor import _unusable
from portarray._devices.summary import summary
from portarray.testing import _choice

rows = _unusable(summary(), set())
fixes = {name: row["mend"] for row in rows for name in row["what"].split(", ")}
with contextlib.ExitStack() as stack:
    print(json.dumps([fixes, _choice.choose("cpu", stack).not_run]))
"""


def test_commands_install_what_the_platform_needs() -> None:
    """The doctor's are those of each platform; tests on CPUs name what a CPU needs."""
    pytest.importorskip("click", reason="portarray doctor needs it")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARIES], capture_output=True, text=True, check=True
    )
    fixes, not_run = json.loads(done.stdout.splitlines()[-1])
    for name, requirement in (
        *(("cupy:cuda", "portarray[cupy-cuda12]"), ("cupy:rocm", "portarray[cupy-rocm]")),
        *(("jax:cpu", "portarray[jax]"), ("jax:cuda", "jax[cuda12]"), ("jax:tpu", "jax[tpu]")),
        *(("mlx:cuda", "mlx[cuda12]"), ("torch:cpu", "portarray[torch]")),
    ):
        assert fixes[name] == pip_install(requirement)
    for library in ("jax", "mlx", "torch"):
        assert pip_install(f"portarray[{library}]") in not_run[library]

"""Common rules of backends: their imports, and old versions of libraries."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import portarray as pa
from portarray._devices import discovery
from portarray._installation import pip_install
from portarray.backends import contract, registry

LIBRARIES = sorted(
    library
    for library in registry.backend_infos()
    if registry.package_of(library).startswith("portarray.backends.")
)

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


# What a library imports itself is no matter of its backend: clarray's module is portarray's own.
ALWAYS = {"numpy", "clarray"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_backend_imports_one_library(library: str) -> None:
    info = registry.backend_infos()[library]
    if not discovery.is_installed(info):
        pytest.skip(f"{info.title} is not installed")
    program = f"""
import sys
import portarray as pa
from portarray.backends import registry

try:
    print(pa.device({library!r}))
except pa.DeviceNotFunctionalError as error:
    print("not here")
infos = registry.backend_infos()
print(*[n for n in infos if registry.package_of(n) + ".backend" in sys.modules])
print(*[n for n, info in infos.items() if info.module in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    _, backends, modules = done.stdout.splitlines()
    assert set(backends.split()) <= {library, "numpy"}
    assert set(modules.split()) - ALWAYS <= {library}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_backend_implements_the_contract(library: str) -> None:
    """Loading checks this for other backends only."""
    info = registry.backend_infos()[library]
    if not discovery.is_installed(info):
        pytest.skip(f"{info.title} is not installed")
    backend = type(registry.load_backend(library))
    assert contract.check(backend, library) is backend


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_version_that_is_too_old_is_refused(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    info = registry.backend_infos()[library]
    if not info.oldest:
        assert library in ("numpy", "clarray")  # the one is required, the other comes along
        return
    if not discovery.is_installed(info):
        pytest.skip(f"{info.title} is not installed")
    for name in info.distributions or (info.module,):
        folder = tmp_path / f"{name.replace('-', '_')}-0.1.2+old.dist-info"
        folder.mkdir()
        headers = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.2+old\n\nVersion: 99\n"
        (folder / "METADATA").write_text(headers)
    monkeypatch.syspath_prepend(str(tmp_path))
    pa.reset_gpu_device()
    try:
        for platform in info.ranks:
            with pytest.raises(pa.DeviceNotFunctionalError) as caught:
                pa.device(f"{library}:{platform}")
            (reason,) = caught.value.reasons.values()
            assert f"{info.title} 0.1.2+old is too old" in reason
            assert f"portarray needs {info.oldest} or newer" in reason
            assert f"{pip_install(info.requirement(platform))} --upgrade" in reason
    finally:
        monkeypatch.undo()
        pa.reset_gpu_device()


@pytest.mark.skipif(not PYPROJECT.exists(), reason="pyproject.toml is not beside the tests")
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_extra_requires_a_supported_version(library: str) -> None:
    info = registry.backend_infos()[library]
    extras = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    names = [name for name in extras if name == library or name.startswith(f"{library}-")]
    distributions = "|".join(info.distributions or (info.module,))
    versions = [
        match[1]
        for name in names
        for requirement in extras[name]
        if (match := re.match(rf"(?:{distributions})(?:\[\w+\])?>=([\d.]+)", requirement))
    ]
    assert len(versions) >= len(names)
    for version in versions:
        assert discovery._numbers(version) >= discovery._numbers(info.oldest)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("2.13.0+cpu", (2, 13, 0)), ("0.29", (0, 29)), ("14.2.0rc1", (14, 2, 0)), ("unknown", ())],
)
def test_versions_are_compared_by_their_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert discovery._numbers(text) == numbers
    assert not discovery._numbers("0.10.2") < discovery._numbers("0.9")

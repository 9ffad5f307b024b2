"""The distribution: portarray's version, and the command under portarray's."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import click

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "conformance" / "pyproject.toml").read_text(encoding="utf-8"))


def test_there_is_one_version_number() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    source = ROOT / "conformance" / PROJECT["tool"]["hatch"]["version"]["path"]
    assert source.resolve() == ROOT / "portarray" / "_version.py"


def test_the_command_joins_by_its_entry_point() -> None:
    value = PROJECT["project"]["entry-points"]["portarray.commands"]["conformance"]
    module, _, name = value.partition(":")
    command = getattr(import_module(module), name)
    assert isinstance(command, click.Group)
    assert set(command.commands) == {"run"}


def test_the_core_never_imports_it() -> None:
    for path in (ROOT / "portarray").rglob("*.py"):
        assert "import portarray_conformance" not in path.read_text(encoding="utf-8"), path
        assert "from portarray_conformance" not in path.read_text(encoding="utf-8"), path

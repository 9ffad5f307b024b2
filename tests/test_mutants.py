"""The list of planted faults fits the code; ``nox -s mutants`` plants them."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "mutants.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_fault_fits_its_file(tool: ModuleType) -> None:
    areas, mutants = tool.read()
    assert [text for mutant in mutants if (text := mutant.problem())] == []
    assert set(areas) == {mutant.area for mutant in mutants}
    missing = [
        path
        for area in areas.values()
        for path in area.tests
        if not (TOOL.parents[1] / path.partition("::")[0]).exists()
    ]
    assert missing == []


def test_expressions_of_areas_name_tests(tool: ModuleType) -> None:
    """An expression for pytest's -k that no test matches any more deselects what finds faults."""
    areas, _ = tool.read()
    targets = {"torch", "mlx", "jax", "dpnp", "clarray", "Portable"}  # parts of names of devices
    unknown = []
    for area in areas.values():
        paths = [TOOL.parents[1] / path.partition("::")[0] for path in area.tests]
        folders = {path if path.is_dir() else path.parent for path in paths}
        files = [file for folder in folders for file in folder.rglob("*.py")]
        text = "".join(f"{file}\n{file.read_text('utf-8')}" for file in files)
        keywords = set(re.findall(r"\w+", area.only)) - {"and", "or", "not"} - targets
        unknown += [f"{area.name}: {word}" for word in sorted(keywords) if word not in text]
    assert unknown == []


def test_enough_faults_are_planted_and_few_survive(tool: ModuleType) -> None:
    _, mutants = tool.read()
    survive = [mutant.id for mutant in mutants if mutant.survives]
    assert len(mutants) >= 150
    assert len(survive) <= len(mutants) * 0.05
    assert [
        mutant.id for mutant in mutants if mutant.survives and mutant.area == "comparators"
    ] == []

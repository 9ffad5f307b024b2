"""The path of warm calls is what its one text makes of it."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "expand_calls.py"


def test_the_file_is_up_to_date_with_its_generator() -> None:
    spec = importlib.util.spec_from_file_location("expand_calls", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    there = ast.dump(ast.parse(tool.FILE.read_text("utf-8")))
    assert there == ast.dump(ast.parse(tool.expanded())), "run python tools/expand_calls.py"

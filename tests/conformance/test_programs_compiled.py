"""Compiled programs: equal to eager ones, and planted differences are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from portarray_conformance.cli import conformance
from portarray_conformance.programs.compiled import CompiledPrograms, run_compiled
from portarray_conformance.target import portarray_target

import portarray as pa
from portarray._transforms.compiling import expressions

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_compiled_programs_are_equal_on_numpy() -> None:
    results = run_compiled(portarray_target("numpy"), 30, 0)
    assert {result.status for result in results} == {"passed"}
    assert sum(result.examples for result in results) > 100


@pytest.mark.parametrize(("name", "wrong"), [("round", "pa.floor"), ("less", "pa.less_equal")])
def test_a_wrong_expression_is_found(name: str, wrong: str, monkeypatch: Any) -> None:
    right = expressions.expression

    def planted(function: str, operands: Any, *details: Any) -> str:
        text = right(function, operands, *details)
        return text.replace(f"pa.{name}(", f"{wrong}(") if function == name else text

    monkeypatch.setattr(expressions, "expression", planted)
    monkeypatch.setattr(type(pa.device("numpy")._backend), "launch_cost", 0)
    target = portarray_target("numpy")
    values = "np.resize(np.asarray([0.5, 1.5, -0.0, 2.0]), (40960,))"
    second = "2.0" if name == "less" else ""
    call = f"xp.{name}(b, {second})" if second else f"xp.{name}(b)"
    program = (f"a = xp.asarray({values})", "b = xp.abs(a)", f"c = {call}", "d = xp.isnan(a)")
    with target.scope():
        difference = CompiledPrograms.on(target).find(program)
    assert difference is not None
    assert difference.function == name
    assert np.isin(difference.kind, ["value", "sign of zero"])


def test_compiled_programs_are_those_of_a_device() -> None:
    run = CliRunner().invoke(conformance, ["run", "--compiled", "--module", "numpy"])
    assert run.exit_code == 2
    assert "--suite programs" in run.output

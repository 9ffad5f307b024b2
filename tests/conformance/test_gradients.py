"""The suite of gradients: coverage, planted faults, and remaining failures per device."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from portarray_conformance.cli import conformance
from portarray_conformance.gradients import CASES, cases_of, run_cases, run_programs
from portarray_conformance.gradients.case import Case, Drawn
from portarray_conformance.gradients.differences import KinkError, autograd, central
from portarray_conformance.gradients.programs import (
    Program,
    Reference,
    compare,
    draw_program,
    reference,
)
from portarray_conformance.run import Result
from portarray_conformance.target import portarray_target

import portarray as pa
from portarray._transforms.rules import RULES

ALL = bool(os.environ.get("PORTARRAY_ALL_GRADIENTS"))
# Rules are the same everywhere: NumPy's device has all cases, others every fourth. JAX compiles
# each call for each shape.
SHARES = {"numpy": 1, "jax": 30}
PROGRAMS = {"numpy": 60, "jax": 5, "dpnp": 15}


def bad(results: list[Result]) -> list[str]:
    return [
        f"{result.category}: {result.aspect}\n{result.message}" for result in results if result.bad
    ]


def test_gradients_of_functions(device: str) -> None:
    step = 1 if ALL else SHARES.get(device.partition(":")[0], 4)
    cases = CASES[sum(map(ord, device)) % step :: step]
    results = run_cases(portarray_target(device), cases, examples=1, seed=0)
    assert bad(results) == []
    assert sum(case.status == "passed" for case in results) > 0.95 * len(results)


def test_gradients_of_drawn_programs(device: str) -> None:
    count = PROGRAMS.get(device.partition(":")[0], 25)
    results = run_programs(portarray_target(device), count, seed=1)
    assert [f"{result.example}\n{result.message}" for result in results if result.bad] == []
    skipped = sum(result.examples for result in results if result.status == "not run")
    assert skipped <= 0.05 * count + 1


def test_every_rule_has_a_case() -> None:
    called = {case.function for case in CASES}
    # Moved between devices: tests/transforms. The others are what rules call.
    internal = {"strong_divide", "strong_multiply", "strong_product"}
    scattering = {"add_at", "max_at", "min_at", "multiply_at"}  # tests/api/test_scatter.py
    special = {name for name in RULES if name.startswith("special.")}  # tests/api/test_special.py
    assert set(RULES) - called == {"to_device", *internal, *scattering, *special}
    assert len({case.function for case in CASES if case.twice}) >= 40
    assert len({case.name for case in CASES}) == len(CASES)
    assert {f"kernels.{name}" for name in ("attention", "rope", "cross_entropy")} <= called


def test_drawn_arguments_are_those_of_the_seed() -> None:
    case = CASES[0]
    first, second = case.drawn(3, 0), case.drawn(3, 0)
    assert all(map(np.array_equal, first.args, second.args))
    assert not all(map(np.array_equal, first.args, case.drawn(4, 0).args))
    assert draw_program(3, 0).text() == draw_program(3, 0).text() != draw_program(4, 0).text()
    with pytest.raises(ValueError, match=r"'softmax'; did you mean kernels\.softmax"):
        cases_of(["softmax"])


def test_programs_cover_everything_that_has_gradients() -> None:
    programs = [draw_program(9, index) for index in range(150)]
    text = "\n".join(line for program in programs for line in program.statements)
    for part in ("] = ", "+= ", "xp.linalg.", "xp.fft.", "xp.where(", "[None", "::-1", "complex"):
        assert part in text, part
    integers = (int(x) for x in re.findall(r"(?<![\d.])\d+(?![\d.e])", text))
    assert max(integers) < 2**31  # all that devices without int64 have
    assert all(program.outputs for program in programs)
    assert all(np.all(np.isfinite(x)) for program in programs for x in program.args)


FAULTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a factor": ("sin", lambda g: g * 1.001),
    "NaN": ("exp", lambda g: g * np.nan),
    "a transpose": ("matmul", lambda g: g.mT if g.ndim > 1 and g.shape[-1] == g.shape[-2] else -g),
    "single precision": ("multiply", lambda g: pa.astype(pa.astype(g, pa.float32), g.dtype)),
    "another dtype": ("cos", lambda g: pa.astype(g, pa.float32)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_in_rules_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, change = FAULTS[name]
    right = RULES[function]

    def wrong(*args: Any, **options: Any) -> Any:
        return [None if g is None else change(g) for g in right(*args, **options)]

    monkeypatch.setitem(RULES, function, wrong)
    results = run_cases(portarray_target("numpy"), cases_of([function]), examples=6, seed=0)
    assert any(result.bad and result.category == "gradients" for result in results)
    assert "seed 0, example" in next(result.example for result in results if result.bad)


def test_faults_are_found_in_programs_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    right = RULES["sin"]
    monkeypatch.setitem(RULES, "sin", lambda *args: [g * 1.01 for g in right(*args)])
    findings = [result for result in run_programs(portarray_target("numpy"), 8, 2) if result.bad]
    assert findings
    assert all("def program(" in result.example for result in findings)
    assert max(result.example.count("\n") for result in findings) < 12


def test_single_precision_has_no_wider_dtypes(device: str) -> None:
    """With ``narrow=True`` programs use no dtype of double precision."""
    statements = (
        "b = xp.astype(a, float, copy=False)",
        "c = xp.asarray(b, dtype=float) * complex(0.5, 2.0)",
        "d = c + xp.ones(2, dtype=complex)",
    )
    program = Program(("a",), (np.asarray([0.5, -1.5]),), statements, ("b", "c", "d"))
    expected, target = reference(program), portarray_target(device)
    assert isinstance(expected, Reference)
    with target.scope():
        compare(program, target, "grad", narrow=True, expected=expected)


def test_points_at_kinks_are_counted_and_not_passed() -> None:
    def drawn(_: Any) -> Drawn:
        return Drawn(pa.abs, (np.asarray([1e-5, 0.5]),))

    case = Case("at its kink", "abs", drawn)
    first, _ = run_cases(portarray_target("numpy"), [case], examples=3, seed=0)
    assert (first.status, first.examples) == ("not run", 0)
    assert "differences of steps" in first.reason
    with pytest.raises(KinkError):
        central(lambda x: np.abs(x[0][0]), [np.asarray([1e-5])], 0)


def test_pytorchs_gradients_are_a_second_reference() -> None:
    if not pa.functional("torch"):
        pytest.skip("no PyTorch here")
    gradients = autograd(Drawn(lambda x, y: x * y, (np.asarray([2.0, 3.0]), np.asarray(4.0))))
    expected = autograd(Drawn(lambda x: x * 4, (np.asarray([2.0, 3.0]),)))
    assert gradients is not None
    assert expected is not None
    np.testing.assert_allclose(gradients[0], expected[0])


def run(*arguments: str) -> Any:
    return CliRunner().invoke(conformance, ["run", *arguments])


def test_the_command_reports_gradients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--suite", "gradients", "--device", "numpy", "--functions", "sin,kernels.softmax")
    result = run(*options, "--examples", "2", "--programs", "2", "--report", str(tmp_path))
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "conformance.json").read_text("utf-8"))
    assert (report["suite"], report["examples"]) == ("gradients", 2)
    categories = {entry["chapter"] for entry in report["results"]}
    assert categories == {"gradients", "second derivatives", "gradients of programs"}
    right = RULES["sin"]
    monkeypatch.setitem(RULES, "sin", lambda *args: [g * 2 for g in right(*args)])
    result = run(*options, "--quick")
    assert result.exit_code == 1
    assert "FAILED sin (sin) on numpy:cpu:0" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--suite", "gradients", "--module", "numpy"), "portarray's own derivatives"),
        (("--suite", "gradients", "--functions", "sinn"), "did you mean sin"),
        (("--suite", "gradients", "--threads", "2"), "need --suite programs"),
        (("--programs", "2"), "--suite gradients"),
    ],
)
def test_options_of_gradients(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output

"""The runner: independent cases, shrunk failing examples, and statuses."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from portarray_conformance import Case, ExpectedFailure, NotApplicable, Target, run
from portarray_conformance.cases import Draw
from portarray_conformance.run import QUICK_EXAMPLES, QUICK_SHRINK_SECONDS, Result, describe

Make = Callable[..., Case]


def passes(target: Target, draw: Draw) -> None:
    draw.draw(st.integers(), label="k")


def fails(target: Target, draw: Draw) -> None:
    x = draw.draw(hnp.arrays(np.float32, (3,), elements=st.floats(0, 10, width=32)), label="x")
    k = draw.draw(st.integers(0, 1000))
    assert k < 17, f"{k} is more than 16 for {x.shape}"


def row(aspect: str = "values", target: str = "module *") -> ExpectedFailure:
    return ExpectedFailure("ours", "sin", aspect, target, "known", "https://example.org/1")


def run_case(target: Target, case: Case, **options: object) -> Result:
    (result,) = run(target, [case], **options)  # type: ignore[arg-type]
    return result


def first_line(result: Result) -> str:
    return result.message.splitlines()[0]  # below it, pytest explains the assertions of this file


def test_a_pass_counts_its_examples(strict: Target, make_case: Make) -> None:
    result = run_case(strict, make_case(passes), examples=30)
    assert (result.status, result.examples, result.example) == ("passed", 30, "")
    assert (result.function, result.aspect, result.target) == (
        "sin",
        "values",
        "module array_api_strict",
    )


def test_quick_means_few_examples(strict: Target, make_case: Make) -> None:
    assert run_case(strict, make_case(passes), quick=True).examples == QUICK_EXAMPLES
    assert run_case(strict, make_case(passes), quick=True, examples=20).examples == 20


def test_a_failing_example_is_small_and_readable(strict: Target, make_case: Make) -> None:
    result = run_case(strict, make_case(fails), examples=100)
    assert result.status == "failed"
    assert result.bad
    assert result.example == "x = array([0.0, 0.0, 0.0], dtype=float32)\ndraw 2 = 17"
    assert first_line(result) == "17 is more than 16 for (3,)"


def test_the_same_seed_draws_the_same(strict: Target, make_case: Make) -> None:
    def drawn(seed: int) -> list[int]:
        values: list[int] = []
        check = make_case(lambda target, draw: values.append(draw.draw(st.integers())))
        run_case(strict, check, seed=seed, examples=20)
        return values

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    # More examples are others than the first ones again.
    assert len(set(drawn(3)[10:]) - set(drawn(3)[:10])) >= 5


def test_an_exception_in_one_case_leaves_the_others_alone(strict: Target, make_case: Make) -> None:
    def raises(target: Target, draw: Draw) -> None:
        raise RuntimeError("kernel lost")

    def exits(target: Target, draw: Draw) -> None:
        raise SystemExit(3)

    cases = [make_case(check) for check in (raises, exits, passes)]
    results = run(strict, cases)
    assert [result.status for result in results] == ["failed", "failed", "passed"]
    assert "RuntimeError: kernel lost" in results[0].message
    assert "test_run.py" in results[0].message
    assert "SystemExit" in results[1].message


def test_an_interrupt_ends_the_run(strict: Target, make_case: Make) -> None:
    def interrupts(target: Target, draw: Draw) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(strict, [make_case(interrupts), make_case(passes)])


def test_warnings_do_not_break_a_run(strict: Target, make_case: Make) -> None:
    def warns(target: Target, draw: Draw) -> None:
        draw.draw(st.integers())
        warnings.warn("slow path", stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run_case(strict, make_case(warns)).status == "passed"


def test_a_case_that_does_not_apply_is_not_run(strict: Target, make_case: Make) -> None:
    def lacks(target: Target, draw: Draw) -> None:
        raise NotApplicable("has no float16")

    def impossible(target: Target, draw: Draw) -> None:
        assume(draw.draw(st.integers()) is None)

    result = run_case(strict, make_case(lacks))
    assert (result.status, result.reason, result.examples) == ("not run", "has no float16", 0)
    result = run_case(strict, make_case(impossible))
    assert result.status == "not run"
    assert "no drawn input" in result.reason
    assert not result.bad


def test_a_case_that_applies_to_some_draws_is_run_on_those(strict: Target, make_case: Make) -> None:
    def sometimes(target: Target, draw: Draw) -> None:
        if draw.draw(st.booleans()):
            raise NotApplicable("not for True")

    assert run_case(strict, make_case(sometimes)).status == "passed"


def test_a_flaky_case_fails_and_says_so(strict: Target, make_case: Make) -> None:
    calls = iter(range(1000))

    def flaky(target: Target, draw: Draw) -> None:
        draw.draw(st.integers(), label="k")
        assert next(calls) != 2, "third call"

    result = run_case(strict, make_case(flaky))
    assert result.status == "failed"
    assert result.message.startswith("Flaky: ")
    assert first_line(result).endswith("third call")
    assert result.example.startswith("k = ")


def test_shrinking_stops_after_a_while(strict: Target, make_case: Make) -> None:
    calls = 0

    def slow(target: Target, draw: Draw) -> None:
        nonlocal calls
        calls += 1
        values = draw.draw(st.lists(st.integers(0, 10**9), min_size=20), label="values")
        time.sleep(0.02)
        assert len({value % 1000 for value in values}) < 10, "too many"

    result = run_case(strict, make_case(slow), quick=True)
    assert calls <= 10 * QUICK_SHRINK_SECONDS / 0.02  # far more calls would follow
    assert (result.status, first_line(result)) == ("failed", "too many")
    assert result.example.startswith("values = [")


def test_expected_failures_are_strict(strict: Target, make_case: Make) -> None:
    expected = run_case(strict, make_case(fails), expected=[row()])
    assert (expected.status, expected.reason, expected.link) == (
        "expected",
        "known",
        "https://example.org/1",
    )
    assert not expected.bad
    assert expected.example
    surprise = run_case(strict, make_case(passes), expected=[row()])
    assert surprise.status == "unexpected pass"
    assert surprise.bad
    assert run_case(strict, make_case(fails), expected=[row(target="torch:*")]).status == "failed"
    assert run_case(strict, make_case(fails), expected=[row(aspect="special")]).status == "failed"


def test_callbacks_come_in_order(strict: Target, make_case: Make) -> None:
    heard: list[str] = []
    run(
        strict,
        [make_case(passes, "sin"), make_case(fails, "cos")],
        on_start=lambda case: heard.append(f"start {case.function}"),
        on_result=lambda result: heard.append(f"{result.function} {result.status}"),
    )
    assert heard == ["start sin", "sin passed", "start cos", "cos failed"]


def test_memory_is_released_between_cases(strict: Target, make_case: Make) -> None:
    heard: list[str] = []
    target = replace(strict, forget=lambda: heard.append("forgotten"))
    cases = [make_case(passes), make_case(fails)]
    run(target, cases, examples=5, on_result=lambda result: heard.append(result.status))
    assert heard == ["passed", "forgotten", "failed", "forgotten"]


def test_checks_run_in_the_scope_of_the_target(strict: Target, make_case: Make) -> None:
    inside: list[bool] = []

    class Scope:
        def __enter__(self) -> None:
            inside.append(True)

        def __exit__(self, *error: object) -> None:
            inside.pop()

    def needs_scope(target: Target, draw: Draw) -> None:
        assert inside

    scoped = replace(strict, enter=Scope, support={"sin": "host"})
    result = run_case(scoped, make_case(needs_scope))
    assert (result.status, result.served) == ("passed", "host")
    assert not inside


def test_a_drawn_array_is_reported_as_it_was_drawn(strict: Target, make_case: Make) -> None:
    def overwrites(target: Target, draw: Draw) -> None:
        x = draw.draw(hnp.arrays(np.int8, 2, elements=st.just(5)), label="x")
        x[...] = 0
        raise AssertionError("wrong")

    assert run_case(strict, make_case(overwrites)).example == "x = array([5, 5], dtype=int8)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.asarray([0.1, -0.0, np.nan], np.float32), "array([0.1, -0.0, nan], dtype=float32)"),
        (np.zeros((2, 0), np.int8), "array([], dtype=int8, shape=(2, 0))"),
        (np.asarray(True), "array(True, dtype=bool)"),
        ([1, (2, None)], "[1, (2, None)]"),
        (slice(None, 3), "slice(None, 3, None)"),
    ],
)
def test_values_are_described_on_one_line(value: object, text: str) -> None:
    assert describe(value) == text


def test_long_values_are_cut() -> None:
    text = describe("x" * 5000)
    assert len(text) < 2100
    assert text.endswith("more characters)")

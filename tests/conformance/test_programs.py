"""The suite of programs: coverage, planted faults, and remaining failures per device."""

from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner
from portarray_conformance import names
from portarray_conformance.cli import conformance
from portarray_conformance.programs import run_programs, run_threads
from portarray_conformance.programs.calls import CALLS, EXTRAS
from portarray_conformance.programs.corpus import corpus
from portarray_conformance.programs.generator import Drawn, ProgramOptions, draw_program
from portarray_conformance.programs.judge import UNDEFINED
from portarray_conformance.programs.references import NumPyReference
from portarray_conformance.programs.statements import Aliases, read_statement
from portarray_conformance.programs.suite import Finding, Programs
from portarray_conformance.target import STANDARD_DTYPES, Target, portarray_target

import portarray as pa

DEFAULTS = {
    "real floating": "float64",
    "complex floating": "complex128",
    "integral": "int64",
    "indexing": "int64",
}
COMPILING = ("jax", "dpnp")
Fault = Callable[[Any], None]


def suite_of(fault: Fault = lambda xp: None) -> Programs:
    """Return the suite on a second reference with a fault, in place of a device."""
    options = ProgramOptions(list(STANDARD_DTYPES))
    faulty = NumPyReference(list(options.dtypes), DEFAULTS, strict=True)
    fault(faulty.exact.xp)
    reference = NumPyReference(list(options.dtypes), DEFAULTS, strict=True)
    return Programs(portarray_target("numpy"), faulty.exact, reference, options, flushes=False)


def _undefined(drawn: Drawn) -> bool:
    """Return whether the reference, used as the device too, could not decide."""
    return any(step.error is not None and step.error.name == UNDEFINED for step in drawn.steps)


def first_finding(suite: Programs, most: int = 3000) -> Finding:
    """Draw programs until one of them differs."""
    for index in range(most):
        drawn = suite.draw(0, index)
        if _undefined(drawn):
            continue
        if suite.check(str(index), drawn.statements, drawn) is not None:
            return next(iter(suite.findings.values()))
    raise AssertionError(f"nothing found in {most} programs")


def test_every_function_of_the_standard_is_called() -> None:
    excluded = ("__", "info.", "dtype.")
    expected = {
        name
        for category, names_of_category in names.CATEGORIES.items()
        if category not in ("array_object", "operators", "constants", "inspection")
        for name in names_of_category
        if not name.startswith(excluded) and not name.startswith("array.")
    }
    assert expected - set(CALLS) == set(STANDARD_DTYPES)
    assert set(CALLS) <= expected


def test_programs_of_a_seed_are_the_same_each_time() -> None:
    first, second = suite_of(), suite_of()
    for index in range(30):
        assert first.draw(5, index).statements == second.draw(5, index).statements
    assert first.draw(5, 0).statements != first.draw(6, 0).statements


def test_programs_call_all_there_is() -> None:
    suite = suite_of()
    for index in range(3000):
        drawn = suite.draw(1, index)
        if _undefined(drawn):
            continue
        assert suite.check(str(index), drawn.statements, drawn) is None
    methods = {f"{name}()" for name in EXTRAS if name.startswith("x.")}
    expected = {*CALLS, *methods, "x[key]", "x[key] = value", "in-place **", "@", "x.T", "x.mT"}
    assert expected - set(suite.called) == set()


@pytest.mark.parametrize("ours", [True, False], ids=["portarray", "standard"])
def test_ingredients_of_programs(ours: bool) -> None:
    """Programs have every ingredient, and nothing that is undefined or unsupported."""
    rules = ProgramOptions(list(STANDARD_DTYPES), portarray=ours, subnormal=ours)
    machine = NumPyReference(list(STANDARD_DTYPES), DEFAULTS, strict=True).exact
    counts: Counter[str] = Counter()
    patterns = {
        "NaN": r"\bnan\b",
        "infinity": r"\binf\b",
        "minus zero": r"-0\.0\b",
        "subnormal": r"e-324|e-45|e-41",
        "item": r"\w+ = \w+\[\d\]",
        "overlap": r"(\w+)\[.*\] = \1\[.*\]",
        "integer beyond int64": r"2\*\*6[34]|10\*\*30",
    }
    for index in range(400):
        drawn = draw_program(11, index, machine, rules)
        aliases, repeating = Aliases(), set[str]()
        for text, step in zip(drawn.statements, drawn.steps, strict=True):
            parsed = read_statement(text)
            assert not aliases.uses_undetermined(text)
            assert parsed.written not in repeating
            aliases.step(text, step.error is not None)
            copied = "copy=True" in text
            if parsed.function in ("broadcast_to", "broadcast_arrays", "meshgrid") or (
                parsed.shares and not copied and repeating.intersection(parsed.read)
            ):
                repeating.update(parsed.bound)
            read = [step.after[name] for name in parsed.read if name in step.after]
            snap = [step.after[name] for name in parsed.bound if name in step.after]
            counts["statements"] += 1
            counts["errors"] += step.error is not None
            counts.update(key for key, pattern in patterns.items() if re.search(pattern, text))
            counts["two dtypes"] += (
                len({read_snap.type_name for read_snap in read if read_snap.kind == "array"}) > 1
            )
            for value in (read_snap.value for read_snap in snap if read_snap.kind == "array"):
                counts["empty"] += not value.size
                counts["0-d"] += not value.ndim
    least = {
        "NaN": 20, "infinity": 20, "minus zero": 20, "item": 20, "overlap": 3, "empty": 50,
        "0-d": 50, "two dtypes": 40,
    }  # fmt: skip
    assert [key for key, count in least.items() if counts[key] < count] == []
    extras = ("subnormal", "integer beyond int64")
    assert all(bool(counts[key]) == ours for key in extras)
    part = counts["errors"] / counts["statements"]
    assert (0.05 < part < 0.15) if ours else part < 0.03


def wrapped(name: str, change: Callable[[Any, Any], Any]) -> Fault:
    """Return a fault: a function whose result is changed."""

    def fault(xp: Any) -> None:
        *category, last = name.split(".")
        namespace = getattr(xp, category[0]) if category else xp
        right = getattr(namespace, last)

        def wrong(*arguments: Any, **keywords: Any) -> Any:
            return change(xp, right(*arguments, **keywords))

        setattr(namespace, last, wrong)

    return fault


def off(xp: Any, x: Any) -> Any:
    """Return values with a relative error of 1e-5 where the dtype has such digits."""
    return x * x.dtype.type(1 + 1e-5) if x.dtype.name == "float64" else x


def raises_instead(name: str, error: type[Exception]) -> Fault:
    """Return a fault: a function that raises a different class."""

    def fault(xp: Any) -> None:
        right = getattr(xp, name)

        def wrong(*arguments: Any, **keywords: Any) -> Any:
            try:
                return right(*arguments, **keywords)
            except (TypeError, ValueError) as caught:
                raise error(str(caught)) from caught

        setattr(xp, name, wrong)

    return fault


def unsigned_zero(xp: Any, x: Any) -> Any:
    return x + x.dtype.type(0)


def swallowed(xp: Any) -> None:
    right = xp.reshape

    def wrong(x: Any, /, *arguments: Any, **keywords: Any) -> Any:
        try:
            return right(x, *arguments, **keywords)
        except ValueError:
            return x

    xp.reshape = wrong


FAULTS: dict[str, tuple[Fault, str, str]] = {
    "digits": (wrapped("exp", off), "exp", "value"),
    "order": (wrapped("sort", lambda xp, x: xp.flip(x)), "sort", "value"),
    "dtype": (
        wrapped("sum", lambda xp, x: xp.astype(x, xp.int64) if x.dtype.name == "int32" else x),
        "sum",
        "dtype int64 for int32",
    ),
    "shape": (wrapped("stack", lambda xp, x: xp.expand_dims(x, axis=0)), "stack", "shape"),
    "sign of zero": (wrapped("negative", unsigned_zero), "negative", "value: sign of zero"),
    "signs of factors": (
        wrapped("linalg.svd", lambda xp, x: x._replace(U=-x.U)),
        "linalg.svd",
        "U S Vh is not x",
    ),
    "order of eigenvalues": (
        wrapped("linalg.eig", lambda xp, x: x._replace(eigenvectors=xp.flip(x[1], axis=-1))),
        "linalg.eig",
        "x v is not w v",
    ),
    "fields": (wrapped("unique_counts", lambda xp, x: tuple(x)), "unique_counts", "type tuple"),
    "class": (raises_instead("concat", KeyError), "concat", "KeyError for"),
    "no exception": (swallowed, "reshape", "no exception for ValueError"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found_and_shrunk(name: str) -> None:
    fault, function, kind = FAULTS[name]
    suite = suite_of(fault)
    if name == "dtype":
        suite.references = NumPyReference(
            list(STANDARD_DTYPES), DEFAULTS | {"integral": "int32"}, strict=True
        )
        result = NumPyReference(
            list(STANDARD_DTYPES), DEFAULTS | {"integral": "int32"}, strict=True
        )
        fault(result.exact.xp)
        suite.machine = result.exact
    finding = first_finding(suite)
    assert finding.function.startswith(function)
    assert finding.kind.startswith(kind)
    assert len(finding.statements) <= 3
    assert finding.difference is not None
    assert suite.find(finding.statements) is not None


def test_arrays_are_compared_after_a_failed_call(monkeypatch: pytest.MonkeyPatch) -> None:
    target = portarray_target("numpy")
    suite = Programs.on(target)
    right = pa.Array.__setitem__

    def wrong(x: pa.Array, key: Any, value: Any) -> None:
        try:
            right(x, key, value)
        except ValueError:
            right(x, ..., 1)
            raise

    monkeypatch.setattr(pa.Array, "__setitem__", wrong)
    difference = suite.find(("a = xp.asarray([5, 6])", "a[:] = xp.asarray([1, 2, 3])"))
    assert difference is not None
    assert difference.kind == "left behind"


def test_threads_are_compared_with_serial_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    target = portarray_target("numpy")
    assert {result.status for result in run_threads(target, 100, 0, 4)} == {"passed"}
    right = pa.sum

    def wrong(x: pa.Array, /, **keywords: Any) -> pa.Array:
        alone = threading.current_thread() is threading.main_thread()
        return right(x, **keywords) if alone else right(x, **keywords) + 1

    monkeypatch.setattr(pa, "sum", wrong)
    results = run_threads(target, 100, 0, 4)
    assert {result.function for result in results} <= {"sum", "x.sum()"}
    assert all(result.aspect.startswith("threads: ") for result in results)


@pytest.mark.parametrize(("name", "program"), list(corpus(portarray=True)))
def test_the_reference_runs_the_corpus(name: str, program: tuple[str, ...]) -> None:
    dtypes = [*STANDARD_DTYPES, "float16"]
    for step in NumPyReference(dtypes, DEFAULTS, strict=True).exact.trace(program):
        assert step.error is None or step.error.name not in ("NameError", "SyntaxError")


def test_programs_of_the_corpus(device: str) -> None:
    target = portarray_target(device)
    with warnings.catch_warnings(), target.scope():
        warnings.simplefilter("ignore")  # NumPy's, of what overflows
        suite = Programs.on(target)
        for name, program in corpus(portarray=True, dtypes=suite.options.dtypes):
            assert suite.find(program) is None, name


def test_drawn_programs(device: str) -> None:
    count = 30 if device.startswith(COMPILING) else 300
    results = run_programs(portarray_target(device), count, seed=1)
    assert [f"{result.example}\n{result.message}" for result in results if result.bad] == []


def test_drawn_programs_of_another_namespace(strict: Target) -> None:
    results = run_programs(strict, 100, seed=0)
    # The first two refuse more than the standard asks for; the signs of complex infinities are
    # NumPy's NaN: https://github.com/data-apis/array-api-strict/blob/main/array_api_strict
    allowed = ("clip", "isin", "sign")
    failures = [result for result in results if result.bad and result.function not in allowed]
    assert [f"{result.example}\n{result.message}" for result in failures] == []


def run(*arguments: str) -> Any:
    return CliRunner().invoke(conformance, ["run", "--suite", "programs", *arguments])


def test_one_program_is_shown_with_both_values() -> None:
    result = run("--device", "numpy", "--seed", "3", "--only", "4")
    assert re.search(r"program 3:4 on numpy:cpu:0", result.output)
    assert result.exit_code == int("got " in result.output)


@pytest.mark.parametrize("option", ["--programs", "--only", "--threads"])
def test_options_of_programs_need_the_suite(option: str) -> None:
    result = CliRunner().invoke(conformance, ["run", option, "2"])
    assert result.exit_code == 2
    assert "need" in result.output
    assert "--suite programs" in result.output

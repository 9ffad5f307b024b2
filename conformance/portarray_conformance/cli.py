"""The command ``portarray conformance``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NoReturn

import click
from platformdirs import user_cache_path
from rich.console import Console

from portarray_conformance.cases import Case
from portarray_conformance.expected import (
    ExpectedFailure,
    ExpectedFailureError,
    read_expected,
    stale_rows,
)
from portarray_conformance.official import run_official
from portarray_conformance.official_suite import OfficialSuite, OfficialSuiteError, find_suite
from portarray_conformance.programs import (
    PROGRAMS,
    run_compiled,
    run_programs,
    run_threads,
    show_program,
)
from portarray_conformance.progress import BarWatch, PlainWatch, Watch, watch
from portarray_conformance.report import (
    Report,
    TargetReport,
    as_csv,
    as_json,
    failure_texts,
    summary_table,
    write_html,
    write_json,
)
from portarray_conformance.report.json_ import versions
from portarray_conformance.run import COMPILED_EXAMPLES, EXAMPLES, QUICK_EXAMPLES, Result, run
from portarray_conformance.suite import all_cases
from portarray_conformance.target import Target, module_target, portarray_target

__all__ = ["conformance"]

# Width where output is not a terminal: wider than any row.
WIDE = 10_000
# For the gradient suite, which needs portarray and is imported only on demand.
GRADIENT_PROGRAMS = 100
# Failures printed in full at the end; the report contains all of them.
MOST_FAILURES = 40


class _CannotRunError(click.ClickException):
    """Nothing could be tested; exit status 1 means that a test failed."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class _Plan:
    """The steps of a run, the same for each target."""

    cases: list[Case]
    official: OfficialSuite | None
    functions: list[str] | None
    examples: int | None
    seed: int
    quick: bool
    expected: list[ExpectedFailure]
    programs: int = 0
    threads: int = 1
    compiled: bool = False
    gradients: bool = False
    default_device: str = ""


@click.group()
def conformance() -> None:
    """Check that array libraries follow the Python array API standard.

    The suite draws inputs for every name of the standard 2025.12, special values included, and
    compares the answers with an independent reference. It tests portarray on the devices of this
    machine, or any other namespace that follows the standard.
    """


@conformance.command("run")
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="DEVICE",
    help="A portarray device, such as cuda or torch:cpu; may be repeated. "
    "Default: every functional device of this machine.",
)
@click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="NAME",
    help="Any importable Array API namespace instead, such as array_api_strict, "
    "array_api_compat.torch or a module in this folder; may be repeated.",
)
@click.option(
    "--suite",
    type=click.Choice(["ours", "official", "programs", "gradients"]),
    default="ours",
    show_default=True,
    help="ours: installed with this command, works offline. official: data-apis/array-api-tests "
    "at its pinned revision. programs: several calls one after another, drawn at random. "
    "gradients: portarray's derivatives of each function, and of drawn programs.",
)
@click.option(
    "--suite-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="A clone of the official suite. Default: the user cache; git clones into it once.",
)
@click.option(
    "--functions",
    metavar="A,B",
    help="Only these, by their names in the standard: sin,linalg.svd,array.__getitem__. "
    "With --suite official also names of tests, such as test_svd.",
)
@click.option(
    "--default-device",
    metavar="DEVICE",
    help="With --suite official: portarray's default device, another than those tested. The "
    "namespace under test is then x.__array_namespace__() of an array x of the tested device.",
)
@click.option(
    "--examples",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Inputs drawn for each case.  [default: {EXAMPLES}, or {QUICK_EXAMPLES} with --quick, "
    f"{COMPILED_EXAMPLES['jax']} on JAX]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="S",
    help="The same seed draws the same inputs.",
)
@click.option(
    "--programs",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Programs drawn for each target, with --suite programs or gradients.  "
    f"[default: {PROGRAMS}, or {GRADIENT_PROGRAMS} of gradients]",
)
@click.option(
    "--only",
    type=click.IntRange(min=0),
    metavar="I",
    help="With --suite programs: run program number I of the seed alone, and print it statement by "
    "statement with the target's and the reference's values.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=2),
    metavar="T",
    help="With --suite programs: run them from T threads at once and compare with serial runs.",
)
@click.option(
    "--compiled",
    is_flag=True,
    help="With --suite programs: compare functions compiled by pa.compile with the functions.",
)
@click.option(
    "--quick", is_flag=True, help="Few inputs, and little time spent on simplifying failing ones."
)
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Targets that run at the same time, each in a separate process.  [default: 1]",
)
@click.option(
    "--report",
    "folder",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    metavar="DIR",
    help="Write conformance.json and conformance.html (one page, no network needed) there.",
)
@click.option(
    "--expected",
    "expected_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Your library's known failures, TOML tables [[expected]] with the keys function, aspect, "
    "target, reason, link. Each must fail: one that passes fails the run.",
)
@click.option("--json", "form", flag_value="json", help="Print the report as JSON instead.")
@click.option("--csv", "form", flag_value="csv", help="Print the results as CSV instead.")
def run_command(
    devices: Sequence[str],
    modules: Sequence[str],
    suite: str,
    suite_dir: Path | None,
    functions: str | None,
    default_device: str | None,
    examples: int | None,
    seed: int,
    programs: int | None,
    only: int | None,
    threads: int | None,
    compiled: bool,
    quick: bool,
    processes: int,
    folder: Path | None,
    expected_file: Path | None,
    form: str | None,
) -> None:
    """Run the conformance suite and report the results.

    \b
    Examples:
      portarray conformance run --quick
      portarray conformance run --device torch:cpu --functions sin,linalg.svd
      portarray conformance run --module array_api_strict --report report
      portarray conformance run --suite official --examples 200 --seed 1
      portarray conformance run --suite programs --programs 10000 --device torch
      portarray conformance run --suite programs --seed 3 --only 17 --device torch
      portarray conformance run --suite programs --compiled --programs 1000 --device torch
      portarray conformance run --suite gradients --examples 20 --seed 1 --device torch

    \b
    Exit status:
      0  everything passed, or failed as listed with a reason
      1  something failed, a listed failure passed, or nothing could be checked
      2  the options are wrong, or the official suite is not available
    """  # noqa: D301 - click reads a real backspace as "keep these lines"
    # Hypothesis stores data on the code under test, which does not belong in the working folder.
    notes = user_cache_path("portarray") / "conformance" / "hypothesis"
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(notes))
    if suite_dir is not None and suite != "official":
        raise click.UsageError("--suite-dir is the official suite's: add --suite official.")
    if default_device is not None and (suite != "official" or modules):
        raise click.UsageError("--default-device needs --suite official, and no --module.")
    if suite != "programs" and (not only is threads is None or compiled):
        raise click.UsageError("--only, --threads and --compiled need --suite programs.")
    if compiled and not only is threads is None:
        raise click.UsageError("--compiled goes with neither --only nor --threads.")
    if compiled and modules:
        raise click.UsageError(
            "--compiled tests portarray's own compiler: name a --device, not a --module."
        )
    if suite not in ("programs", "gradients") and programs is not None:
        raise click.UsageError("--programs needs --suite programs or --suite gradients.")
    if suite == "gradients" and modules:
        raise click.UsageError(
            "--suite gradients tests portarray's own derivatives: name a --device, not a --module."
        )
    if only is not None and form is not None:
        raise click.UsageError(f"--only prints a program as text: leave --{form} out.")
    names = None if functions is None else _names(functions)
    targets = _targets(devices, modules)
    if only is not None:
        agreed = [show_program(target, seed, only) for target in targets]
        raise SystemExit(0 if all(agreed) else 1)
    drawn = examples or (QUICK_EXAMPLES if quick else EXAMPLES)
    plan = _Plan(
        cases=_cases(names) if suite == "ours" else [],
        official=_official(suite_dir) if suite == "official" else None,
        functions=names,
        examples=examples if quick and suite == "ours" else drawn,
        seed=seed,
        quick=quick,
        expected=_expected(expected_file, suite),
        programs=_programs(suite, programs, names),
        threads=threads or 1,
        compiled=compiled,
        gradients=suite == "gradients",
        default_device=_default_device(default_device),
    )
    if plan.gradients:
        _gradient_cases(names)  # refuses unknown functions before the run
    if folder is not None:
        _make_folder(folder)
    report = Report(
        suite=suite,
        seed=seed,
        examples=drawn if plan.gradients else plan.programs or drawn,
        targets=[],
        versions=versions(targets),
        warnings=list(plan.official.warnings) if plan.official else [],
    )
    for warning in report.warnings:
        click.echo(f"Warning: {warning}", err=True)
    with watch(Console(stderr=True)) as view:
        if processes == 1:
            report.targets.extend(_run(plan, target, view) for target in targets)
        else:
            reports = _run_at_once(plan, targets, processes, view)
            report.targets.extend(reports[target.label] for target in targets)
    if not devices and not modules:
        report.targets.extend(_absent_devices())
    if folder is not None:
        write_json(report, folder / "conformance.json")
        write_html(report, folder / "conformance.html")
    try:
        _print(report, form, folder)
    except BrokenPipeError:  # the reader, such as head, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if report.bad or not any(_ran(target) for target in report.targets):
        raise SystemExit(1)


def _default_device(name: str | None) -> str:
    """Return the text of the default device for the official suite, "" without the option."""
    if name is None:
        return ""
    try:
        return str(portarray_target(name).device)
    except (ImportError, TypeError, ValueError, RuntimeError) as error:
        raise click.BadParameter(str(error), param_hint="--default-device") from error


def _programs(suite: str, requested: int | None, names: list[str] | None) -> int:
    """Return how many programs are drawn for each target."""
    if suite == "programs":
        return requested or PROGRAMS
    if suite == "gradients" and names is None:
        return requested or GRADIENT_PROGRAMS
    return requested or 0


def _gradient_cases(names: list[str] | None) -> list[Any]:
    # Only here: other namespaces are tested without portarray.
    from portarray_conformance.gradients import cases_of

    try:
        return list(cases_of(names))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--functions") from error


def _run_gradients(plan: _Plan, target: Target, view: Watch) -> list[Result]:
    """Run the suite of gradients on one device."""
    from portarray_conformance import gradients  # only here, as above

    cases = _gradient_cases(plan.functions)
    view.start_target(target.label, sum(2 if case.twice else 1 for case in cases) + plan.programs)
    results = gradients.run_cases(
        target,
        cases,
        examples=plan.examples or EXAMPLES,
        seed=plan.seed,
        on_start=view.start,
        on_result=view.result,
    )
    return results + gradients.run_programs(target, plan.programs, plan.seed, on_result=view.result)


def _names(functions: str) -> list[str]:
    names = [name.strip() for name in functions.split(",") if name.strip()]
    if not names:
        raise click.BadParameter("it names no function", param_hint="--functions")
    return names


def _cases(names: list[str] | None) -> list[Case]:
    try:
        return all_cases(names)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--functions") from error


def _official(folder: Path | None) -> OfficialSuite:
    try:
        return find_suite(folder)
    except OfficialSuiteError as error:
        raise _CannotRunError(str(error)) from error


def _expected(path: Path | None, suite: str) -> list[ExpectedFailure]:
    try:
        rows = read_expected() + ([] if path is None else read_expected(path))
    except ExpectedFailureError as error:
        raise click.BadParameter(str(error), param_hint="--expected") from error
    if suite == "ours":
        cases = [(case.function, case.aspect) for case in all_cases()]
        for row in stale_rows(rows, suite, cases):
            raise click.BadParameter(
                f"no case is called {row.function} ({row.aspect}): correct or remove its row",
                param_hint="--expected",
            )
    return rows


def _targets(devices: Sequence[str], modules: Sequence[str]) -> list[Target]:
    """Return the requested targets, each once; by default every functional device."""
    makers: list[tuple[str, str, Callable[[str], Target]]] = [
        *(("--device", device, portarray_target) for device in devices),
        *(("--module", module, module_target) for module in modules),
    ]
    if not makers:
        makers = [("--device", device, portarray_target) for device in _functional_devices()]
    if modules and "" not in sys.path and os.getcwd() not in sys.path:
        # A console script does not search the working folder for the user's module.
        sys.path.insert(0, os.getcwd())
    targets: dict[str, Target] = {}
    for option, name, make in makers:
        try:
            target = make(name)
        except (ImportError, TypeError, ValueError, RuntimeError) as error:
            raise click.BadParameter(str(error), param_hint=option) from error
        targets[target.label] = target
    return list(targets.values())


def _functional_devices() -> Iterator[str]:
    try:
        import portarray as pa  # only here: other namespaces are tested without it
    except ImportError as error:
        raise click.UsageError(
            f"portarray cannot be imported ({error}): install it, or name another namespace with "
            "--module."
        ) from error
    return (str(device) for device in pa.devices())


def _absent_devices() -> list[TargetReport]:
    """Return the devices that portarray supports and this machine lacks."""
    import portarray as pa

    libraries = pa.summary().as_dict()["libraries"]
    return [
        TargetReport(label, reason=reason)
        for library in libraries
        for label, reason in library["reasons"].items()
    ]


def _make_folder(folder: Path) -> None:
    # Before the run, so that results are not lost if the folder cannot be created.
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.BadParameter(
            f"cannot create {folder}: {error.strerror}", param_hint="--report"
        ) from error


def _run(plan: _Plan, target: Target, view: Watch) -> TargetReport:
    began = time.perf_counter()
    results: list[Result]
    if plan.gradients:
        results = _run_gradients(plan, target, view)
    elif plan.programs:
        view.start_target(target.label, plan.programs)
        if plan.compiled:
            results = run_compiled(target, plan.programs, plan.seed, on_result=view.result)
        elif plan.threads > 1:
            results = run_threads(
                target, plan.programs, plan.seed, plan.threads, on_result=view.result
            )
        else:
            results = run_programs(target, plan.programs, plan.seed, on_result=view.result)
    elif plan.official is None:
        view.start_target(target.label, len(plan.cases))
        results = run(
            target,
            plan.cases,
            examples=plan.examples,
            seed=plan.seed,
            quick=plan.quick,
            expected=plan.expected,
            on_start=lambda case: view.start(f"{case.function} ({case.aspect})"),
            on_result=view.result,
        )
    else:
        try:
            results = run_official(
                plan.official,
                target,
                examples=plan.examples,
                seed=plan.seed,
                functions=plan.functions,
                default_device=plan.default_device,
                expected=plan.expected,
                on_collected=lambda count: view.start_target(target.label, count),
                on_start=lambda test: view.start(test.split("::", 1)[-1][:60]),
                on_result=view.result,
            )
        except OfficialSuiteError as error:
            raise _CannotRunError(str(error)) from error
    return TargetReport(target.label, results, time.perf_counter() - began)


def _run_at_once(
    plan: _Plan, targets: list[Target], processes: int, view: Watch
) -> dict[str, TargetReport]:
    """Run targets in separate processes; return their reports by label."""
    reports = {}
    sent = replace(plan, cases=[])  # functions of the suite's modules: each process finds them
    if isinstance(view, BarWatch):  # otherwise each process prints what it starts
        view.start_target("targets", len(targets))
    # Library state, threads above all, does not survive a fork.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        # Those that compile take longest.
        ordered = sorted(targets, key=lambda target: target.library not in COMPILED_EXAMPLES)
        done = [pool.submit(_run_alone, sent, target.label) for target in ordered]
        for future in as_completed(done):
            report = future.result()
            reports[report.label] = report
            view.advance(sum(result.bad for result in report.results))
    return reports


def _run_alone(plan: _Plan, label: str) -> TargetReport:
    """Run one target in this process without a progress bar."""
    module = label.removeprefix("module ")
    target = portarray_target(label) if module == label else module_target(module)
    needs_no_cases = plan.official or plan.programs or plan.gradients
    cases = [] if needs_no_cases else _cases(plan.functions)
    return _run(replace(plan, cases=cases), target, PlainWatch())


def _ran(target: TargetReport) -> bool:
    return any(result.status != "not run" for result in target.results)


class _Console(Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def _print(report: Report, form: str | None, folder: Path | None) -> None:
    """Print the report to standard output, which may be a pipe that its reader closes."""
    if form == "json":
        click.echo(as_json(report), nl=False)
    elif form == "csv":
        click.echo(as_csv(report), nl=False)
    else:
        _print_tables(report)
        if folder is not None:
            click.echo(
                f"Report: {folder / 'conformance.html'} and conformance.json in the same folder"
            )


def _print_tables(report: Report) -> None:
    """Print the tables, the failures and the verdict."""
    console = _Console(highlight=False)
    if not console.file.isatty() and not os.environ.get("COLUMNS"):
        console = _Console(highlight=False, width=WIDE)
    tested = [target for target in report.targets if not target.reason]
    for target in tested:
        click.echo()
        console.print(summary_table(target))
    failures = list(failure_texts(report))
    for text in failures[:MOST_FAILURES]:
        click.echo()
        head, _, body = text.partition("\n")
        click.echo(click.style(head, fg="red", bold=True))
        click.echo(body)
    if len(failures) > MOST_FAILURES:
        click.echo(f"\n... and {len(failures) - MOST_FAILURES} more; --report DIR shows them all.")
    click.echo()
    for target in tested:
        counts = ", ".join(f"{n} {status}" for status, n in target.totals().items() if n)
        verdict = "FAILED" if any(result.bad for result in target.results) else "ok"
        if not _ran(target):
            verdict = "NOTHING WAS RUN"
        click.echo(f"{target.label}: {verdict} ({counts or 'no cases'})")
    missing = [target.label for target in report.targets if target.reason]
    if missing:
        click.echo(f"Not run, because this machine lacks them: {', '.join(missing)}")

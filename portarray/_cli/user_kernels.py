"""``portarray verify --kernels``: user kernels compared with the interpreter."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from portarray._cli.output import Form, show
from portarray._devices.device import Device
from portarray._kernel_language.kernel import KernelFunction
from portarray._movement.progress import Bar
from portarray.errors import DTypeNotSupportedError, KernelVerificationError, PortarrayError

EXAMPLES = "kernel_examples"
TOLERANCE = 16.0


@dataclass
class Comparison:
    """One call of a kernel on a device."""

    device: str
    kernel: str
    differences: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    skipped: str = ""


def verify_file(path: Path, devices: Iterable[Device], tolerance: float | None, form: Form) -> bool:
    """Compare the kernels of a file on devices; return whether all are correct."""
    module = _import(path)
    examples = getattr(module, EXAMPLES, None)
    if not callable(examples):
        raise click.UsageError(
            f"--kernels: {path} does not define {EXAMPLES}()\n"
            "Hint: define it to return a list of calls: [functools.partial(saxpy, y, 2.0, x)]"
        )
    allowed = TOLERANCE if tolerance is None else tolerance
    results: list[Comparison] = []
    for device in devices:
        results += _compare(device, examples, allowed)
    document = [asdict(result) for result in results]
    show(
        form,
        document=document,
        columns=[column.name for column in fields(Comparison)],
        rows=document,
        text=lambda console: _show(results, allowed, console),
    )
    if not any(result.differences or result.problem for result in results):
        raise click.UsageError(f"--kernels: no kernel of {path} runs on these devices")
    return not any(result.problem for result in results)


def _import(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"--kernels: not a Python file: {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and pickle need it
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return module


def _compare(device: Device, examples: Any, tolerance: float) -> list[Comparison]:
    results = []
    with device, Bar(f"verifying {device}") as bar:
        try:
            calls = list(examples())
        except DTypeNotSupportedError as error:
            return [Comparison(str(device), "", skipped=str(error))]
        for index, call in enumerate(calls):
            bar.update(index, len(calls))
            kernel = getattr(call, "func", None)
            if not (isinstance(call, functools.partial) and isinstance(kernel, KernelFunction)):
                raise click.UsageError(
                    f"--kernels: {EXAMPLES}() returned {call!r}\n"
                    "Hint: return a list of functools.partial(kernel, ...)"
                )
            result = Comparison(str(device), kernel.__name__)
            try:
                result.differences = kernel.verify(*call.args, **call.keywords, tolerance=tolerance)
            except KernelVerificationError as error:
                result.differences, result.problem = error.differences, str(error)
            except NotImplementedError as error:  # the device does not run kernels
                result.skipped = str(error)
            except (PortarrayError, TypeError, ValueError) as error:
                result.problem = f"{type(error).__name__}: {error}"
            results.append(result)
    return results


def _show(results: list[Comparison], tolerance: float, console: Console) -> None:
    title = f"Largest differences in ULP ({tolerance:g} allowed)"
    table = Table("device", "kernel", "written arrays", title=title, title_justify="left")
    table.columns[0].no_wrap = True
    table.columns[2].overflow = "fold"
    for result in results:
        text = ", ".join(f"{name}: {ulp:g}" for name, ulp in result.differences.items())
        text = escape(text or result.skipped or "error")
        color = "red" if result.problem else "yellow" if result.skipped else "green"
        table.add_row(result.device, result.kernel, f"[{color}]{text}")
    console.print(table)
    for result in results:
        if result.problem:
            console.print(f"[red]{escape(f'{result.kernel} on {result.device}: {result.problem}')}")

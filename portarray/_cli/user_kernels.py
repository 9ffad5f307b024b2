"""``portarray verify --kernels``: the kernels of a file, compared with the interpreter."""

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
class Compared:
    """One call of a kernel on a device."""

    device: str
    kernel: str
    differences: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    skipped: str = ""


def verify_file(path: Path, devices: Iterable[Device], tolerance: float | None, form: Form) -> bool:
    """Compare the kernels of a file on devices, show the differences; tell if all are right."""
    module = _imported(path)
    examples = getattr(module, EXAMPLES, None)
    if not callable(examples):
        raise click.UsageError(
            f"{path} has no function {EXAMPLES}(); it returns a list of calls, such as "
            f"functools.partial(saxpy, y, 2.0, x)"
        )
    allowed = TOLERANCE if tolerance is None else tolerance
    found: list[Compared] = []
    for device in devices:
        found += _on(device, examples, allowed)
    document = [asdict(one) for one in found]
    show(
        form,
        document=document,
        columns=[column.name for column in fields(Compared)],
        rows=document,
        text=lambda out: _show(found, allowed, out),
    )
    if not any(one.differences for one in found) and not any(one.problem for one in found):
        raise click.UsageError(f"no kernel of {path} runs on these devices")
    return not any(one.problem for one in found)


def _imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # as dataclasses and pickle of the file's own need it
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return module


def _on(device: Device, examples: Any, tolerance: float) -> list[Compared]:
    """Return what the calls gave with arrays on a device."""
    out = []
    with device, Bar(f"verifying {device}") as bar:
        try:
            calls = list(examples())
        except DTypeNotSupportedError as error:
            return [Compared(str(device), "", skipped=str(error))]
        for number, call in enumerate(calls):
            bar.update(number, len(calls))
            kernel = getattr(call, "func", None)
            if not (isinstance(call, functools.partial) and isinstance(kernel, KernelFunction)):
                raise click.UsageError(
                    f"{EXAMPLES}() has {call!r}; its items are functools.partial(kernel, ...)"
                )
            one = Compared(str(device), kernel.__name__)
            try:
                one.differences = kernel.verify(*call.args, **call.keywords, tolerance=tolerance)
            except KernelVerificationError as error:
                one.differences, one.problem = error.differences, str(error)
            except NotImplementedError as error:  # no programs run on the device
                one.skipped = str(error)
            except (PortarrayError, TypeError, ValueError) as error:
                one.problem = f"{type(error).__name__}: {error}"
            out.append(one)
    return out


def _show(found: list[Compared], tolerance: float, out: Console) -> None:
    table = Table(
        title=f"Largest differences in ULP, of {tolerance:g} allowed", title_justify="left"
    )
    table.add_column("device", no_wrap=True)
    table.add_column("kernel")
    table.add_column("written arrays", overflow="fold")
    for one in found:
        told = ", ".join(f"{name}: {ulp:g}" for name, ulp in one.differences.items())
        color = "red" if one.problem else "yellow" if one.skipped else "green"
        table.add_row(one.device, one.kernel, f"[{color}]{escape(told or one.skipped or 'error')}")
    out.print(table)
    for one in found:
        if one.problem:
            out.print(f"[red]{escape(f'{one.kernel} on {one.device}: {one.problem}')}")

"""``portarray doctor``."""

from __future__ import annotations

import platform
import shutil
import time
from importlib.metadata import PackageNotFoundError, version
from inspect import isfunction, unwrap
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import portarray as pa
from portarray._cli.output import Form, format_size, forms, show
from portarray._devices import discovery, probe, selection
from portarray._devices.summary import Summary, summary
from portarray._movement.progress import Bar
from portarray._opencl.folders import cache_folder
from portarray.backends import registry

PACKAGES = (
    *("opt_einsum", "platformdirs", "optree", "click", "rich", "safetensors"),
    *("scipy", "dask", "distributed", "pyopencl", "cffi", "matplotlib", "pytest"),
)
SECONDS = 5.0  # for the measurement of all devices
SIDE = 1024  # rows and columns of the matrices
MIN_FREE_BYTES = 500_000_000  # enough for the compiled kernels of a large library

COLUMNS = ("about", "what", "found", "mend")


Finding = dict[str, str]  # a library or device that does not work: "what", "why" and "mend"


@click.command()
@click.option("--fast", is_flag=True, help="Start no processes and measure nothing.")
@forms
@click.pass_context
def doctor(context: click.Context, fast: bool, form: Form) -> None:
    """Report what is installed, what is broken and how to fix it, and which device is fastest.

    Each library is imported in a separate process, so that crashes and hangs are detected. The exit
    status is 1 if an installed library is broken.
    """
    with Bar("importing each library") as bar:
        broken = [] if fast else _broken(bar)
    devices = summary()
    unusable = _unusable(devices, {finding["what"] for finding in broken})
    document: dict[str, Any] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "portarray": pa.__version__,
        "calls": "Python" if isfunction(unwrap(pa.Array.__getitem__)) else "compiled",
        "packages": _packages(devices),
        "broken": broken,
        "refused": unusable,
        "devices": [str(device) for device in selection.devices()],
        "speeds": [] if fast else _speeds(),
        "cache": {"path": str(cache_folder("")), "free_bytes": _free_bytes()},
    }
    show(
        form,
        document=document,
        columns=COLUMNS,
        rows=_rows(document),
        text=lambda console: _show(document, str(devices.recommended), console),
    )
    if broken:
        context.exit(1)


def _rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each entry of the document with its key."""
    rows = [(key, key, document[key], "") for key in ("python", "system", "portarray", "calls")]
    rows += [("packages", name, release, "") for name, release in document["packages"].items()]
    for key in ("broken", "refused"):
        rows += [(key, *finding.values()) for finding in document[key]]
    rows += [("devices", name, "", "") for name in document["devices"]]
    for speed in document["speeds"]:
        rows.append(("speeds", speed["device"], speed["problem"] or speed["gigaflops"], ""))
    rows.append(("cache", *document["cache"].values(), ""))
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _broken(bar: Bar) -> list[Finding]:
    """Return the installed libraries that cannot be imported in a separate process."""
    infos = [registry.find_info(name) for name in selection.supported_backends()]
    installed = [info for info in infos if info is not None and discovery.is_installed(info)]
    findings = []
    for index, info in enumerate(installed, 1):
        reason = probe.in_child(info.library, "", 0, "load")
        if reason:
            fix = f"reinstall it: {discovery.install_command(info)}"
            findings.append({"what": info.library, "why": reason, "mend": fix})
            discovery.refuse(info.library, reason)  # importing it might end this process, too
        bar.update(index, len(installed))
    return findings


def _unusable(devices: Summary, broken: set[str]) -> list[Finding]:
    findings = []
    for status in devices.libraries:
        if status.info.library in broken:
            continue
        names_by_reason: dict[str, list[str]] = {}
        for name, reason in status.reasons.items():
            names_by_reason.setdefault(reason, []).append(name)
        for reason, names in names_by_reason.items():
            # The reason contains the command, too, so that all of these platforms share it.
            where = names[0].partition(":")[2]
            fix = "" if status.installed else discovery.install_command(status.info, where)
            findings.append({"what": ", ".join(names), "why": reason, "mend": fix})
    for name, reason in devices.plugin_errors.items():
        findings.append({"what": name, "why": reason, "mend": ""})
    return findings


def _speeds() -> list[dict[str, Any]]:
    """Return how fast each functional device multiplies, the fastest first."""
    devices = selection.devices()
    speeds = []
    with Bar("measuring devices") as bar:
        for index, device in enumerate(devices, 1):
            gigaflops, problem = _speed(device, SECONDS / len(devices))
            speeds.append({"device": str(device), "gigaflops": gigaflops, "problem": problem})
            bar.update(index, len(devices))
    return sorted(speeds, key=lambda speed: -(speed["gigaflops"] or 0))


def _speed(device: pa.Device, seconds: float) -> tuple[float | None, str]:
    """Return Gflop/s of a product of float32 matrices, or the reason why there are none."""
    end = time.perf_counter() + seconds
    best = float("inf")
    compiled = False
    try:
        x = pa.ones((SIDE, SIDE), dtype=pa.float32, device=device)
        while not compiled or time.perf_counter() < end:
            pa.synchronize(device)
            start = time.perf_counter()
            float(pa.matmul(x, x)[0, 0])  # lazy libraries compute what is read
            pa.synchronize(device)
            if compiled:
                best = min(best, time.perf_counter() - start)
            compiled = True
        if best == float("inf"):
            return None, f"one product took more than {seconds:.2g} s"
    except Exception as error:  # noqa: BLE001  (libraries may raise anything; it is reported)
        return None, probe.reason_of(error)
    return 2 * SIDE**3 / best / 1e9, ""


def _free_bytes() -> int | None:
    """Return the free bytes on the cache's disk."""
    folder = Path(cache_folder("")).absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _packages(devices: Summary) -> dict[str, str]:
    """Return the installed versions of array libraries and dependencies."""
    versions = {status.info.title: status.version for status in devices.libraries if status.version}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _show(document: dict[str, Any], recommended: str, console: Console) -> None:
    packages = ", ".join(f"{name} {release}" for name, release in document["packages"].items())
    release = f"portarray {pa.__version__} (calls: {document['calls']})"
    for line in (f"{release}, Python {document['python']}", document["system"]):
        console.print(line, highlight=False)
    console.print(packages, highlight=False)
    for title, color, key in (("Broken", "red", "broken"), ("Not usable", "yellow", "refused")):
        if document[key]:
            table = Table("what", "why", "how to fix it", title=title, title_justify="left")
            for name, *details in map(dict.values, document[key]):
                table.add_row(f"[{color}]{escape(name)}", *map(escape, details))
            console.print(table)
    if document["speeds"]:
        table = Table("device", "float32 product", title="Usable", title_justify="left")
        table.columns[1].justify = "right"
        for device, gigaflops, problem in map(dict.values, document["speeds"]):
            table.add_row(device, f"{gigaflops:.0f} Gflop/s" if gigaflops else escape(problem))
        console.print(table)
    console.print(f"Recommended: {recommended}", highlight=False)
    path, free = document["cache"].values()
    warning = ""
    if free is not None and free < MIN_FREE_BYTES:
        warning = ": little space; see portarray cache --clear"
    size = "unknown" if free is None else format_size(free)
    text = f"Free for cached programs ({escape(path)}): {size}{warning}"
    console.print(text, highlight=False, soft_wrap=True)

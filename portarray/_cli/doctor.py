"""``portarray doctor``."""

from __future__ import annotations

import platform
import shutil
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import portarray as pa
from portarray._cli.output import Form, forms, show, size
from portarray._devices import discovery, probe, selection
from portarray._devices.summary import Summary, summary
from portarray._movement.progress import Bar
from portarray._opencl.folders import cache_folder
from portarray.backends import registry

PACKAGES = (
    *("array-api-compat", "platformdirs", "optree", "click", "rich", "safetensors"),
    *("scipy", "dask", "distributed", "pyopencl", "cffi", "matplotlib", "pytest"),
)
SECONDS = 5.0
"""How long all devices together are measured."""
SIDE = 1024
"""Rows and columns of the matrices that are multiplied."""
SMALLEST = 500_000_000
"""Bytes that should be free where programs are kept: those of a large library's kernels."""


COLUMNS = ("about", "what", "found", "mend")


class Finding(NamedTuple):
    """Something that does not work, and what would make it."""

    what: str
    why: str
    mend: str


class Speed(NamedTuple):
    """How fast a device multiplies two matrices of float32."""

    device: str
    gigaflops: float | None
    problem: str


@click.command()
@click.option("--fast", is_flag=True, help="Measure nothing and start no processes.")
@forms
@click.pass_context
def doctor(context: click.Context, fast: bool, form: Form) -> None:
    """Say what is installed here, what does not work and what would make it, and what is fastest.

    Each library is imported in a process of its own, so that one that crashes or hangs is found.
    The exit status is 1 if one that is installed is broken.
    """
    with Bar("importing each library") as bar:
        broken = [] if fast else _broken(bar)
    found = summary()
    refused = _refused(found, {one.what for one in broken})
    speeds = [] if fast else _speeds()
    free = _free()
    document: dict[str, Any] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "portarray": pa.__version__,
        "packages": _packages(found),
        "broken": [one._asdict() for one in broken],
        "refused": [one._asdict() for one in refused],
        "devices": [str(device) for device in selection.devices()],
        "speeds": [one._asdict() for one in speeds],
        "cache": {"path": str(cache_folder("")), "free_bytes": free},
    }
    show(
        form,
        document=document,
        columns=COLUMNS,
        rows=_rows(document),
        text=lambda out: _show(found, broken, refused, speeds, free, out),
    )
    if broken:
        context.exit(1)


def _rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each thing that the report says, with the key of the report that it stands under."""
    kept = document["cache"]
    rows = [(about, about, document[about], "") for about in ("python", "system", "portarray")]
    rows += [("packages", name, number, "") for name, number in document["packages"].items()]
    for about in ("broken", "refused"):
        rows += [(about, one["what"], one["why"], one["mend"]) for one in document[about]]
    rows += [("devices", name, "", "") for name in document["devices"]]
    for one in document["speeds"]:
        rows.append(("speeds", one["device"], one["problem"] or one["gigaflops"], ""))
    rows.append(("cache", kept["path"], kept["free_bytes"], ""))
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


def _broken(bar: Bar) -> list[Finding]:
    """Return the installed libraries that cannot be imported in a process of their own."""
    infos = [registry.find_info(name) for name in selection.supported_backends()]
    installed = [info for info in infos if info is not None and discovery.is_installed(info)]
    found = []
    for number, info in enumerate(installed, 1):
        reason = probe.in_child(info.library, "", 0, "load")
        if reason:
            mend = f"reinstall it: {discovery.install_command(info)}"
            found.append(Finding(info.library, reason, mend))
            discovery.refuse(info.library, reason)  # it might end this process, too
        bar.update(number, len(installed))
    return found


def _refused(found: Summary, broken: set[str]) -> list[Finding]:
    """Return what cannot be used, with what would make it usable."""
    rows = []
    for status in found.libraries:
        if status.info.library in broken:
            continue
        grouped: dict[str, list[str]] = {}
        for name, reason in status.reasons.items():
            grouped.setdefault(reason, []).append(name)
        for reason, names in grouped.items():
            mend = "" if status.installed else discovery.install_command(status.info)
            rows.append(Finding(", ".join(names), reason, mend))
    rows += [Finding(name, why, "") for name, why in found.plugin_errors.items()]
    return rows


def _speeds() -> list[Speed]:
    """Return how fast each functional device multiplies, the fastest first."""
    devices = selection.devices()
    rows = []
    with Bar("measuring devices") as bar:
        for number, device in enumerate(devices, 1):
            rows.append(_speed(device, SECONDS / len(devices)))
            bar.update(number, len(devices))
    return sorted(rows, key=lambda row: -(row.gigaflops or 0))


def _speed(device: pa.Device, seconds: float) -> Speed:
    end = time.perf_counter() + seconds
    try:
        x = pa.ones((SIDE, SIDE), dtype=pa.float32, device=device)
        best = float("inf")
        first = True
        while first or time.perf_counter() < end:
            pa.synchronize(device)
            begin = time.perf_counter()
            y = pa.matmul(x, x)
            float(y[0, 0])  # late libraries compute when they are asked
            pa.synchronize(device)
            if not first:  # the first one compiles
                best = min(best, time.perf_counter() - begin)
            first = False
        if best == float("inf"):
            return Speed(str(device), None, f"one product took more than {seconds:.2g} s")
    except Exception as error:  # noqa: BLE001  (a library may raise anything; its reason is told)
        return Speed(str(device), None, probe.reason_of(error))
    return Speed(str(device), 2 * SIDE**3 / best / 1e9, "")


def _free() -> int | None:
    """Return the bytes that are free where programs are kept."""
    folder = Path(cache_folder("")).absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _packages(found: Summary) -> dict[str, str]:
    """Return the versions of array libraries and of what portarray uses, as far as installed."""
    versions = {one.info.title: one.version for one in found.libraries if one.version}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def _show(
    found: Summary,
    broken: list[Finding],
    refused: list[Finding],
    speeds: list[Speed],
    free: int | None,
    out: Console,
) -> None:
    out.print(f"portarray {pa.__version__}, Python {platform.python_version()}", highlight=False)
    out.print(platform.platform(), highlight=False)
    packages = _packages(found)
    out.print(", ".join(f"{name} {number}" for name, number in packages.items()), highlight=False)
    for title, color, rows in (
        ("Broken", "red", broken),
        ("Not usable here", "yellow", refused),
    ):
        if rows:
            table = Table("what", "why", "what would mend it", title=title, title_justify="left")
            for row in rows:
                table.add_row(f"[{color}]{escape(row.what)}", *map(escape, row[1:]))
            out.print(table)
    if speeds:
        table = Table("device", "float32 product", title="Usable", title_justify="left")
        table.columns[1].justify = "right"
        for one in speeds:
            told = f"{one.gigaflops:.0f} Gflop/s" if one.gigaflops else escape(one.problem)
            table.add_row(one.device, told)
        out.print(table)
    out.print(f"Recommended: {found.recommended}", highlight=False)
    told = "unknown" if free is None else size(free)
    low = free is not None and free < SMALLEST
    out.print(
        f"Free where programs are kept ({escape(str(cache_folder('')))}): {told}"
        + (", which is little; see portarray cache --clear" if low else ""),
        highlight=False,
        soft_wrap=True,
    )

"""Measurements as tables and pictures: ``docs/drawn``, generated from ``docs/data``.

Pages include ``drawn/NAME.md``, which begins with the day and the machine. ``nox -s docs-data``
repeats the measurements; it needs every library.
"""

from __future__ import annotations

import datetime as dt
import json
import statistics
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

DOCS = Path(__file__).parents[1]
DATA = DOCS / "data"
DRAWN = DOCS / "drawn"

Report = Mapping[str, Any]


def measured_on(report: Report) -> str:
    """Return a line with the date, machine and versions of the measurements."""
    machine, devices = report["machine"], report["devices"]
    day = dt.date.fromisoformat(machine["date"])
    names = dict.fromkeys(entry["name"] for entry in devices.values())
    versions = dict.fromkeys(
        f"{device.partition(':')[0]} {entry['version']}" for device, entry in devices.items()
    )
    for name in ("torch", "llama_cpp_python", "numba"):
        if name in machine and name not in {device.partition(":")[0] for device in devices}:
            versions[f"{name.replace('_', '-')} {machine[name]}"] = None
    cores = f"{machine.get('threads', machine['cores'])} of {machine['cores']} cores"
    return (
        f"*Measured on {day:%d %B %Y} on {', '.join(names)} ({machine['machine']}, {cores}), "
        f"Python {machine['python']}: {', '.join(versions)}.*"
    )


def rows(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table; all columns except the first are right-aligned figures."""
    names = list(head)
    marks = ["---", *("---:" for _ in names[1:])]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (names, marks, *lines))


def kernels(report: Report) -> str:
    """Return the times of kernels on each device, as multiples of PyTorch's time."""
    return str(import_module("kernel_report").markdown(report))


def user_kernels(report: Report) -> str:
    """Return the times of user kernels, as multiples of Numba's time, and the targets."""
    return str(import_module("user_kernels").tables(report))


def llama_cpp(report: Report) -> str:
    """Return tokens per second of each device compared with llama.cpp."""
    head = [
        "",
        "prompt, tokens per second",
        "relative to llama.cpp",
        "decoding",
        "relative to llama.cpp",
    ]
    return rows(
        [*head, "share of the memory limit"],
        (
            [
                f"`{row['device']}`",
                f"{row['prompt_rate']:.0f}",
                f"{row['prompt_ratio']:.2f}",
                f"{row['decode_rate']:.1f}",
                f"{row['decode_ratio']:.2f}",
                f"{row['share']:.2f}",
            ]
            for row in report["rows"]
        ),
    )


def clarray(report: Report) -> str:
    """Return the times of clarray and other libraries, as multiples of NumPy's time."""
    ratios = {(entry["row"], entry["candidate"]): entry["ratio"] for entry in report["rows"]}
    aims = report["aims"]
    names = [name for name in dict.fromkeys(name for _, name in ratios) if name != "NumPy"]
    return rows(
        ["operation", "target", *names],
        (
            [row, f"{aims[row]:g}" if row in aims else ""]
            + [f"{ratios[row, name]:.2f}" if (row, name) in ratios else "" for name in names]
            for row in dict.fromkeys(row for row, _ in ratios)
        ),
    )


def overhead(report: Report) -> str:
    """Return microseconds of each library's calls on four numbers, and portarray's overhead."""
    tiny = [row for row in report["rows"] if row["size"] == "tiny"]
    seconds = {
        (row["baseline"], row["what"]): row["seconds"]
        for row in tiny
        if row["candidate"] == row["baseline"]
    }
    added = {
        (row["baseline"], row["what"]): row["difference"]
        for row in tiny
        if row["candidate"] == f"portarray on {row['baseline']}"
    }
    libraries, statements = (dict.fromkeys(key[part] for key in added) for part in (0, 1))

    def cell(*key: str) -> str:
        return f"{1e6 * seconds[key]:.2f} {1e6 * added[key]:+.2f}"

    return rows(
        ["library", *(f"`{statement}`" for statement in statements)],
        (
            [library, *(cell(library, statement) for statement in statements)]
            for library in libraries
        ),
    )


def overhead_all(report: Report) -> str:
    """Return microseconds of each kind of call, and portarray's overhead."""
    groups = import_module("overhead_rows").GROUPS
    head = ["kind of call", "calls"]
    for device in report["results"]:
        library = device.partition(":")[0]
        head += [f"{library}'s own", "added, median", "at most"]
    lines = []
    for group, names in groups.items():
        count, figures = 0, []
        for result in report["results"].values():
            matching = [row for row in result["rows"] if row["name"] in names]
            count = max(count, len(matching))
            added = [row["ours"] - row["own"] for row in matching]
            library_time = statistics.median(row["own"] for row in matching)
            figures += [
                f"{library_time:.2f}",
                f"{statistics.median(added):.2f}",
                f"{max(added):.1f}",
            ]
        lines.append([group, str(count), *figures])
    return rows(head, lines)


def tasks(report: Report) -> str:
    """Return microseconds per task, for each way to run it."""
    names = list(dict.fromkeys(name for row in report["rows"] for name in row["microseconds"]))
    return rows(
        ["calls", "device", *names],
        (
            [row["row"], f"`{row['device']}`"]
            + [f"{row['microseconds'][name]:.3g}" for name in names]
            for row in report["rows"]
        ),
    )


def picture(module: str, name: str, alt: str) -> Callable[[Report], str]:
    """Return a function that draws a report with a benchmark module and returns the image link."""

    def drawn(report: Report) -> str:
        import_module(module).draw(report, DRAWN / f"{name}.svg")
        return f"![{alt}](drawn/{name}.svg)\n"

    return drawn


PARTS: Mapping[str, Callable[[Report], str]] = {
    "clarray": clarray,
    "kernels": kernels,
    "model": picture(
        "model_picture",
        "model",
        "Tokens per second of each device, compared with PyTorch and the memory limit",
    ),
    "model_llama_cpp": llama_cpp,
    "overhead": overhead,
    "overhead_all": overhead_all,
    "tasks": tasks,
    "transfer": picture(
        "picture",
        "transfer",
        "Matrix of routes from each device (rows) to each other device (columns)",
    ),
    "user_kernels": user_kernels,
}


def draw(app: Sphinx) -> None:
    """Write every part that has changed."""
    DRAWN.mkdir(exist_ok=True)
    sys.path.insert(0, str(DOCS.parent / "benchmarks"))
    for name, part in PARTS.items():
        source, target = DATA / f"{name}.json", DRAWN / f"{name}.md"
        report = json.loads(source.read_text("utf-8"))
        text = f"{measured_on(report)}\n\n{part(report)}"
        # Sphinx does not read unchanged files again.
        if not target.is_file() or target.read_text("utf-8") != text:
            target.write_text(text, "utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Draw before pages are read."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}

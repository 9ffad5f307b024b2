"""The table of docs/interoperability.md: rows that it shows, on every device.

A test compares each cell with what happens here. To write the table anew, for the devices of this
machine (columns of others stay as they are)::

    python tests/interop/table.py
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # before SciPy is imported

import every_row
import limits
import sklearn
from side_by_side import Row

import portarray as pa
from portarray.backends import registry

PAGE = Path(__file__).parents[2] / "docs" / "interoperability.md"
BEGIN = "<!-- written by tests/interop/table.py -->"
END = "<!-- end of the table -->"

Cells = dict[tuple[str, str], str]
"""What the table says, by function and column."""


@dataclass(frozen=True)
class Column:
    """One device under one of its library's settings."""

    title: str
    device: str
    wide: bool | None = None  # JAX's setting for 64-bit dtypes

    def __str__(self) -> str:
        return self.title

    def entered(self) -> AbstractContextManager[Any]:
        """Apply the setting in the current thread."""
        if self.wide is None:
            return nullcontext()
        import jax

        return jax.enable_x64(self.wide)


def columns() -> Iterator[Column]:
    """Yield a column for the first device of each library and platform, best first."""
    for device in pa.devices():
        name = f"{device.library}:{device.platform}"
        if device.index != 0:
            continue
        if device.library == "jax":  # its users choose whether there are 64-bit dtypes
            yield Column(f"{name}, 64 bits", str(device), wide=True)
            yield Column(name, str(device), wide=False)
        else:
            yield Column(name, str(device))


def cell(row: Row, column: Column, fake: str) -> str:
    """Run a row and return its cell: "✓", "✓ float32" or the obstacle."""
    device = column.device
    with column.entered():
        single = every_row.in_single(row, device)
        reason, expected = every_row.obstacle(row, device)
        try:
            with expected:
                every_row.run(row, device, fake)
        except pa.DTypeNotSupportedError as error:
            return f"needs {error.dtype}"
        return reason or ("✓ float32" if single else "✓")


def label(row: Row) -> str:
    """Return a row's name in the table, with what it reads."""
    name = f"`{row.name}`" if "." in row.name else row.name
    return f"{name} (host)" if row.host else name


def written() -> tuple[list[str], Cells]:
    """Return the columns and the cells of the page's table."""
    text = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    lines = [
        [part.strip() for part in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    if not lines:
        return [], {}
    titles = [title.strip("`") for title in lines[0][1:]]
    names = {label(row): name for name, row in every_row.BY_NAME.items()}
    return titles, {
        (names[line[0]], title): text
        for line in lines[2:]
        for title, text in zip(titles, line[1:], strict=True)
        if line[0] in names
    }


def write(titles: list[str], cells: Cells) -> None:
    """Write a table into the page."""
    rows = [every_row.BY_NAME[name] for name in limits.SHOWN]
    lines = [
        ["function", *(f"`{title}`" for title in titles)],
        ["---"] * (1 + len(titles)),
        *([label(row), *(cells.get((row.name, t), "") for t in titles)] for row in rows),
    ]
    leading, _, following = PAGE.read_text("utf-8").partition(BEGIN)
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    PAGE.write_text(f"{leading}{BEGIN}\n\n{table}\n\n{END}{following.partition(END)[2]}", "utf-8")


def main() -> None:
    """Measure every row on this machine and write the table."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))
    here = list(columns())
    fake = registry.add_backend("fake").library
    pa.reset_gpu_device()
    titles, cells = written()
    titles = list(dict.fromkeys([*(str(column) for column in here), *titles]))
    with sklearn.config_context(array_api_dispatch=True):
        for name in limits.SHOWN:
            for column in here:
                cells[name, str(column)] = cell(every_row.BY_NAME[name], column, fake)
    write(titles, cells)


if __name__ == "__main__":
    main()

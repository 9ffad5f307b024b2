"""SciPy, scikit-learn, xarray and others run unchanged on portarray arrays, on every device.

Each row of the tables beside this file is one call of another library. It runs with a default
device that is not the arrays' own, as in a program that has several devices.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.metadata import version

import pytest

sklearn = pytest.importorskip("sklearn")

import every_row  # noqa: E402
import limits  # noqa: E402
import table  # noqa: E402
from every_row import ROWS  # noqa: E402
from side_by_side import Row, beside, lacking  # noqa: E402

import portarray as pa  # noqa: E402

WORKING = [row for row in ROWS if not row.fails]

# JAX compiles each operation for each new shape, which takes a quarter of an hour for all rows: it
# runs what the page shows, and all rows where this variable is set. Most need JAX_ENABLE_X64=1 too.
ALL_ROWS = "PORTARRAY_TEST_ALL_ROWS" in os.environ
COMPILING = {"jax"}
FULL = ALL_ROWS or "PORTARRAY_TEST_FULL" in os.environ
SOME = 6

VERSIONS = {"scipy": "1.17", "scikit-learn": "1.9"}  # for which the flags of rows were found
NEEDS_MEASURED_VERSIONS = pytest.mark.skipif(
    any(not version(name).startswith(measured + ".") for name, measured in VERSIONS.items()),
    reason=f"which dtypes rows need is known for {VERSIONS}",
)


def _cases(rows: list[Row]) -> list[object]:
    """Return rows as test cases, with strict expected failures."""
    return [
        pytest.param(
            row,
            id=row.name,
            marks=[pytest.mark.xfail(strict=True, reason=row.fails)] if row.fails else [],
        )
        for row in rows
    ]


def test_as_many_calls_work_as_the_landing_page_says() -> None:
    assert len(WORKING) > 550


@pytest.fixture(autouse=True)
def dispatching() -> Iterator[None]:
    """Let scikit-learn dispatch to the arrays' namespace."""
    assert os.environ["SCIPY_ARRAY_API"] == "1"
    with sklearn.config_context(array_api_dispatch=True):
        yield


def test_names_are_unique() -> None:
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))


def test_rows_with_limits_are_rows() -> None:
    named = {*limits.COMPLEX, *limits.COMPLEX128, *limits.READ_ONLY, *limits.THROUGH_VIEWS}
    assert named | set(limits.SHOWN) <= set(every_row.BY_NAME)
    assert all("https://" in reason for reason in limits.READ_ONLY.values())


def eager() -> list[str]:
    """Return the devices on which all rows are run."""
    return [str(d) for d in pa.devices() if ALL_ROWS or d.library not in COMPILING]


@pytest.mark.drawn_devices(1)
@pytest.mark.parametrize("where", eager())
@pytest.mark.parametrize("row", _cases(ROWS))
def test_runs_unchanged(row: Row, where: str, fake: str) -> None:
    expected = nullcontext() if row.fails else every_row.obstacle(row, where)[1]
    if row.host and not row.fails and not every_row.is_readable(where):
        expected = pytest.raises(TypeError, match=r"numpy\.asarray\(x\.to_device\('numpy'\)\)")
    with expected:
        every_row.run(row, where, fake)


@NEEDS_MEASURED_VERSIONS
@pytest.mark.parametrize(
    "where", [d for d in eager() if "complex128" in lacking(d) and "float64" not in lacking(d)]
)
@pytest.mark.parametrize("name", sorted(limits.COMPLEX))
def test_needs_single_precision(name: str, where: str) -> None:
    """Devices with float64 and without complex128 need float32 in these rows."""
    row = every_row.BY_NAME[name]
    with pa.device(where), pytest.raises(TypeError, match="complex128"):
        beside(row, where)


@NEEDS_MEASURED_VERSIONS
@pytest.mark.skipif(not table.PAGE.is_file(), reason="the documentation is not beside the tests")
@pytest.mark.parametrize(
    "column", list(table.columns()), ids=lambda column: re.sub(r"\W+", "-", str(column))
)
def test_the_page_matches_this_machine(column: table.Column, fake: str) -> None:
    """``python tests/interop/table.py`` writes the page's table anew."""
    titles, cells = table.written()
    if str(column) not in titles:
        pytest.skip(f"the page has no column for {column}")
    names = list(limits.SHOWN)
    if column.wide is False and not FULL:
        # JAX compiles everything anew without 64-bit dtypes: every row that needs them or is
        # refused, and some of the others, which differ from the column beside it in the dtype.
        ordinary = [name for name in names if cells[name, str(column)] == "✓ float32"]
        names = [name for name in names if name not in ordinary] + ordinary[::SOME]
    wrong = []
    for name in names:
        try:
            outcome = table.cell(every_row.BY_NAME[name], column, fake)
        except (AssertionError, AttributeError, RuntimeError, TypeError, ValueError) as error:
            outcome = f"{type(error).__name__}: {error}"
        if outcome != cells[name, str(column)]:
            wrong.append(f"{name}: {outcome}, and the page says {cells[name, str(column)]}")
    assert wrong == []


@pytest.mark.skipif(not table.PAGE.is_file(), reason="the documentation is not beside the tests")
def test_the_page_shows_every_row_that_it_should() -> None:
    titles, cells = table.written()
    assert len(limits.SHOWN) >= 30
    assert {name for name, _ in cells} == set(limits.SHOWN)
    assert len(cells) == len(titles) * len(limits.SHOWN)
    assert all(cells.values())


@pytest.mark.parametrize("row", _cases([row for row in WORKING if not row.host]))
def test_needs_no_host_memory(row: Row, fake: str) -> None:
    """Libraries that do not read arrays with NumPy work without host memory."""
    device = f"{fake}:cuda:0"
    with pa.device("numpy"):
        beside(row, device)


def test_special_functions_keep_to_each_device(fake: str) -> None:
    """SciPy caches what it makes for a namespace, and the namespaces of all devices are equal."""
    from scipy import special

    for device in map(str, pa.devices()):
        if every_row.is_readable(device):
            x = pa.asarray([0.25, 0.5], dtype="float32", device=device)
            with pa.device(fake):
                assert str(special.cosdg(x).device) == device

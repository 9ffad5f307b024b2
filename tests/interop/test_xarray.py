"""xarray over portarray arrays, and over Dask arrays of them, matches its page."""

from __future__ import annotations

import os
import re
from importlib.metadata import version

import numpy as np
import pytest

pytest.importorskip("dask.array", reason="the extra portarray[dask] is not installed")
xr = pytest.importorskip("xarray", reason="xarray is not installed")

import xarray_rows  # noqa: E402
from xarray_rows import CALLS, KINDS, PAGE  # noqa: E402

import portarray as pa  # noqa: E402
from portarray.testing import host_transfers  # noqa: E402

ON_PAGE = pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not beside the tests")


@ON_PAGE
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_matches_the_behaviour(kind: str) -> None:
    if not version("xarray").startswith("2026.9."):
        pytest.skip("the page is of xarray 2026.9")
    if not pa.functional("torch"):
        pytest.skip("the page shows PyTorch, which is not functional here")
    page_text = xarray_rows.written()
    assert {name for name, _ in page_text} == set(CALLS)
    outcome = {name: xarray_rows.said(name, kind, "torch") for name in CALLS}
    assert outcome == {name: page_text[name, kind] for name in CALLS}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("`groupby().mean()` over NaN", KINDS),
        ("`Dataset.groupby().mean()`", KINDS),
        ("`rolling().mean()`", ("Dask",)),
        ("`chunk`, then `rolling`", ("arrays",)),
    ],
)
def test_groups_and_windows_stay_on_every_device(
    name: str, kinds: tuple[str, ...], device: str
) -> None:
    if device.startswith("jax") and "PORTARRAY_TEST_ALL_ROWS" not in os.environ:
        if "groupby().mean" not in name or "Dataset" in name:
            pytest.skip("compiles each function; PORTARRAY_TEST_ALL_ROWS runs all")
        kinds = ("Dask",)
    assert {kind: xarray_rows.said(name, kind, device) for kind in kinds} == dict.fromkeys(
        kinds, "✓"
    )


def test_naming_a_graph_reads_an_array_once(device: str) -> None:
    x = xr.DataArray(pa.asarray(np.arange(6.0), dtype="float32", device=device), dims="x")
    with host_transfers() as transfers:
        x.chunk(x=3)
    read = [array for array in transfers if array.to_host]
    assert len(read) <= 2  # the array, and the empty one that stands for its chunks
    assert {array.kind for array in transfers} & {"pickle", "unpickle"} == set()


@ON_PAGE
def test_code_of_the_page() -> None:
    if not pa.functional("torch"):
        pytest.skip("the page shows PyTorch, which is not functional here")
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S):
        exec(block, {})

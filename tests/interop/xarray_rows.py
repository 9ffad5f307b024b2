"""Calls of xarray on labelled portarray arrays and on Dask arrays with portarray chunks.

The tests compare docs/xarray.md with what happens. To write its table anew::

    python tests/interop/xarray_rows.py
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import xarray as xr

import portarray as pa
import portarray.dask
from portarray.errors import PortarrayError

PAGE = Path(__file__).parents[2] / "docs" / "xarray.md"
BEGIN = "<!-- written by tests/interop/xarray_rows.py -->\n\n"
END = "\n<!-- end of the table -->"
KINDS = ("arrays", "Dask")

rng = np.random.default_rng(0)
T, P = rng.normal(size=(2, 24, 6, 4)).astype(np.float32)
HOLES = np.where(T > 1.5, np.float32(np.nan), T)
COORDINATES = {
    "time": pd.date_range("2020-01-01", periods=24, freq="15D"),
    "y": np.arange(6),
    "x": np.arange(4.0),
}


def dataset(kind: str, device: str | None = None) -> Any:
    """Return a Dataset on a device, or of NumPy arrays for None."""

    def put(values: Any) -> Any:
        if device is None:
            return values
        if kind == "arrays":
            return pa.asarray(values, device=device)
        return pa.dask.from_array(values, chunks=(8, 3, 4), devices=device)

    dims = ("time", "y", "x")
    values = {"t": T, "p": P, "holes": HOLES}
    return xr.Dataset({name: (dims, put(v)) for name, v in values.items()}, coords=COORDINATES)


def months(x: Any) -> Any:
    return x.groupby("time.month")


CALLS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda d: 2 * d.t + d.p**2,
    "`np.exp`": lambda d: np.exp(d.t),
    "`sum` over NaN": lambda d: d.holes.sum("time"),
    "`count`": lambda d: d.holes.count("time"),
    "`mean` over NaN": lambda d: d.holes.mean("time"),
    "`mean(skipna=False)`": lambda d: d.t.mean("time", skipna=False),
    "`std`, `var`": lambda d: d.holes.std("time") + d.t.var("y", ddof=1),
    "`std(skipna=False)`": lambda d: d.t.std("time", skipna=False),
    "`max`, `min`": lambda d: d.holes.max("time") - d.t.min("time"),
    "`argmax`": lambda d: d.t.argmax("time"),
    "`idxmax`": lambda d: d.t.idxmax("x"),
    "`median`": lambda d: d.holes.median("y"),
    "`quantile`": lambda d: d.t.quantile(0.3, "x"),
    "`cumsum`": lambda d: d.t.cumsum("time"),
    "`isel`, `sel`": lambda d: d.t.isel(time=[1, 5], y=slice(2)).sel(x=2.1, method="nearest"),
    "pointwise `isel`": lambda d: d.t.isel(y=xr.DataArray([1, 2], dims="k"), x=d.y[:2].data),
    "vectorized `isel`": lambda d: d.t.isel(
        y=xr.DataArray([1, 2], dims="k"), x=xr.DataArray([0, 3], dims="k")
    ),
    "`where`, `fillna`": lambda d: d.holes.where(d.t > 0).fillna(0.0),
    "`where` of coordinates": lambda d: d.t.where(d.x > 1),
    "`dropna`": lambda d: d.holes.dropna("time"),
    "`interp`": lambda d: d.t.interp(x=1.5),
    "`groupby().mean()`": lambda d: months(d.t).mean(),
    "`groupby().mean()` over NaN": lambda d: months(d.holes).mean(),
    "`groupby().max()`": lambda d: months(d.t).max(),
    "`groupby().first()`": lambda d: months(d.t).first(),
    "`groupby` anomalies": lambda d: months(d.t) - months(d.t).mean(),
    "`groupby_bins`": lambda d: d.t.groupby_bins("x", [-1, 1, 5]).mean(),
    "`resample().mean()`": lambda d: d.t.resample(time="QS").mean(),
    "`Dataset.groupby().mean()`": lambda d: months(d).mean().holes,
    "`rolling().mean()`": lambda d: d.t.rolling(time=3).mean(),
    "`rolling().max()`": lambda d: d.t.rolling(time=3, min_periods=1, center=True).max(),
    "`rolling` of two dimensions": lambda d: d.t.rolling(time=3, x=2).mean(),
    "`coarsen().mean()`": lambda d: d.t.coarsen(time=4).mean(),
    "`dot`": lambda d: xr.dot(d.t, d.p, dim="x"),
    "`cov`, `corr`": lambda d: xr.cov(d.t, d.p, "time") + xr.corr(d.t, d.p, "time"),
    "`concat`": lambda d: xr.concat([d.t, d.p], "k"),
    "`merge`, alignment": lambda d: d.t.isel(time=slice(20)) + d.t.isel(time=slice(4, 24)),
    "`reindex`": lambda d: d.t.reindex(x=[0.0, 1.0, 9.0]),
    "`shift`, `pad`": lambda d: d.t.shift(time=1),
    "`roll`, `diff`": lambda d: d.t.roll(time=1).diff("y"),
    "`differentiate`": lambda d: d.t.differentiate("x"),
    "`integrate`": lambda d: d.t.integrate("x"),
    "`polyfit`": lambda d: d.t.polyfit("x", 1).polyfit_coefficients,
    "`stack`, `unstack`": lambda d: d.t.stack(k=("y", "x")).unstack("k"),
    "`to_dataarray`": lambda d: d[["t", "p"]].to_dataarray(),
    "`clip`, `astype`": lambda d: d.t.clip(-1, 1).astype("float64"),
    "`round`": lambda d: d.t.round(1),
    "`isin`": lambda d: d.y.isin([1, 2]) & (d.t > 0),
    "`apply_ufunc`": lambda d: xr.apply_ufunc(
        lambda x: 2 * x, d.t, dask="parallelized", output_dtypes=[np.float32]
    ),
    "`zeros_like`, `full_like`": lambda d: xr.full_like(d.t, 2.0),
    "`chunk`, then `rolling`": lambda d: d.t.chunk(time=8).rolling(time=3).mean(),
    "`compute`, `load`": lambda d: d.t.load(),
}


def said(name: str, kind: str, device: str) -> str:
    """Run a row on a device and return its cell of the page."""
    call = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = call(dataset(kind)).compute()
        try:
            with pa.device(device), pa.config(host_access="error"):
                actual = call(dataset(kind, device)).data
                actual = actual.compute(scheduler="sync") if hasattr(actual, "dask") else actual
        except pa.HostAccessError:
            return "reads host memory"
        except (AttributeError, TypeError, ValueError, IndexError, PortarrayError):
            return "refused"
    if not isinstance(actual, pa.Array):
        return "becomes NumPy"
    assert str(actual.device) == str(pa.device(device))
    values = actual.to_device("numpy").native
    assert values.dtype.kind == expected.dtype.kind
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)
    return "✓" if values.dtype == expected.dtype else f"✓ {values.dtype}"


def written() -> dict[tuple[str, str], str]:
    """Return the page's cells by row and kind."""
    table = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [re.split(r" *\| *", line.strip("| \n")) for line in table.splitlines()[2:]]
    return {(row[0], kind): cell for row in rows for kind, cell in zip(KINDS, row[1:], strict=True)}


def main() -> None:
    """Write the page's table anew."""
    lines = ["| | portarray arrays | Dask arrays |", "| --- | --- | --- |"]
    for name in CALLS:
        cells = [said(name, kind, "torch") for kind in KINDS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    text = PAGE.read_text("utf-8")
    head, _, following = text.partition(BEGIN)
    table = "\n".join(lines)
    PAGE.write_text(f"{head}{BEGIN}{table}\n{END}{following.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    with dask.config.set(scheduler="sync"):
        main()

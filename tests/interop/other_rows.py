"""Calls of xarray, einops, array-api-compat and array-api-extra on standard arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat as compat
import numpy as np
from side_by_side import Make, Row

_rng = np.random.default_rng(5)
X = _rng.normal(size=(6, 4))
V = _rng.normal(size=24)
I = _rng.integers(0, 5, 12)  # noqa: E741  (integers)
HOLES = np.where(X > 1, np.nan, X)


def _compat() -> list[Row]:
    def namespace(a: Make) -> bool:
        x = a(X)
        return compat.array_namespace(x, 1.0, None).__name__.split(".")[-1] in (
            "portarray",
            "numpy",
        )

    def flags(a: Make) -> Any:
        x = a(X)
        return compat.is_array_api_obj(x), compat.is_writeable_array(x), compat.is_lazy_array(x)

    return [
        Row("compat.array_namespace", namespace),
        Row("compat.is_array_api_obj", flags),
        Row("compat.size", lambda a: compat.size(a(X))),
        Row("compat.to_device", lambda a: compat.to_device(a(X), compat.device(a(X)))),
    ]


def _extra() -> list[Row]:
    try:
        import array_api_extra as xpx
    except ModuleNotFoundError:
        return []
    calls: dict[str, Callable[[Make], Any]] = {
        "angle": lambda a: xpx.angle(a(X + 1j * X)),
        "apply_where": lambda a: xpx.apply_where(a(X > 0), (a(X),), lambda x: 2 * x, lambda x: -x),
        "apply_where filled": lambda a: xpx.apply_where(
            a(X > 0), (a(X),), lambda x: 2 * x, fill_value=7.0
        ),
        "partition": lambda a: xpx.partition(a(V), 3)[3],
        "argpartition": lambda a: a(V)[xpx.argpartition(a(V), 3)[3]],
        "at set": lambda a: xpx.at(a(X))[0, :].set(3.0),
        "at add": lambda a: xpx.at(a(X))[1:].add(3.0),
        "at mask": lambda a: xpx.at(a(X), a(X > 0)).multiply(3.0),
        "atleast_nd": lambda a: xpx.atleast_nd(a(V), ndim=3),
        "cov": lambda a: xpx.cov(a(X)),
        "create_diagonal": lambda a: xpx.create_diagonal(a(V)),
        "expand_dims": lambda a: xpx.expand_dims(a(V), axis=(0, 2)),
        "isclose": lambda a: xpx.isclose(a(X), a(X + 1e-9)),
        "isin": lambda a: xpx.isin(a(I), a([1, 2])),
        "kron": lambda a: xpx.kron(a(X), a(X)),
        "lazy_apply": lambda a: xpx.lazy_apply(lambda x: 2 * x, a(X)),
        "nan_to_num": lambda a: xpx.nan_to_num(a([1.0, np.nan, np.inf])),
        "nunique": lambda a: xpx.nunique(a(I)),
        "one_hot": lambda a: xpx.one_hot(a(I), 5),
        "pad": lambda a: xpx.pad(a(X), 2),
        "searchsorted": lambda a: xpx.searchsorted(a(np.sort(V)), a(X[0])),
        "setdiff1d": lambda a: xpx.setdiff1d(a(I), a([1, 2])),
        "sinc": lambda a: xpx.sinc(a(X)),
        "union1d": lambda a: xpx.union1d(a(I), a([1, 9])),
    }
    return [
        *(Row(f"array_api_extra.{name}", call) for name, call in calls.items()),
        Row(
            "array_api_extra.lazy_apply as_numpy",
            lambda a: xpx.lazy_apply(lambda x: 2 * x, a(X), as_numpy=True),
            host=True,
        ),
    ]


def _einops() -> list[Row]:
    try:
        from einops import array_api
    except ModuleNotFoundError:
        return []
    calls: dict[str, Callable[[Make], Any]] = {
        "rearrange": lambda a: array_api.rearrange(a(X), "(b c) h -> h (b c)", c=2),
        "reduce": lambda a: array_api.reduce(a(X), "b h -> h", "mean"),
        "repeat": lambda a: array_api.repeat(a(X), "b h -> b h c", c=2),
        "pack": lambda a: array_api.pack([a(X), a(X)], "b *")[0],
        "unpack": lambda a: array_api.unpack(a(X), [(1,), (3,)], "b *"),
    }
    return [Row(f"einops.{name}", call) for name, call in calls.items()]


_DDOF = (
    "xarray calls std with ddof=, which the standard names correction: "
    "https://github.com/pydata/xarray/issues/8566"
)


def _xarray() -> list[Row]:
    try:
        import xarray
    except ModuleNotFoundError:
        return []

    def data(values: Any) -> Any:
        """Return values as a labelled array."""
        coordinates = {"row": np.arange(values.shape[0])}
        return xarray.DataArray(values, dims=("row", "column"), coords=coordinates)

    def assigned(x: Any, **places: Any) -> Any:
        x[places] = 5.0
        return x

    def replaced(a: Make) -> Any:
        x = data(a(X))
        x[{"row": 1}] = columns(a)
        return x

    def columns(a: Make) -> Any:
        return xarray.DataArray(a(X[0]), dims=("column",))

    calls: dict[str, Callable[[Make], Any]] = {
        "data": lambda a: data(a(X)),
        "arithmetic": lambda a: 2.0 * data(a(X)) + data(a(X)) ** 2,
        "comparison": lambda a: data(a(X)) > 0,
        "broadcast": lambda a: data(a(X)) * columns(a),
        "NumPy ufunc": lambda a: np.sin(data(a(X))),
        "sum": lambda a: data(a(X)).sum(skipna=False),
        "mean": lambda a: data(a(X)).mean("row", skipna=False),
        "mean skipping": lambda a: data(a(HOLES)).mean("row"),
        "max": lambda a: data(a(X)).max("row", skipna=False),
        "sum of integers": lambda a: data(a(I.reshape(6, 2))).sum("row"),
        "any": lambda a: (data(a(X)) > 0).any("row"),
        "count": lambda a: data(a(HOLES)).count("row"),
        "isnull": lambda a: data(a(HOLES)).isnull(),
        "isel": lambda a: data(a(X)).isel(row=[2, 0], column=slice(1, None)),
        "sel": lambda a: data(a(X)).sel(row=slice(1, 3)),
        "assignment of a number": lambda a: assigned(data(a(X)), row=1, column=2),
        "assignment of an array": replaced,
        "transpose": lambda a: data(a(X)).transpose("column", "row"),
        "stack": lambda a: data(a(X)).stack(both=("row", "column")),
        "expand_dims": lambda a: data(a(X)).expand_dims("more"),
        "concat": lambda a: xarray.concat([data(a(X)), data(a(X))], dim="row"),
        "roll": lambda a: data(a(X)).roll(row=1),
        "diff": lambda a: data(a(X)).diff("row"),
        "clip": lambda a: data(a(X)).clip(0.0, 1.0),
        "astype": lambda a: data(a(X)).astype("float32"),
        "copy": lambda a: data(a(X)).copy(deep=True),
        "where": lambda a: data(a(X)).where(data(a(X)) > 0, 0.0),
        "fillna": lambda a: data(a(HOLES)).fillna(0.0),
        "shift": lambda a: data(a(X)).shift(row=1),
        "dot": lambda a: xarray.dot(data(a(X)), data(a(X))),
        "where missing": lambda a: data(a(X)).where(data(a(X)) > 0),
        "apply_ufunc": lambda a: xarray.apply_ufunc(lambda x: 2 * x, data(a(X))),
    }
    failing: dict[str, tuple[str, Callable[[Make], Any]]] = {
        "std": (_DDOF, lambda a: data(a(X)).std("column", skipna=False)),
    }

    def row(name: str, call: Callable[[Make], Any], **options: Any) -> Row:
        return Row(f"xarray {name}", lambda a: call(a).data, **options)

    return [
        *(row(name, call) for name, call in calls.items()),
        row("assignment of one number to many", lambda a: assigned(data(a(X)), row=1), host=True),
        *(row(name, call, fails=why) for name, (why, call) in failing.items()),
        Row(
            "xarray Dataset",
            lambda a: xarray.Dataset({"v": data(a(X))}).sum(skipna=False)["v"].data,
        ),
        Row("xarray identical", lambda a: data(a(X)).identical(data(a(X)))),
        Row(
            "xarray to_numpy",
            lambda a: data(a(X)).to_numpy(),
            host=True,
            to_numpy="that is what the method is for",
        ),
    ]


ROWS = [*_compat(), *_extra(), *_einops(), *_xarray()]

"""Call functions of SciPy, scikit-learn and xarray with portarray arrays and record the results.

Each public function is called with the first arguments that it accepts as NumPy arrays, then with
portarray arrays on several devices. A result with portarray arrays *stays*, one with NumPy arrays
*becomes NumPy*, and an error is *refused*. To write ``docs/data/where_it_does_not_work.json``::

    python tools/try_libraries.py

With another default device than that of the arrays, results on it are *elsewhere*. To count, for
each other device, the functions of SciPy, scikit-learn and array-api-extra whose results stay::

    python tools/try_libraries.py --default numpy
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import io
import json
import os
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"  # before SciPy is imported

import numpy as np

import portarray as pa

TARGET = Path(__file__).parents[1] / "docs" / "data" / "where_it_does_not_work.json"
DEVICES = ("numpy", "torch", "clarray")
SECONDS = 20

SCIPY = (
    *("cluster.hierarchy", "cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage"),
    *("signal", "signal.windows", "spatial.distance", "special", "stats"),
)
SKLEARN = ("metrics", "metrics.pairwise", "preprocessing", "feature_selection", "utils.extmath")

DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(12, 4))
SQUARE = DRAW.normal(size=(4, 4))
POSITIVE_DEFINITE = SQUARE @ SQUARE.T + np.eye(4)
LINE, OTHER = np.abs(DRAW.normal(size=(2, 12))) + 0.1
LABELS, GUESSED = DRAW.integers(0, 2, (2, 12))

Make = Callable[[np.ndarray[Any, Any]], Any]

ARGUMENTS: tuple[tuple[str, Callable[[Make], tuple[Any, ...]]], ...] = (
    ("f(x)", lambda a: (a(LINE),)),
    ("f(x, y)", lambda a: (a(LINE), a(OTHER))),
    ("f(matrix)", lambda a: (a(X),)),
    ("f(square)", lambda a: (a(POSITIVE_DEFINITE),)),
    ("f(square, square)", lambda a: (a(POSITIVE_DEFINITE), a(SQUARE))),
    ("f(square, x)", lambda a: (a(POSITIVE_DEFINITE), a(LINE[:4]))),
    ("f(matrix, matrix)", lambda a: (a(X), a(X[:5]))),
    ("f(x, 3)", lambda a: (a(LINE), 3)),
    ("f(matrix, 3)", lambda a: (a(X), 3)),
    ("f(x, y, z)", lambda a: (a(LINE), a(OTHER), a(LINE * 2))),
    ("f(2, x)", lambda a: (2, a(LINE))),
    ("f(2, 0.5, x)", lambda a: (2, 0.5, a(LINE))),
    ("f(x, 2, 3)", lambda a: (a(LINE), 2, 3)),
)
LABELLED: tuple[tuple[str, Callable[[Make], tuple[Any, ...]]], ...] = (
    ("f(labels, labels)", lambda a: (a(LABELS), a(GUESSED))),
    ("f(labels, scores)", lambda a: (a(LABELS), a(LINE / LINE.max()))),
    ("f(matrix, labels)", lambda a: (a(X), a(LABELS))),
    ("f(labels)", lambda a: (a(LABELS),)),
)


class TooLongError(Exception):
    """A call exceeded the time limit."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Limit the time of a call and suppress its output and warnings."""

    def stop(*_: object) -> None:
        raise TooLongError(f"took more than {SECONDS} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stdout(io.StringIO()):
                yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def arrays_in(result: Any, depth: int = 0) -> set[str]:
    """Return the kinds of arrays in a result: texts of devices, and ``"NumPy"``."""
    if isinstance(result, pa.Array):
        return {str(result.device)}
    if isinstance(result, np.ndarray):
        return {"NumPy"} if result.ndim else set()
    if depth > 2 or isinstance(result, (str, bytes, type)) or inspect.ismodule(result):
        return set()
    if isinstance(result, dict):
        parts: Any = result.values()
    elif isinstance(result, (tuple, list)):
        parts = result
    elif hasattr(result, "__dict__"):
        parts = [x for name, x in vars(result).items() if not name.startswith("__")]
    else:
        return set()
    libraries: set[str] = set()
    for part in list(parts)[:50]:
        libraries |= arrays_in(part, depth + 1)
    return libraries


def outcome(call: Callable[[Make], Any], device: str) -> str:
    """Call a function with arrays of a device and classify the result."""
    try:
        with limited(), pa.device(OPTIONS.default or device):
            kinds = arrays_in(call(lambda values: pa.asarray(values, device=device)))
    except TooLongError as error:
        return f"refused: {error}"
    except Exception as error:  # noqa: BLE001  (the error is the result)
        text = re.sub(r" from '[^']*'| at 0x\w+", "", " ".join(str(error).split()))
        return f"refused: {type(error).__name__}: {text[:160]}"
    if "NumPy" in kinds:
        return "becomes NumPy" if kinds == {"NumPy"} else "becomes NumPy in part"
    if kinds - {str(pa.device(device))}:
        return "elsewhere"
    return "stays"


def row(name: str, call: Callable[[Make], Any], how: str) -> dict[str, Any] | None:
    """Return a row of the page, or None if the call fails with NumPy arrays."""
    try:
        with limited():
            kinds = arrays_in(call(np.array))
    except Exception:  # noqa: BLE001  (the caller tries other arguments)
        return None
    outcomes = {device: outcome(call, device) for device in OPTIONS.devices}
    return {"name": name, "call": how, "array": bool(kinds), **outcomes}


def functions(module: str) -> Iterator[tuple[str, Any]]:
    """Yield the public functions of a module."""
    home = importlib.import_module(module)
    for name in getattr(home, "__all__", dir(home)):
        function = getattr(home, name, None)
        if callable(function) and not inspect.isclass(function) and not name.startswith("_"):
            yield f"{module}.{name}", function


def tried(module: str, arguments: Any) -> Iterator[dict[str, Any]]:
    """Yield a row for each function of a module that accepts one of the argument lists."""
    for name, member in functions(module):
        for how, values in arguments:

            def call(a: Make, function: Any = member, values: Any = values) -> Any:
                return function(*values(a))

            outcomes = row(name, call, how)
            if outcomes is not None:
                yield outcomes
                break


def estimators() -> Iterator[dict[str, Any]]:
    """Yield a row for each estimator of scikit-learn: fit, then predict or transform."""
    from sklearn.utils.discovery import all_estimators

    for name, cls in all_estimators():

        def fit(a: Make, cls: Any = cls) -> Any:
            x, y = a(np.abs(X)), a(LABELS)
            model = cls().fit(x, y)
            for method in ("predict", "transform"):
                if hasattr(model, method):
                    return model, getattr(model, method)(x)
            return model

        outcomes = row(f"sklearn {name}", fit, "fit, predict or transform")
        if outcomes is not None:
            yield outcomes


def labelled_arrays() -> Iterator[dict[str, Any]]:
    """Yield a row for each method of xarray's arrays."""
    import xarray

    def data(values: Any) -> Any:
        return xarray.DataArray(values, dims=("row", "column"))

    more: dict[str, tuple[Any, ...]] = {
        "dot": (data(X),),
        "shift": ({"row": 1},),
        "roll": ({"row": 1},),
        "pad": ({"row": 1},),
        "quantile": (0.5,),
        "diff": ("row",),
        "cumsum": ("row",),
        "cumprod": ("row",),
        "fillna": (0.0,),
        "clip": (0.0, 1.0),
        "isin": ([0.0],),
        "rank": ("row",),
        "sortby": ("row",),
        "argmax": ("row",),
        "argmin": ("row",),
        "differentiate": ("row",),
        "integrate": ("row",),
        "interpolate_na": ("row",),
        "ffill": ("row",),
        "bfill": ("row",),
        "coarsen": ({"row": 2},),
        "rolling": ({"row": 2},),
        "astype": ("float32",),
        "round": (1,),
        "head": (2,),
        "tail": (2,),
        "thin": (2,),
    }
    skipped = {"plot", "to_netcdf", "to_zarr", "to_iris", "close", "to_pandas", "to_dataframe"}
    for name in dir(xarray.DataArray):
        method = getattr(xarray.DataArray, name)
        if (
            name.startswith("_")
            or name in skipped
            or not callable(method)
            or inspect.isclass(method)
        ):
            continue

        def call(a: Make, name: str = name) -> Any:
            x = data(a(X)).assign_coords(row=np.arange(12.0))
            arguments = [
                data(a(X)) if isinstance(value, xarray.DataArray) else value
                for value in more.get(name, ())
            ]
            result = getattr(x, name)(*arguments)
            result = result.mean() if name in ("coarsen", "rolling") else result
            return result.data if isinstance(result, xarray.DataArray) else ()

        outcomes = row(f"xarray.DataArray.{name}", call, "x.f()")
        if outcomes is not None:
            yield outcomes


def options() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description="Call other libraries with portarray arrays.")
    parser.add_argument("--default", help="default device; the arrays are on the others")
    chosen = parser.parse_args()
    chosen.devices = tuple(device for device in DEVICES if device != chosen.default)
    return chosen


OPTIONS = argparse.Namespace(default=None, devices=DEVICES)


def count_elsewhere(rows: list[dict[str, Any]]) -> None:
    """Print how many rows have each outcome, and the rows that are not on their device."""
    for device in OPTIONS.devices:
        outcomes = Counter(entry[device].partition(":")[0] for entry in rows)
        print(f"{device}, default {OPTIONS.default}: {len(rows)} functions, {dict(outcomes)}")
        for entry in rows:
            if entry[device] == "elsewhere" or "DeviceMismatchError" in entry[device]:
                print(f"  {entry['name']} {entry['call']}: {entry[device]}")


def main() -> None:
    """Call everything and write the report."""
    import sklearn

    global OPTIONS
    OPTIONS = options()
    for device in DEVICES:  # load the libraries outside the time limit
        pa.sum(pa.ones(2, device=device))
    rows: list[dict[str, Any]] = []
    for module in SCIPY:
        rows.extend(tried(f"scipy.{module}", ARGUMENTS))
        print(module, len(rows), file=sys.stderr, flush=True)
    with sklearn.config_context(array_api_dispatch=True):
        for module in SKLEARN:
            rows.extend(tried(f"sklearn.{module}", (*LABELLED, *ARGUMENTS)))
        print("sklearn functions", len(rows), file=sys.stderr, flush=True)
        rows.extend(estimators())
    print("sklearn", len(rows), file=sys.stderr, flush=True)
    if OPTIONS.default is not None:
        rows.extend(tried("array_api_extra", ARGUMENTS))
        count_elsewhere(rows)
        return
    rows.extend(labelled_arrays())
    failing = [entry for entry in rows if any(entry[device] != "stays" for device in DEVICES)]
    report = {
        "versions": {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "xarray")},
        "devices": DEVICES,
        "tried": len(rows),
        "stay": len(rows) - len(failing),
        "rows": failing,
    }
    TARGET.write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(f"{len(rows)} tried, {len(failing)} do not stay", file=sys.stderr)


if __name__ == "__main__":
    main()

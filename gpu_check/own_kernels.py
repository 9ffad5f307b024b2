"""User kernels on one device: the cases of the tests, and algorithms, beside what NumPy says."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from part import BEGAN, Writer, arguments

import portarray as pa
from portarray.kernel_language.algorithms import accumulate, map_kernel, reduce, sort_by_key

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "kernel_language"))

from cases.case import Case, all_cases  # type: ignore[import-not-found]


def checked(case: Case, device: str) -> tuple[str, str]:
    """Return how a case ended, and what was wrong."""
    place = pa.device(device)
    launcher = place._backend.launcher(place.native)
    if isinstance(launcher, str):
        return "not run", launcher
    if case.atomics64 and not launcher.atomics64:
        return "not run", "no 64-bit atomic functions"
    try:
        for dtype in case.dtypes():
            pa.ones(1, dtype=dtype, device=device)
    except TypeError as error:
        return "not run", str(error)
    kernel = pa.kernel(case.kernel, static=case.static)
    try:
        arguments_there = case.placed(lambda array: pa.asarray(array, device=device, copy=True))
        out = kernel(*arguments_there, ndrange=case.ndrange, group=case.group)
        several = out if isinstance(out, tuple) else (out,)
        case.check(tuple(place._backend.read_host(x.native, place.native) for x in several))
    except Exception as error:  # noqa: BLE001 - whatever is wrong is told
        return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""


Values = np.ndarray[Any, Any]

SHAPES = ((1,), (1000,), (100_003,), (300, 70), (7, 500, 3), (3, 5, 400))


def composed(a: Any, b: Any) -> Any:
    """Return a linear map after another, modulo 8: associative, and not commutative."""
    factor = ((a % 8) * (b % 8)) % 8
    return ((a // 8 * (b % 8) + b // 8) % 8) * 8 + factor


def nearer(a: Any, b: Any) -> Any:
    """Tell which key is nearer to 20; many are equally near."""
    return abs(a // 4 - 5) < abs(b // 4 - 5)


def algorithm(name: str, shape: tuple[int, ...], axis: int, device: str) -> tuple[Values, Any]:
    """Return what an algorithm computes on the device, and what it should be."""
    x = np.random.default_rng(7).integers(0, 64, shape).astype(np.int32)
    y = pa.asarray(x, device=device, copy=True)
    rows = np.moveaxis(x, axis, -1).reshape(-1, shape[axis]).tolist()
    scanned = np.asarray([list(itertools.accumulate(row, composed)) for row in rows])
    scanned = np.moveaxis(scanned.reshape(np.moveaxis(x, axis, -1).shape), -1, axis)
    if name == "reduce":
        return on_host(reduce(composed, y, axis=axis)), scanned.take(-1, axis)
    if name == "accumulate":
        return on_host(accumulate(composed, y, axis=axis)), scanned
    if name == "map_kernel":
        return on_host(map_kernel(lambda a, b: a * 2 - b, y, 3)), x * 2 - 3
    keys = pa.reshape(y, (-1,))
    _, places = sort_by_key(keys, pa.arange(x.size, device=device), less=nearer)
    return on_host(places), np.argsort(np.abs(x.reshape(-1) // 4 - 5), kind="stable")


def on_host(x: pa.Array) -> Values:
    """Return an array's values."""
    return np.asarray(x.to_device("numpy"))


def check_algorithm(name: str, shape: tuple[int, ...], axis: int, device: str) -> tuple[str, str]:
    """Return how an algorithm ended, and what was wrong."""
    place = pa.device(device)
    launcher = place._backend.launcher(place.native)
    if isinstance(launcher, str):
        return "not run", launcher
    try:
        found, want = algorithm(name, shape, axis, device)
        np.testing.assert_array_equal(found, want)
    except Exception as error:  # noqa: BLE001 - whatever is wrong is told
        return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""


def checks(device: str) -> Iterator[tuple[str, Callable[[], tuple[str, str]]]]:
    """Yield what is checked, by name."""
    for case in all_cases():
        yield case.name, partial(checked, case, device)
    for name in ("reduce", "accumulate", "map_kernel", "sort_by_key"):
        for shape in SHAPES:
            for axis in range(len(shape)) if name in ("reduce", "accumulate") else (0,):
                along = f"{name} of {shape}, axis {axis}"
                yield along, partial(check_algorithm, name, shape, axis, device)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("device")


if __name__ == "__main__":
    given = arguments(__doc__, _options)
    with Writer(given.out) as out:
        for name, check in checks(given.device):
            if time.monotonic() > BEGAN + given.seconds:
                break
            status, message = check()
            out({"case": name, "status": status, "examples": 1, "message": message})

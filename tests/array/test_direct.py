"""Functions of a library that are called directly agree with its namespace."""

from __future__ import annotations

import inspect
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from portarray_conformance import names

import portarray as pa
from portarray._array import call_cache, dispatch
from portarray._array.dispatch import DispatchTable
from portarray._devices.device import Device

Values = np.ndarray[Any, Any]

KEYS: list[Any] = [
    *(0, -1, 2, 3, -4, slice(None), slice(1, None), slice(None, -1), slice(-9, 9, 2)),
    *(slice(None, None, -1), slice(2, 0, -2), slice(3, 1), slice(0, 0)),
    *((), (0,), (0, 1), (0, 2), (0, 1, 0), (..., 0), (0, ...), (None, 0), (slice(None), None)),
    *((slice(None), -1), (..., None), (None,), (..., ...), (slice(1), slice(None, None, -1))),
]


def functions() -> list[str]:
    """Return the standard's functions that need one or two arrays and nothing else."""
    return [name for name in names.ALL_NAMES if needed(getattr(pa, name, None)) in (1, 2)]


def needed(function: object) -> int:
    """Return how many arrays a function needs, or 0 if it needs other arguments or none."""
    if not inspect.isfunction(function):
        return 0
    parameters = inspect.signature(function).parameters.values()
    required = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    return len(required) if all(p.name in ("x", "x1", "x2") for p in required) else 0


def values_of(dtype: np.dtype[Any]) -> tuple[Values, Values]:
    """Return two arrays that pair all special values, then random ones."""
    rng = np.random.default_rng(7)
    if dtype.kind == "b":
        special = np.asarray([False, True])
        drawn = rng.integers(0, 2, (2, 40)).astype(bool)
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        special = np.asarray([0, 1, 2, limits.min, limits.max, limits.max - 1], dtype)
        drawn = rng.integers(limits.min, limits.max, (2, 200), dtype, endpoint=True)
    else:
        special, drawn = _inexact(dtype, rng)
    pairs = np.asarray(list(itertools.product(special, repeat=2)), dtype)
    return (
        np.concatenate([pairs[:, 0], drawn[0].astype(dtype)]),
        np.concatenate([pairs[:, 1], drawn[1].astype(dtype)]),
    )


def _inexact(dtype: np.dtype[Any], rng: np.random.Generator) -> tuple[Values, Values]:
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, np.inf, -np.inf, np.nan, 1e-30, 3e4]
    if dtype.kind == "c":
        special = np.asarray([complex(a, b) for a in parts[:10] for b in parts[:10]], dtype)
        wide = rng.normal(0, 1, (2, 300)) + 1j * rng.normal(0, 3, (2, 300))
        return special[:: 1 if dtype.itemsize == 8 else 3], wide
    # Any bits at all: numbers of all magnitudes.
    whole = f"uint{8 * dtype.itemsize}"
    bits = rng.integers(0, np.iinfo(whole).max, (2, 300), whole).view(dtype)
    near = rng.normal(0, 3, (2, 300)).astype(dtype)
    return np.asarray(parts).astype(dtype), np.concatenate([bits, near], axis=1)


def result_of(
    table: DispatchTable, function: Callable[..., Any], *operands: Any
) -> Values | type[Exception]:
    """Return a function's result on the host, or the class of its exception."""
    try:
        native = function(*operands)
        if type(native) is table.array_type or not isinstance(native, np.generic):
            return table.device._backend.to_host(native, copy=None)
        return np.asarray(native)
    except Exception as error:  # noqa: BLE001 - libraries raise all kinds
        return ValueError if isinstance(error, RuntimeError) else type(error)


def agree(result: Values | type[Exception], expected: Values | type[Exception], label: str) -> None:
    if isinstance(expected, type) or isinstance(result, type):
        assert result is expected, label
        return
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape), label
    if expected.dtype.kind == "c":
        agree(result.real, expected.real, label)
        agree(result.imag, expected.imag, label)
        return
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(result, expected, err_msg=label)
        return
    missing = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(result), missing, err_msg=label)
    whole = f"uint{8 * expected.dtype.itemsize}"
    without_nan = [
        np.where(missing, 0, values).astype(expected.dtype) for values in (result, expected)
    ]
    np.testing.assert_array_equal(
        without_nan[0].view(whole), without_nan[1].view(whole), err_msg=label
    )


# Libraries that compile each function anew for each dtype, which takes seconds in all: here the
# widest dtype of each kind stands for the others.
COMPILING = {"dpnp", "jax"}


def tables(device: Device) -> list[DispatchTable]:
    available = dispatch.dtypes_of(device).values()
    if device.library not in COMPILING:
        return list(available)
    widest = {
        table.kind: table for table in sorted(available, key=lambda table: table.dtype.itemsize)
    }
    return [*widest.values(), dispatch.table_of(device, np.dtype(np.float32))]


@pytest.fixture
def pa_device(device: str) -> Device:
    return pa.device(device)


def native(values: Values, table: DispatchTable) -> Any:
    device = table.device
    return device._backend.from_host(values, device.native, copy=True)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """Ignore NumPy's warnings about special values."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def served(table: DispatchTable, name: str) -> Callable[..., Any] | None:
    """Return the namespace's function for a table's dtype, or None if the standard excludes it."""
    try:
        return table.functions[name]
    except TypeError:
        return None


def test_functions_of_arrays_agree_bit_for_bit(pa_device: Device) -> None:
    for table in tables(pa_device):
        x, y = values_of(table.dtype)
        for name in functions():
            function = served(table, name)
            direct = dispatch.functions_of(pa_device).plain(name, table.dtype)
            if function is None or direct is None or direct is function:
                continue
            second = y % table.dtype.type(8 * table.dtype.itemsize) if "shift" in name else y
            for part in (slice(None), 5, slice(0)):
                operands = [native(np.asarray(v[part]), table) for v in (x, second)]
                operands = operands[: needed(getattr(pa, name))]
                expected = result_of(table, function, *operands)
                agree(
                    result_of(table, direct, *operands),
                    expected,
                    f"{name} of {table.dtype}, {part}",
                )


def scalars_of(table: DispatchTable) -> list[Any]:
    """Return Python scalars that a table's dtype represents exactly."""
    if table.kind == "b":
        return [False, True]
    if table.kind in "iu":
        return [0, 1, 2, 3, table.low, table.high]
    real = [0, 2, -3, 0.0, -0.0, 1.0, -2.5, float("inf"), float("-inf"), float("nan"), 2.0**-14]
    return [*real, 1j, -0.0 - 2.5j, complex("inf-nanj")] if table.kind == "c" else real


def test_functions_beside_scalars_agree_bit_for_bit(pa_device: Device) -> None:
    for table in tables(pa_device):
        x = native(values_of(table.dtype)[0], table)
        for name in functions():
            function = served(table, name) if needed(getattr(pa, name)) == 2 else None
            direct = dispatch.functions_of(pa_device).with_scalar(name, table.dtype)
            if function is None or direct is None or direct is function:
                continue
            for scalar in scalars_of(table):
                if "shift" in name and scalar not in range(8 * table.dtype.itemsize):
                    continue
                if name == "pow" and table.kind == "f" and type(scalar) is int:
                    continue  # PyTorch multiplies, which rounds in another way
                for operands in ((x, scalar), (scalar, x)):
                    aligned = [v if v is x else table.operand(v) for v in operands]
                    expected = result_of(table, function, *aligned)
                    label = f"{name} of {table.dtype} and {scalar}, array first: {operands[0] is x}"
                    got = result_of(table, direct, *operands)
                    if not isinstance(got, type):  # what it refuses, the namespace is asked for
                        agree(got, expected, label)


def test_keys_without_arrays_pick_the_same(pa_device: Device) -> None:
    for table in tables(pa_device):
        getitem = call_cache.basic_getitem(table)
        if getitem is None:
            continue
        for shape in ((3, 2), (3,), (), (0,)):
            values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(table.dtype)
            x = pa.asarray(values, device=pa_device)
            for key in KEYS:
                try:
                    expected = values[key]
                except IndexError:
                    with pytest.raises(IndexError):
                        x[key]
                else:
                    result = x[key]
                    assert (result.shape, result.dtype) == (expected.shape, table.dtype), key
                    agree(table.device._backend.to_host(result.native, copy=None), expected, key)

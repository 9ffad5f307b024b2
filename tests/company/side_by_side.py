"""Another library's call on portarray arrays, beside the same call on NumPy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import portarray as pa

Make = Callable[[Any], Any]
"""Makes an array of values: one of NumPy, or one on a device. Nobody else holds its memory."""


@dataclass(frozen=True)
class Row:
    """One call of another library.

    Parameters
    ----------
    name : str
        What is called.
    call : callable
        Takes a maker of arrays, returns what the other library returned.
    scoped : bool
        Whether that library creates arrays without ``device=``, so that its callers need
        ``with x.device:`` where x is not on the default device.
    host : bool
        Whether it reads the arrays with NumPy, so that their memory must be host memory.
    rtol : float
        Relative tolerance, and absolute, in float64.
    to_numpy : str
        Why the library returns NumPy arrays, where it does; empty where it must not.
    fails : str
        Why the call cannot work, and where that can be read; empty where it must.
    """

    name: str
    call: Callable[[Make], Any]
    scoped: bool = False
    host: bool = False
    rtol: float = 1e-9
    to_numpy: str = ""
    fails: str = ""


def rows_of(module: ModuleType, names: str, arguments: Iterable[Any], **options: Any) -> list[Row]:
    """Return a row for each function of a module, all called with the same arrays."""
    given = list(arguments)

    def row(name: str) -> Row:
        def call(make: Make) -> Any:
            return getattr(module, name)(*map(make, given))

        return Row(f"{module.__name__}.{name}", call, **options)

    return [row(name) for name in names.split()]


class ElsewhereError(AssertionError):
    """An array came back on another device, or as another library's."""


def beside(row: Row, device: str) -> None:
    """Make a row's call with arrays on a device and with NumPy's, and compare all that returns."""
    with warnings.catch_warnings():
        # The other library's warnings are its own matter; ours are not to be caused by it.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", pa.errors.PortarrayWarning)
        expected = row.call(np.array)
        found = row.call(lambda values: pa.asarray(np.array(values), device=device))
    _agree(found, expected, device, row, "the result")


def _agree(found: Any, expected: Any, device: str, row: Row, place: str) -> None:
    """Check a result, or each part of one, against NumPy's."""
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected), place
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            _agree(one, other, device, row, f"{place}[{i}]")
    elif isinstance(expected, (np.ndarray, np.number, np.bool_, bool, int, float, complex)):
        _agree_in_value(found, expected, device, row, place)
    elif hasattr(expected, "__dict__"):
        for name, value in vars(expected).items():
            if not callable(value):
                _agree(getattr(found, name), value, device, row, f"{place}.{name}")
    else:
        assert found == expected, place


def _agree_in_value(found: Any, expected: Any, device: str, row: Row, place: str) -> None:
    wanted = np.asarray(expected)
    if isinstance(found, pa.Array):
        if str(found.device) != device:
            raise ElsewhereError(f"{place} is on {found.device}, not on {device}")
        assert found.dtype == wanted.dtype, place
        values = np.asarray(found.to_device("numpy"))
    else:
        if isinstance(expected, np.ndarray) and not row.to_numpy:
            raise ElsewhereError(f"{place} is {type(found).__name__}, not an array on {device}")
        values = np.asarray(found)
    assert values.shape == wanted.shape, place
    if wanted.dtype.kind in "fc":
        np.testing.assert_allclose(values, wanted, row.rtol, row.rtol, err_msg=place)
    else:
        np.testing.assert_array_equal(values, wanted, err_msg=place)

"""Another library's call on portarray arrays, beside the same call on NumPy arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

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
    requires_default_device : bool
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
    requires_default_device: bool = False
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


NARROW = {
    "float64": "float32",
    "complex128": "complex64",
    "int64": "int32",
    "uint64": "uint32",
}
SINGLE = 2e-3
"""Tolerance in single precision, in which the libraries' own algorithms lose digits too."""

ROUNDED = 1e-6
"""Tolerance in double precision where the default dtype, which the libraries take, is float32."""


def lacking(device: str) -> set[str]:
    """Return the dtypes of 64 bits a part that a device lacks now."""
    info = pa.__array_namespace_info__()
    return set(NARROW) - set(info.dtypes(device=pa.device(device)))


def default_dtype(device: str) -> str:
    """Return the name of a device's default floating-point dtype."""
    info = pa.__array_namespace_info__()
    return str(info.default_dtypes(device=pa.device(device))["real floating"].name)


def beside(row: Row, device: str, *, single: bool = False) -> None:
    """Make a row's call with arrays on a device and with NumPy's, and compare all that returns.

    Both get the same values: in single precision where that is asked for or the device has no
    other, in double precision otherwise.
    """
    absent = lacking(device)
    narrow = absent | {"float64", "complex128"} if single or "float64" in absent else set()

    def values_of(given: Any) -> np.ndarray[Any, Any]:
        values = np.array(given)
        name = values.dtype.name
        return values.astype(NARROW[name]) if name in narrow else values

    with warnings.catch_warnings():
        # The other library's warnings are its own matter; ours are not to be caused by it.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", pa.errors.PortarrayWarning)
        expected = row.call(values_of)
        found = row.call(lambda values: pa.asarray(values_of(values), device=device))
    by_default = default_dtype(device) == "float32"
    tolerance = max(row.rtol, SINGLE if narrow else ROUNDED if by_default else 0)
    _Comparison(device, row, tolerance, absent, by_default).agree(found, expected, "the result")


@dataclass(frozen=True)
class _Comparison:
    device: str
    row: Row
    tolerance: float
    absent: set[str]
    single_by_default: bool

    def agree(self, found: Any, expected: Any, place: str) -> None:
        """Check a result, or each part of one, against NumPy's."""
        if isinstance(expected, (tuple, list)):
            assert len(found) == len(expected), place
            for i, (one, other) in enumerate(zip(found, expected, strict=True)):
                self.agree(one, other, f"{place}[{i}]")
        elif isinstance(expected, (np.ndarray, np.number, np.bool_, bool, int, float, complex)):
            self.agree_in_value(found, expected, place)
        elif hasattr(expected, "__dict__"):
            for name, value in vars(expected).items():
                if not callable(value):
                    self.agree(getattr(found, name), value, f"{place}.{name}")
        else:
            assert found == expected, place

    def agree_in_value(self, found: Any, expected: Any, place: str) -> None:
        """Check numbers against NumPy's."""
        wanted = np.asarray(expected)
        name = wanted.dtype.name
        if isinstance(found, pa.Array):
            assert str(found.device) == self.device, place
            assert found.dtype.name in self.dtypes_for(name), place
            values = np.asarray(found.to_device("numpy"))
        else:
            if isinstance(expected, np.ndarray) and not self.row.to_numpy:
                kind = type(found).__name__
                pytest.fail(f"{place} is {kind}, not an array on {self.device}")
            values = np.asarray(found)
        assert values.shape == wanted.shape, place
        if wanted.dtype.kind in "fc":
            narrower = values.dtype.itemsize < wanted.dtype.itemsize
            tolerance = max(self.tolerance, SINGLE) if narrower else self.tolerance
            np.testing.assert_allclose(values, wanted, tolerance, tolerance, err_msg=place)
        else:
            np.testing.assert_array_equal(values, wanted, err_msg=place)

    def dtypes_for(self, name: str) -> set[str]:
        """Return the dtypes that a result may have where NumPy's has one."""
        narrow = NARROW.get(name, name)
        if name in self.absent:
            return {narrow}
        # Where the other library takes the default dtype, NumPy's is float64.
        return {name, narrow} if self.single_by_default and name == "float64" else {name}

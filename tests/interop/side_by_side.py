"""Compare another library's call on portarray arrays with the call on NumPy arrays."""

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
    host: bool = False
    rtol: float = 1e-9
    to_numpy: str = ""
    fails: str = ""


def rows_of(module: ModuleType, names: str, arguments: Iterable[Any], **options: Any) -> list[Row]:
    """Return a row for each function of a module, all called with the same arrays."""
    first_arguments = list(arguments)

    def row(name: str) -> Row:
        def call(make: Make) -> Any:
            return getattr(module, name)(*map(make, first_arguments))

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
    """Return the dtypes of double precision that a device lacks under its settings."""
    info = pa.__array_namespace_info__()
    return set(NARROW) - set(info.dtypes(device=pa.device(device)))


def default_dtype(device: str) -> str:
    """Return the name of a device's default floating-point dtype."""
    info = pa.__array_namespace_info__()
    return str(info.default_dtypes(device=pa.device(device))["real floating"].name)


def beside(row: Row, device: str, *, single: bool = False) -> None:
    """Make a row's call on a device and with NumPy, and compare the results.

    Both get the same values: in single precision on request or if the device has no other, in
    double precision otherwise.
    """
    missing = lacking(device)
    narrow = missing | {"float64", "complex128"} if single or "float64" in missing else set()

    def values_of(x: Any) -> np.ndarray[Any, Any]:
        values = np.array(x)
        name = values.dtype.name
        return values.astype(NARROW[name]) if name in narrow else values

    with warnings.catch_warnings():
        # The other library's warnings are its own matter; ours are not to be caused by it.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", pa.errors.PortarrayWarning)
        expected = row.call(values_of)
        actual = row.call(lambda values: pa.asarray(values_of(values), device=device))
    by_default = default_dtype(device) == "float32"
    tolerance = max(row.rtol, SINGLE if narrow else ROUNDED if by_default else 0)
    _Comparison(device, row, tolerance, missing, by_default).agree(actual, expected, "the result")


@dataclass(frozen=True)
class _Comparison:
    device: str
    row: Row
    tolerance: float
    missing: set[str]
    single_by_default: bool

    def agree(self, actual: Any, expected: Any, path: str) -> None:
        """Check a result, or each part of one, against NumPy's."""
        if isinstance(expected, (tuple, list)):
            assert len(actual) == len(expected), path
            for i, (x, y) in enumerate(zip(actual, expected, strict=True)):
                self.agree(x, y, f"{path}[{i}]")
        elif isinstance(expected, (np.ndarray, np.number, np.bool_, bool, int, float, complex)):
            self.agree_in_value(actual, expected, path)
        elif hasattr(expected, "__dict__"):
            for name, value in vars(expected).items():
                if not callable(value):
                    self.agree(getattr(actual, name), value, f"{path}.{name}")
        else:
            assert actual == expected, path

    def agree_in_value(self, actual: Any, expected: Any, path: str) -> None:
        """Check numbers against NumPy's."""
        reference = np.asarray(expected)
        name = reference.dtype.name
        if isinstance(actual, pa.Array):
            assert str(actual.device) == self.device, path
            assert actual.dtype.name in self.dtypes_for(name), path
            values = np.asarray(actual.to_device("numpy"))
        else:
            if isinstance(expected, np.ndarray) and not self.row.to_numpy:
                kind = type(actual).__name__
                pytest.fail(f"{path} is {kind}, not an array on {self.device}")
            values = np.asarray(actual)
        assert values.shape == reference.shape, path
        if reference.dtype.kind in "fc":
            narrower = values.dtype.itemsize < reference.dtype.itemsize
            tolerance = max(self.tolerance, SINGLE) if narrower else self.tolerance
            np.testing.assert_allclose(values, reference, tolerance, tolerance, err_msg=path)
        else:
            np.testing.assert_array_equal(values, reference, err_msg=path)

    def dtypes_for(self, name: str) -> set[str]:
        """Return the dtypes that a result may have where NumPy's has one."""
        narrow = NARROW.get(name, name)
        if name in self.missing:
            return {narrow}
        # Where the other library takes the default dtype, NumPy's is float64.
        return {name, narrow} if self.single_by_default and name == "float64" else {name}

"""What a kernel is tested with: its arguments, how it is launched, and what NumPy says."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class View:
    """An argument that is part of another array: ``base[key]``, then transposed."""

    base: Values
    key: tuple[slice | int, ...] = (slice(None),)
    transposed: bool = False

    def of(self, array: Any) -> Any:
        """Return the part of any library's array."""
        part = array[self.key]
        return part.T if self.transposed else part


@dataclass(frozen=True)
class Case:
    """A kernel in plain Python, which a test wraps with ``pa.kernel``.

    ``make`` returns the arguments in order, as NumPy arrays, views of them, scalars and static
    values. ``expected`` takes the same, views as NumPy arrays, and returns the arrays that the
    kernel writes, in order, computed in another way; it may change what it is given.
    """

    kernel: Callable[..., None]
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    expected: Callable[..., tuple[Values, ...]]
    ndrange: tuple[int, ...] | None = None  # None: the shape of the first written parameter
    group: tuple[int, ...] | None = None
    static: tuple[str, ...] = ()
    tolerance: float = 0.0  # relative to the largest value; 0: the same bits (NaN as NaN)
    atomics64: bool = False  # the device needs 64-bit atomics
    prints: str = ""  # a line that it prints in debug mode
    variant: str = ""  # where one kernel has several cases

    @property
    def name(self) -> str:
        """The case's name in reports."""
        subject = self.kernel.__module__.rpartition(".")[2]
        return f"{subject}-{self.kernel.__name__}" + (f"-{self.variant}" if self.variant else "")

    def arguments(self, seed: int = 0) -> tuple[Any, ...]:
        """Return new arguments, the same for the same seed."""
        return self.make(np.random.default_rng(seed))

    def placed(self, put: Callable[[Values], Any], seed: int = 0) -> list[Any]:
        """Return new arguments whose arrays are what `put` makes of them, and views of that."""

        def there(value: Any) -> Any:
            if isinstance(value, View):
                return value.of(put(value.base))
            return put(value) if isinstance(value, np.ndarray) else value

        return [there(value) for value in self.arguments(seed)]

    def want(self, seed: int = 0) -> tuple[Values, ...]:
        """Return what the kernel has to return."""
        arguments = self.placed(lambda array: array, seed)
        with np.errstate(all="ignore"):
            return self.expected(*arguments)

    def dtypes(self) -> set[np.dtype[Any]]:
        """Return the dtypes of the arrays, which a device must have."""
        arrays = (v.base if isinstance(v, View) else v for v in self.arguments())
        return {array.dtype for array in arrays if isinstance(array, np.ndarray)}

    def check(
        self, got: tuple[Values, ...], seed: int = 0, want: tuple[Values, ...] | None = None
    ) -> None:
        """Raise AssertionError where the returned arrays, as NumPy's, are not what is wanted."""
        want = self.want(seed) if want is None else want
        assert len(got) == len(want), f"{len(got)} arrays returned, {len(want)} written"
        for index, (actual, desired) in enumerate(zip(got, want, strict=True)):
            where = f"{self.name}, written array {index}"
            assert actual.dtype == desired.dtype, f"{where}: {actual.dtype}, not {desired.dtype}"
            if not self.tolerance:
                np.testing.assert_array_equal(actual, desired, err_msg=where)
                continue
            actual, desired = (_as_doubles(array) for array in (actual, desired))
            finite = np.abs(desired[np.isfinite(desired)])
            largest = float(finite.max()) if finite.size else 0.0
            np.testing.assert_allclose(
                actual, desired, rtol=self.tolerance, atol=self.tolerance * largest, err_msg=where
            )


def _as_doubles(array: Values) -> Values:
    """Return the values, the parts of complex ones, in double precision."""
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag])
    return array.astype(np.float64)


def all_cases() -> list[Case]:
    """Return the cases of every module beside this one."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    modules = [importlib.import_module(f"cases.{name}") for name in names if name != "case"]
    return [case for module in modules for case in module.CASES]

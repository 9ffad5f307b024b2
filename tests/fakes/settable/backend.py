from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from over_numpy import FakeArray, Library, OverNumpy

WIDE = ContextVar("WIDE", default=True)
"""The user's setting, of each thread its own."""

LACKING = ("int64", "uint64", "float64", "complex128")


class SetError(Exception):
    """The exception that the library raises for every error."""


class Deferred(FakeArray):
    """An array of the library's second class."""

    __slots__ = ()


class Settable(Library):
    """A library whose unsupported dtypes depend on a setting."""

    @property
    def lacking(self) -> tuple[str, ...]:
        return () if WIDE.get() else LACKING

    @lacking.setter
    def lacking(self, lacking: tuple[str, ...]) -> None:
        assert lacking == ()

    def _bare(self, value: Any, arrays: list[FakeArray]) -> Any:
        if isinstance(value, Deferred):
            arrays.append(value)
            return value.data
        try:
            return super()._bare(value, arrays)
        except TypeError as error:
            raise SetError(str(error)) from error

    def check(self, dtype: np.dtype[Any]) -> None:
        if dtype.name in self.lacking:
            raise TypeError(f"{self.name} has no {dtype}")


LIBRARY = Settable("settable", "rocm", 1, "gpu", on_host=True)
Deferred.library = LIBRARY


@contextmanager
def wide(setting: bool) -> Iterator[None]:
    """Change the setting for a block."""
    token = WIDE.set(setting)
    try:
        yield
    finally:
        WIDE.reset(token)


class Fake(OverNumpy):
    _library = LIBRARY
    standard = LIBRARY.standard()

    def configuration(self) -> bool:
        return WIDE.get()

    def dtypes(self, platform: str, index: int) -> dict[np.dtype[Any], np.dtype[Any]]:
        return {dtype: dtype for dtype in LIBRARY.dtypes if dtype.name not in LIBRARY.lacking}

    def owns(self, x: object) -> bool:
        return isinstance(x, LIBRARY.array_type | Deferred)

    def translate_error(self, error: Exception) -> Exception | None:
        return TypeError(str(error)) if isinstance(error, SetError) else None


BACKEND = Fake

"""Creation functions for ``dask.config.set({"array.backend": "portarray"})``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import dask
import dask.array as da
from dask.array.backends import ArrayBackendEntrypoint

from portarray.dask import block_placement, creation, random_methods

__all__ = ["PortarrayBackend", "install_functions"]


class PortarrayBackend(ArrayBackendEntrypoint):  # type: ignore[misc]
    """Creation functions of ``dask.array`` with portarray chunks, on each worker's default device.

    Entry point ``dask.array.backends``.
    """

    @staticmethod
    def ones(shape: Any, *, dtype: Any = None, chunks: Any = "auto", **_: Any) -> da.Array:
        """Return a Dask array of ones."""
        return creation.ones(shape, dtype=dtype, chunks=chunks)

    @staticmethod
    def zeros(shape: Any, *, dtype: Any = None, chunks: Any = "auto", **_: Any) -> da.Array:
        """Return a Dask array of zeros."""
        return creation.zeros(shape, dtype=dtype, chunks=chunks)

    @staticmethod
    def empty(shape: Any, *, dtype: Any = None, chunks: Any = "auto", **_: Any) -> da.Array:
        """Return a Dask array of any values."""
        return creation.empty(shape, dtype=dtype, chunks=chunks)

    @staticmethod
    def full(
        shape: Any, fill_value: Any, *, dtype: Any = None, chunks: Any = "auto", **_: Any
    ) -> da.Array:
        """Return a Dask array of one value."""
        return creation.full(shape, fill_value, dtype=dtype, chunks=chunks)

    @staticmethod
    def arange(
        start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None,
        chunks: Any = "auto", **_: Any,
    ) -> da.Array:  # fmt: skip
        """Return a Dask array of evenly spaced values."""
        return creation.arange(start, stop, step, dtype=dtype, chunks=chunks)

    @property
    def default_bit_generator(self) -> type:
        """The bit generator of ``da.random.default_rng``."""
        return random_methods.BitGenerator

    @property
    def RandomState(self) -> type:  # noqa: N802  (the name that Dask looks up)
        """The class whose methods draw the blocks of ``da.random.RandomState``."""
        return random_methods.RandomState

    @staticmethod
    def to_backend(data: da.Array, **_: Any) -> da.Array:
        """Return an array with portarray chunks."""
        return block_placement.to_device(data, None)


def install_functions() -> None:
    """Let the functions of ``dask.array`` that ask no backend create portarray chunks, too."""
    for name in ("diag", "eye", "indices", "linspace", "tri"):
        setattr(da, name, _on_backend(getattr(da, name)))


def _on_backend(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def created(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        if dask.config.get("array.backend", None) != "portarray":
            return result
        if isinstance(result, tuple):  # `linspace` with its step
            return block_placement.to_device(result[0], None), *result[1:]
        return block_placement.to_device(result, None)

    return created

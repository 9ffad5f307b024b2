"""The backend through which einops' plain functions take arrays.

einops asks the subclasses of its ``AbstractBackend`` which of them knows an array. This module is
imported with einops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from portarray._namespace import pa

__all__ = ["define_backend"]


class Operations:
    """The operations of einops' ``AbstractBackend`` on arrays."""

    framework_name = "portarray"

    def is_appropriate_type(self, tensor: object) -> bool:
        """Return whether an object is an array."""
        return type(tensor) is pa.Array

    def from_numpy(self, x: Any) -> Any:
        """Return an array on the default device."""
        return pa.asarray(x)

    def to_numpy(self, x: Any) -> Any:
        """Return the values in host memory, for ``einops.asnumpy``."""
        return np.asarray(x.to_device("numpy"))

    def arange(self, start: int, stop: int) -> Any:
        """Return integers on the default device."""
        return pa.arange(start, stop)

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return the values in another shape."""
        return pa.reshape(x, shape)

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        """Permute all axes."""
        return pa.permute_dims(x, tuple(axes))

    def reduce(self, x: Any, operation: str, axes: tuple[int, ...]) -> Any:
        """Reduce axes by the function of this name."""
        return getattr(pa, operation)(x, axis=axes)

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
        """Join arrays along a new first axis."""
        return pa.stack(tensors)

    def tile(self, x: Any, repeats: tuple[int, ...]) -> Any:
        """Repeat the array along each axis."""
        return pa.tile(x, repeats)

    def concat(self, tensors: list[Any], axis: int) -> Any:
        """Join arrays along an axis."""
        return pa.concat(tensors, axis=axis)

    def is_float_type(self, x: Any) -> bool:
        """Return whether means of the array are defined."""
        return bool(pa.isdtype(x.dtype, "real floating"))

    def add_axis(self, x: Any, new_position: int) -> Any:
        """Insert an axis of length one."""
        return pa.expand_dims(x, axis=new_position)

    def einsum(self, pattern: str, *x: Any) -> Any:
        """Sum products of arrays over named axes."""
        return np.einsum(pattern, *x)


_classes: list[type] = []  # einops finds subclasses, but does not keep them


def define_backend(module: Any) -> None:
    """Define a subclass of the ``AbstractBackend`` in ``einops._backends``."""
    _classes.append(type("PortarrayBackend", (Operations, module.AbstractBackend), {}))

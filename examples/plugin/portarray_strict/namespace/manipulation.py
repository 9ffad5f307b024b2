"""Shapes of arrays, where the library raises another error than portarray promises."""

from __future__ import annotations

from typing import Any

import array_api_strict as strict

__all__ = ["reshape"]


def reshape(x: Any, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Any:
    """Return an array in another shape.

    Raises
    ------
    ValueError
        If ``copy=False`` and the shape needs a copy; the library raises AttributeError.
    """
    try:
        return strict.reshape(x, shape, copy=copy)
    except AttributeError as error:
        raise ValueError(
            f"copy=False, but reshaping {x.shape} to {shape} needs a copy; pass copy=None"
        ) from error

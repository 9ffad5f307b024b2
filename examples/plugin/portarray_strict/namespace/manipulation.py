"""Shapes of arrays, where the library raises another error than portarray promises."""

from typing import Any

import array_api_strict as strict


def reshape(x: Any, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Any:
    """Return an array in another shape."""
    try:
        return strict.reshape(x, shape, copy=copy)
    except AttributeError as error:
        raise ValueError("copy=False, but this shape needs a copy; pass copy=None") from error

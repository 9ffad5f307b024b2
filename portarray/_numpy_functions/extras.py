"""NumPy's functions in portarray's namespace, beyond the standard: ``pa.pad``, ``pa.median``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from portarray._array import interop, operands
from portarray._namespace import pa
from portarray._numpy_functions import table

__all__ = ["function"]


@cache
def function(name: str) -> Callable[..., Any]:
    """Return the function of arrays that computes what NumPy's function of its name does."""
    numpys = getattr(np, name)

    def extra(*args: Any, **options: Any) -> Any:
        interop.check_name(name)
        first = _first_array((*args, *options.values()))
        if first is None:
            raise operands.refused(args[0] if args else None, name)
        if isinstance(numpys, np.ufunc):
            return numpys(*args, **options)
        return table.answer(numpys, (pa.Array,), args, options, first)

    extra.__name__ = extra.__qualname__ = name
    extra.__module__ = "portarray"
    extra.__doc__ = f"As :func:`numpy.{name}` of arrays, computed on their device."
    extra.__wrapped__ = numpys  # type: ignore[attr-defined]  # its signature
    return extra


def _first_array(values: Iterable[Any]) -> Any:
    """Return the first array among values and in sequences of them, or None."""
    for x in values:
        if isinstance(x, (list, tuple)):
            x = _first_array(x)
        if type(x) is pa.Array:
            return x
    return None

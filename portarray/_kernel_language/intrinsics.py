"""Intrinsics: the kernel language's own functions, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

LANGUAGE = "portarray.kernel_language"
"""The module of the language's own functions."""
PLACES = ("index", "local_index", "group_index", "group_size", "group_count", "global_size")
LINEAR = {"linear_index": "index", "local_linear_index": "local_index"}
ATOMICS = {
    "atomic_add": "add", "atomic_min": "min", "atomic_max": "max", "atomic_exchange": "exchange",
    "atomic_compare_exchange": "compare_exchange",
}  # fmt: skip


class Helper:
    """A function that kernels may call; created by ``pa.kernel.function``, which reads its text.

    The package decorates its own with this class, so that the text is read with the first kernel.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)  # first: it may have an attribute of this name
        self.function = cast("FunctionType", function)

    def __call__(self, *args: Any) -> Any:
        """Call the function as plain Python."""
        return self.function(*args)


def language_word(value: Any) -> str | None:
    """Return the name of a function of the kernel language, or None."""
    is_intrinsic = isinstance(value, FunctionType) and value.__module__ == LANGUAGE
    return value.__name__ if is_intrinsic else None

"""array-api-extra's ``lazy_xp_function``: tagged functions are compiled on lazy libraries."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from portarray._devices.device import Device
from portarray._transforms.compiling.compiled import compile as compiled
from portarray.testing import _marks

__all__ = ["traced_functions"]


@contextmanager
def traced_functions(module: Any, device: Device) -> Iterator[None]:
    """Compile the tagged functions of a module if the device's library is lazy.

    As ``array_api_extra.testing.patch_lazy_xp_functions`` does with ``jax.jit``: a traced function
    that reads values raises an error.
    """
    replaced: list[tuple[Any, str, Any]] = []
    if module is not None and _marks.is_lazy(device):
        for target in (module, *getattr(module, "lazy_xp_modules", ())):
            for name, function in list(vars(target).items()):
                tags = getattr(function, "_lazy_xp_function", None)
                if isinstance(tags, dict) and tags.get("jax_jit", True):
                    replaced.append((target, name, function))
    try:
        for target, name, function in replaced:
            setattr(target, name, functools.wraps(function)(compiled(function)))
        yield
    finally:
        for target, name, function in replaced:
            setattr(target, name, function)

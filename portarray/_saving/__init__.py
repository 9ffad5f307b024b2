"""Saving and loading trees of arrays in safetensors files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["CLASSES", "SavedClass"]


class SavedClass(NamedTuple):
    """A class whose objects are saved, in a module that is imported when the first one is met."""

    module: str
    load: Callable[[], Any]
    """Imports the module, whose ``flattened`` returns an object's arrays by name and a text, and
    whose ``unflattened`` makes an object of them."""


CLASSES: dict[str, SavedClass] = {}
"""Saved classes by their name in files. ``portarray`` adds them: they are defined above this
package."""

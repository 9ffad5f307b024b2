"""Objects that decorators put in the place of functions."""

from __future__ import annotations

import sys
from operator import attrgetter
from typing import Any, SupportsIndex


class Decorated:
    """An object that is pickled and copied as functions are: by its name.

    Where its module does not have it by that name, ``__reduce__`` of the class decides.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        name = getattr(self, "__qualname__", "")
        try:
            named = attrgetter(name)(sys.modules[self.__module__])
        except (AttributeError, KeyError):  # of a function's local names, or another process
            named = None
        return name if named is self else super().__reduce_ex__(protocol)

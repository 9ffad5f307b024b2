"""Cases, each one check of one name of the standard, and their registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis.strategies import DataObject

from portarray_conformance.names import CATEGORY_OF
from portarray_conformance.target import Target

Draw: TypeAlias = DataObject
"""Hypothesis' data object: ``draw.draw(strategy, label=...)``."""


Check: TypeAlias = Callable[[Target, Draw], None]


@dataclass(frozen=True)
class Case:
    """One check of one name of the standard.

    Parameters
    ----------
    function
        Such as ``"sin"``, ``"linalg.svd"``, ``"fft.rfft"``, ``"array.__add__"``, ``"info.dtypes"``.
    category
        The standard's category, as in :mod:`portarray_conformance.names`.
    aspect
        What is checked: ``"values"``, ``"special"``, ``"dtypes"``, ``"shape"``, ...
    check
        Draws inputs, calls the target, and raises if the answer is wrong.
    """

    function: str
    category: str
    aspect: str
    check: Check


_registry: dict[tuple[str, str], Case] = {}


def case(function: str, aspect: str, *, category: str | None = None) -> Callable[[Check], Check]:
    """Register a check of a function; a decorator.

    Parameters
    ----------
    function, aspect, category
        As in :class:`Case`; by default the category that lists the function.

    Raises
    ------
    ValueError
        If the function already has a check of this aspect.
    """

    def register(check: Check) -> Check:
        key = (function, aspect)
        if key in _registry:
            raise ValueError(f"{function} has two checks called {aspect!r}; rename one of them")
        _registry[key] = Case(function, category or CATEGORY_OF[function], aspect, check)
        return check

    return register


def registered() -> list[Case]:
    """Return every case registered so far."""
    return list(_registry.values())

"""One case is one check of one name of the standard; the registry holds them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hypothesis.strategies import DataObject

if TYPE_CHECKING:
    from portarray_conformance.target import Target

Draw: TypeAlias = DataObject
"""Hypothesis' data object: ``draw.draw(strategy, label=...)``."""


Check: TypeAlias = "Callable[[Target, Draw], None]"


@dataclass(frozen=True)
class Case:
    """One check of one name of the standard.

    Parameters
    ----------
    function
        Such as ``"sin"``, ``"linalg.svd"``, ``"fft.rfft"``, ``"array.__add__"``, ``"info.dtypes"``.
    chapter
        The standard's chapter, as in :mod:`portarray_conformance.names`.
    aspect
        What is checked of it: ``"values"``, ``"special"``, ``"dtypes"``, ``"shape"``, ...
    check
        Draws inputs, calls the target, and raises where the answer is wrong.
    """

    function: str
    chapter: str
    aspect: str
    check: Check


_registry: dict[tuple[str, str], Case] = {}


def case(function: str, aspect: str, *, chapter: str) -> Callable[[Check], Check]:
    """Register a check of a function; a decorator.

    Raises
    ------
    ValueError
        Where this function already has a check of this aspect.
    """

    def register(check: Check) -> Check:
        key = (function, aspect)
        if key in _registry:
            raise ValueError(f"{function} has two checks called {aspect!r}; name one otherwise")
        _registry[key] = Case(function=function, chapter=chapter, aspect=aspect, check=check)
        return check

    return register


def registered() -> list[Case]:
    """Return every case that was registered so far."""
    return list(_registry.values())

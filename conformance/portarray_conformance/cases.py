"""One case is one check of one name of the standard; the registry holds them all."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hypothesis.strategies import DataObject

if TYPE_CHECKING:
    from portarray_conformance.target import Target

Draw: TypeAlias = DataObject
"""Hypothesis' data object: ``draw.draw(strategy, label=...)``."""


class NotApplicable(Exception):  # noqa: N818  (it is no error: the case does not apply)
    """A case does not apply to a target, for instance because the target lacks the dtype."""


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


def all_cases(functions: Iterable[str] | None = None) -> list[Case]:
    """Return the cases of the suite, chapter by chapter, or those of some functions.

    Raises
    ------
    ValueError
        Where a name has no case; the message names the nearest that do.
    """
    from portarray_conformance import suite  # the chapters register themselves on import

    found = [c for chapter in suite.CHAPTERS for c in _registry.values() if c.chapter == chapter]
    if functions is None:
        return found
    wanted = list(dict.fromkeys(functions))
    known = {c.function for c in found}
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise ValueError(f"no case checks a function {name!r}{hint}")
    return [c for c in found if c.function in wanted]

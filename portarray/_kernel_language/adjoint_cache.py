"""The adjoints of a kernel, by the types of calls."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from portarray._kernel_language import launch_cache, tree
from portarray._kernel_language.adjoint import Adjoint, adjoint_of
from portarray._kernel_language.arguments import CallSpec
from portarray._kernel_language.captures import Captures
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.preparing import read_on_any_device, written_arguments
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.simple_statements import Unsupported
from portarray.errors import NoGradientError

_numbers = itertools.count(1)


@dataclass(slots=True)
class Entry:
    """An adjoint, and the kernel made of it when it runs first."""

    adjoint: Adjoint
    filename: str
    captures: Captures
    kernel: Any = None


class AdjointCache:
    """The adjoints of one kernel."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._entries: dict[Any, Entry] = {}
        self._readings: dict[Any, tuple[tree.Function, Setting, Captures]] = {}

    def written(self, spec: CallSpec) -> list[int]:
        """Return the positions of the arguments that the kernel writes."""
        return written_arguments(self._definition, self.function(spec))

    def function(self, spec: CallSpec) -> tree.Function:
        """Return the typed tree of the kernel."""
        return self._read(spec)[0]

    def of(self, spec: CallSpec, wanted: frozenset[str], *, saves: bool = True) -> Entry:
        """Return the adjoint for a call.

        Parameters
        ----------
        wanted
            The arrays whose cotangents are needed.
        saves
            Whether it saves states of loops; it does not have an adjoint then.

        Raises
        ------
        NoGradientError
            If a statement does not have a derivative.
        """
        key = spec.key, wanted, saves
        entry = self._entries.get(key)
        if entry is None or not entry.captures.are_current():
            function, setting, captures = self._read(spec)
            name = self._definition.name
            try:
                adjoint = adjoint_of(function, setting, wanted, saves=saves)
            except Unsupported as error:
                problem = error.location.source.problem(error.location.at, str(error))
                raise NoGradientError(
                    name,
                    f"{error} in line {problem.line} of {problem.filename}: "
                    f"{problem.text.strip()}\nHint: define its derivative with pa.custom_vjp",
                ) from None
            entry = Entry(adjoint, f"<adjoint {next(_numbers)} of {name}>", captures)
            launch_cache.put(self._entries, key, entry, launch_cache.MOST_PROGRAMS)
        return entry

    def _read(self, spec: CallSpec) -> tuple[tree.Function, Setting, Captures]:
        reading = self._readings.get(spec.key)
        if reading is None or not reading[2].are_current():
            reading = read_on_any_device(self._definition, spec)
            launch_cache.put(self._readings, spec.key, reading, launch_cache.MOST_PROGRAMS)
        return reading

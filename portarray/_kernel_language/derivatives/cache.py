"""The adjoints of a kernel, by the types of calls."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from portarray._array.array import Array
from portarray._kernel_language import launch_cache, tree
from portarray._kernel_language.arguments import CallSpec
from portarray._kernel_language.captures import Captures
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.derivatives.adjoint import Adjoint, adjoint_of
from portarray._kernel_language.derivatives.simple_statements import Unsupported
from portarray._kernel_language.preparing import read_on_any_device, written_arguments
from portarray._kernel_language.setting import Setting
from portarray.errors import NoGradientError

_numbers = itertools.count(1)


@dataclass(slots=True)
class Entry:
    """An adjoint, and the kernel made of it when it runs first."""

    adjoint: Adjoint
    filename: str
    captures: Captures
    kernel: Any = None


def no_gradient(definition: Definition, error: Unsupported) -> NoGradientError:
    """Return the error for a kernel without a derivative, which shows the line."""
    problem = error.location.source.problem(error.location.at, str(error))
    return NoGradientError(
        definition.name,
        f"{error} in line {problem.line} of {problem.filename}: {problem.text.strip()}\n"
        f"Hint: define its derivative with pa.custom_vjp",
    )


def all_floats(definition: Definition, spec: CallSpec) -> frozenset[str]:
    """Return the arrays of a call that may have a derivative."""
    return frozenset(
        name
        for name, x in zip(definition.names, spec.args, strict=True)
        if type(x) is Array and x._dispatch.kind == "f"
    )


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

    def of(self, spec: CallSpec, differentiated: frozenset[str], *, saves: bool = True) -> Entry:
        """Return the adjoint for a call.

        Parameters
        ----------
        differentiated
            The arrays whose cotangents are needed.
        saves
            Whether it saves states of loops; it does not have an adjoint then.

        Raises
        ------
        NoGradientError
            If a statement does not have a derivative.
        """
        key = spec.key, differentiated, saves
        entry = self._entries.get(key)
        if entry is None or not entry.captures.are_current():
            function, setting, captures = self._read(spec)
            try:
                adjoint = adjoint_of(function, setting, differentiated, saves=saves)
            except Unsupported as error:
                raise no_gradient(self._definition, error) from None
            filename = f"<adjoint {next(_numbers)} of {self._definition.name}>"
            entry = Entry(adjoint, filename, captures)
            launch_cache.put(self._entries, key, entry, launch_cache.MOST_PROGRAMS)
        return entry

    def _read(self, spec: CallSpec) -> tuple[tree.Function, Setting, Captures]:
        reading = self._readings.get(spec.key)
        if reading is None or not reading[2].are_current():
            reading = read_on_any_device(self._definition, spec)
            launch_cache.put(self._readings, spec.key, reading, launch_cache.MOST_PROGRAMS)
        return reading

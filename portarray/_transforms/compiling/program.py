"""Programs: functions of arrays that were compiled for one signature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portarray._array.array import Array
from portarray._array.results import reraise, wrapped
from portarray._transforms.compiling import codegen
from portarray._transforms.compiling.explanation import Explanation
from portarray._transforms.compiling.signatures import setting

__all__ = ["Program"]

Function = Callable[..., Any]


class Program:
    """A function compiled for arguments of one signature."""

    def __init__(
        self, run: Function, tables: list[Any], build: Function, explanation: Explanation
    ) -> None:
        self._run = run
        self._tables = tables  # of the outputs
        self._build = build
        self._fast_path: Function | None = None
        self.explanation = explanation

    def __call__(self, arrays: Sequence[Array]) -> Any:
        """Return the output for the arrays of a call."""
        try:
            natives = self._run(*[x._native for x in arrays])
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            reraise(error, self.explanation.name, *self.explanation.devices)
        pairs = zip(natives, self._tables, strict=True)
        return self._build([wrapped(native, table) for native, table in pairs])

    def fast_path(self, arrays: Sequence[Array]) -> Function:
        """Return a function for calls whose arguments are arrays like these.

        It returns :data:`codegen.OTHER` for other arguments.
        """
        if self._fast_path is None:
            name, devices = self.explanation.name, self.explanation.devices
            self._fast_path = codegen.fast_path(
                self._run, arrays, setting(), self._tables, self._build, name, devices
            )
        return self._fast_path

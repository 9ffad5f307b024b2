"""Errors in kernels: those of a compiler, at the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a kernel, and where."""

    message: str
    filename: str
    line: int
    column: int
    end: int
    text: str

    def shown(self) -> str:
        """Return the place, the line with a caret, and the message."""
        caret = " " * self.column + "^" * max(1, self.end - self.column)
        lines = (
            f'  File "{self.filename}", line {self.line}',
            f"    {self.text.rstrip()}",
            f"    {caret}",
            self.message,
        )
        return "\n".join(lines)


class KernelSyntaxError(SyntaxError):
    """What stands in a kernel is not in the kernel language, or does not fit its types.

    All problems of a kernel are reported together; ``problems`` holds them, and the attributes of
    :class:`SyntaxError` tell where the first one is.
    """

    def __init__(self, problems: Sequence[Problem] | str) -> None:
        if isinstance(problems, str):  # as unpickled
            super().__init__(problems)
            self.problems: tuple[Problem, ...] = ()
            return
        self.problems = tuple(problems)
        first = self.problems[0]
        message = first.message
        if len(self.problems) > 1:
            rest = "\n".join(one.shown() for one in self.problems[1:])
            message = f"{message}\nand {len(self.problems) - 1} more:\n{rest}"
        super().__init__(
            message,
            (first.filename, first.line, first.column + 1, first.text, first.line, first.end + 1),
        )

    def __reduce__(self) -> tuple[type[KernelSyntaxError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)

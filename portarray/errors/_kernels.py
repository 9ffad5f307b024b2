"""Errors of user kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from portarray.errors._base import PortarrayError


class KernelBuildError(PortarrayError, RuntimeError):
    """A device's compiler rejected a kernel.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    device : str
        The device, as its library names it.
    log : str
        The compiler's output; empty if the library does not pass it on.
    text : str
        The source of the program.

    Examples
    --------
    >>> import portarray as pa
    >>> error = pa.KernelBuildError("saxpy", "a GPU", "line 3: unknown type name 'half'")
    >>> print(error)
    saxpy: the compiler of a GPU rejected the kernel:
    line 3: unknown type name 'half'
    >>> error.log  # the compiler's output, for a report
    "line 3: unknown type name 'half'"
    """

    def __init__(self, kernel: str, device: str, log: str, text: str = "") -> None:
        self.kernel = kernel
        self.device = device
        self.log = log
        self.text = text
        output = f":\n{log.strip()}" if log.strip() else " without a message"
        super().__init__(f"{kernel}: the compiler of {device} rejected the kernel{output}")


class KernelDebugError(PortarrayError, RuntimeError):
    """An error at a line of an interpreted kernel.

    Indices are always checked. ``pa.config(kernel_debug=True)`` also checks for integer division by
    zero, reads of uninitialized memory, data races between work-items, and barriers that some
    work-items of a group do not reach.

    Parameters
    ----------
    message : str
        What is wrong.
    kernel : str
        Name of the function.
    filename : str
        File of the function.
    line : int
        Line number in the file.
    text : str
        Source of the line.
    work_item : tuple of int
        Index of the work-item in the ndrange.
    values : mapping
        Values of the local variables.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.kernel_language as kl
    >>> @pa.kernel
    ... def shift(y, x):
    ...     i = kl.index()
    ...     y[i] = x[i + 1]
    >>> try:
    ...     shift.interpret(pa.zeros(3), pa.ones(3))
    ... except pa.KernelDebugError as error:
    ...     print(error.text.strip(), error.work_item, error.values)
    y[i] = x[i + 1] (2,) {'i': 2}
    """

    def __init__(
        self,
        message: str,
        kernel: str,
        filename: str,
        line: int,
        text: str,
        work_item: tuple[int, ...],
        values: Mapping[str, Any],
    ) -> None:
        self.message = message
        self.kernel = kernel
        self.filename = filename
        self.line = line
        self.text = text
        self.work_item = work_item
        self.values = dict(values)
        index = work_item[0] if len(work_item) == 1 else work_item
        variables = ", ".join(f"{name} = {value!r}" for name, value in self.values.items())
        super().__init__(
            f'{message}\n  File "{filename}", line {line}, in {kernel}, work-item {index}\n'
            f"    {text}" + (f"\n  where {variables}" if variables else "")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            *(self.message, self.kernel, self.filename, self.line, self.text, self.work_item),
            self.values,
        )


class KernelIndexError(KernelDebugError, IndexError):
    """An index out of bounds in an interpreted kernel.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.kernel_language as kl
    >>> @pa.kernel
    ... def shift(y, x):
    ...     i = kl.index()
    ...     y[i] = x[i + 1]
    >>> shift.interpret(pa.zeros(3), pa.ones(3))
    Traceback (most recent call last):
        ...
    portarray.errors.KernelIndexError: index 3 is outside axis 0 of length 3 (of x)...
    """


class KernelZeroDivisionError(KernelDebugError, ZeroDivisionError):
    """Integer division by zero in an interpreted kernel, in debug mode; devices return 0.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.kernel_language as kl
    >>> @pa.kernel
    ... def divide(y, x):
    ...     i = kl.index()
    ...     y[i] = 7 // x[i]
    >>> x = pa.asarray([2, 0], dtype="int32")
    >>> divide.interpret(pa.zeros_like(x), x).tolist()
    [3, 0]
    >>> with pa.config(kernel_debug=True):
    ...     divide.interpret(pa.zeros_like(x), x)
    Traceback (most recent call last):
        ...
    portarray.errors.KernelZeroDivisionError: 7 // 0...
    """


class KernelProblem(NamedTuple):
    """A problem in a kernel and its location.

    Parameters
    ----------
    message : str
        What is wrong.
    filename : str
        The file.
    line : int
        Line number.
    column, end : int
        First column, and the column after the last, counted from 0.
    text : str
        Source of the line.
    """

    message: str
    filename: str
    line: int
    column: int
    end: int
    text: str

    def shown(self) -> str:
        """Return the location, the line with a caret, and the message."""
        caret = " " * self.column + "^" * max(1, self.end - self.column)
        lines = (
            f'  File "{self.filename}", line {self.line}',
            f"    {self.text.rstrip()}",
            f"    {caret}",
            self.message,
        )
        return "\n".join(lines)


class KernelSyntaxError(PortarrayError, SyntaxError):
    """Unsupported syntax, or types that do not fit, in a kernel.

    One error reports all problems of a kernel; the attributes of :class:`SyntaxError` locate the
    first one.

    Parameters
    ----------
    problems : sequence of KernelProblem
        At least one problem.

    Examples
    --------
    >>> import portarray as pa
    >>> import portarray.kernel_language as kl
    >>> @pa.kernel
    ... def add(y, x):
    ...     y[kl.index()] = y + x[kl.index()]
    >>> add.interpret(pa.zeros(3), pa.ones(3))
    Traceback (most recent call last):
        ...
    portarray.errors.KernelSyntaxError: y is an array, not a number
    """

    def __init__(self, problems: Sequence[KernelProblem]) -> None:
        self.problems = tuple(problems)
        first, *others = self.problems
        message = first.message
        if others:
            more = "\n".join(problem.shown() for problem in others)
            message = f"{message}\nand {len(others)} more:\n{more}"
        super().__init__(
            message,
            (first.filename, first.line, first.column + 1, first.text, first.line, first.end + 1),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class KernelVerificationError(PortarrayError, AssertionError):
    """A device's results differ from the interpreter's.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    device : str
        Text of the device.
    differences : mapping of str to float
        The largest difference in each written array, in units in the last place.
    tolerance : float
        The largest allowed difference.
    reference : str, default: "the interpreter"
        What the results differ from; the differences from others are relative.

    Examples
    --------
    >>> import portarray as pa
    >>> error = pa.KernelVerificationError("saxpy", "torch:cuda:0", {"y": 2.0}, 1.0)
    >>> print(error)
    saxpy: torch:cuda:0 differs from the interpreter: y by 2 ULP; the tolerance is 1
    >>> max(error.differences.values())  # a tolerance= of the kernel's verify that accepts it
    2.0
    """

    def __init__(
        self,
        kernel: str,
        device: str,
        differences: Mapping[str, float],
        tolerance: float,
        reference: str = "the interpreter",
    ) -> None:
        self.kernel = kernel
        self.device = device
        self.reference = reference
        self.differences = dict(differences)
        self.tolerance = tolerance
        unit = " ULP" if reference == "the interpreter" else ""
        listed = ", ".join(f"{name} by {x:g}{unit}" for name, x in self.differences.items())
        super().__init__(
            f"{kernel}: {device} differs from {reference}: {listed}; the tolerance is {tolerance:g}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        values = self.kernel, self.device, self.differences, self.tolerance, self.reference
        return type(self), values

"""The errors and warnings that portarray raises.

::

    PortarrayError
    ├── UnknownDeviceError (ValueError)              text that does not name a device
    ├── DeviceNotFunctionalError (RuntimeError)      a known device that does not work here
    ├── DeviceMismatchError (ValueError)             arrays on different devices in one call
    ├── DTypeNotSupportedError (TypeError)           a dtype the device does not support
    ├── PreferenceError (ValueError)                 a preference that cannot be read, met or saved
    ├── HostAccessError (TypeError)                  numpy.asarray(x) while config forbids it
    ├── HostFallbackError (RuntimeError)             a host fallback while config forbids it
    ├── KernelBuildError (RuntimeError)              a compiler rejected a kernel
    ├── KernelDebugError (RuntimeError)              an error in an interpreted kernel
    │   ├── KernelIndexError (IndexError)            an index out of bounds
    │   └── KernelZeroDivisionError (ZeroDivisionError)  integer division, in debug mode
    ├── KernelSyntaxError (SyntaxError)              unsupported syntax or types in a kernel
    ├── KernelVerificationError (AssertionError)     a device differs from the interpreter
    ├── LinAlgError (numpy.linalg.LinAlgError)       singular or indefinite matrices, ...
    ├── NoGradientError (TypeError)                  a function that cannot be differentiated
    ├── TaskCancelledError (RuntimeError)            a task that was not run
    ├── TracedArrayError (TypeError)                 an operation that cannot be traced
    ├── VerificationError (AssertionError)           a wrong result
    └── OutOfMemoryError (MemoryError)               has bytes asked, free and total

    PortarrayWarning (UserWarning)
    ├── HostAccessWarning                            numpy.asarray(x), where config warns of it
    ├── HostFallbackWarning                          a function runs on the host
    └── DeviceSelectionWarning                       a preference was not met

Every message reads ``<function>: <what is wrong, with the values>``, followed by a line
``Hint: <what to do>`` where there is a fix. Each class builds its message from values and keeps
them as attributes, which survive pickling: programs do not need to parse text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "DTypeNotSupportedError",
    "DeviceMismatchError",
    "DeviceNotFunctionalError",
    "DeviceSelectionWarning",
    "HostAccessError",
    "HostAccessWarning",
    "HostFallbackError",
    "HostFallbackWarning",
    "KernelBuildError",
    "KernelDebugError",
    "KernelIndexError",
    "KernelProblem",
    "KernelSyntaxError",
    "KernelVerificationError",
    "KernelZeroDivisionError",
    "LinAlgError",
    "NoGradientError",
    "OutOfMemoryError",
    "PortarrayError",
    "PortarrayWarning",
    "PreferenceError",
    "TaskCancelledError",
    "TracedArrayError",
    "UnknownDeviceError",
    "VerificationError",
]


class PortarrayError(Exception):
    """Base class of every error that portarray defines.

    Examples
    --------
    >>> import portarray as pa
    >>> try:
    ...     pa.device("numpy:cpu:7")
    ... except pa.PortarrayError as error:
    ...     print(type(error).__name__)
    DeviceNotFunctionalError
    """

    @property
    def hint(self) -> str:
        """What to type or do; empty if the message has no hint."""
        return str(self).partition("\nHint: ")[2]

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would pass the message to __init__, which takes the values.
        return (_rebuild, (type(self), self.args, self.__dict__))


def _hinted(problem: str, hint: str) -> str:
    return f"{problem}\nHint: {hint}" if hint else problem


def _rebuild(
    cls: type[PortarrayError], args: tuple[Any, ...], state: dict[str, Any]
) -> PortarrayError:
    error = BaseException.__new__(cls, *args)  # MemoryError.__new__ refuses a second base class
    error.args = args
    error.__dict__.update(state)
    return error


class UnknownDeviceError(PortarrayError, ValueError):
    """Text that does not name a library, platform or index.

    Parameters
    ----------
    text : str
        The requested device.
    rule : str
        The rule that the text breaks.
    nearest : sequence of str
        Similar valid texts.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.device("nump")
    Traceback (most recent call last):
        ...
    portarray.errors.UnknownDeviceError: device: unknown device 'nump': ...
    Hint: use 'numpy'
    """

    def __init__(self, text: str, rule: str, nearest: tuple[str, ...] = ()) -> None:
        self.text = text
        self.rule = rule
        self.nearest = tuple(nearest)
        hint = f"use {' or '.join(map(repr, nearest))}" if nearest else ""
        super().__init__(_hinted(f"device: unknown device {text!r}: {rule}", hint))


class DeviceNotFunctionalError(PortarrayError, RuntimeError):
    """A known device that does not work on this machine.

    Parameters
    ----------
    asked : str
        The requested device.
    reasons : mapping of str to str
        The reason why each candidate was rejected.
    fix : str
        The hint.

    Examples
    --------
    >>> import portarray as pa
    >>> try:
    ...     pa.device("numpy:cpu:7")
    ... except pa.DeviceNotFunctionalError as error:
    ...     print(error.reasons)
    {'numpy:cpu:7': 'numpy sees 1 device, with index 0 on cpu here'}
    """

    def __init__(self, asked: str, reasons: Mapping[str, str], fix: str = "") -> None:
        self.asked = asked
        self.reasons = dict(reasons)
        self.fix = fix
        by_reason: dict[str, list[str]] = {}  # the platforms of one library often share a reason
        for name, reason in self.reasons.items():
            by_reason.setdefault(reason, []).append(name)
        lines = [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]
        if len(lines) == 1:
            ((reason, names),) = by_reason.items()
            redundant = len(names) > 1 and all(name.startswith(f"{asked}:") for name in names)
            detail = f": {reason}" if redundant or names == [asked] else f": {lines[0]}"
        else:
            detail = "".join(f"\n  {line}" for line in lines)
            detail = f"; every candidate was rejected:{detail}" if detail else ""
        super().__init__(_hinted(f"device: {asked!r} is not functional{detail}", fix))


class DeviceMismatchError(PortarrayError, ValueError):
    """Arrays on different devices in one call.

    Parameters
    ----------
    function : str
        The called function.
    first, second : str
        Text of the two devices.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda") as (gpu,):
    ...     pa.ones(2, device="numpy") + pa.ones(2, device=gpu)
    Traceback (most recent call last):
        ...
    portarray.errors.DeviceMismatchError: add: arrays are on numpy:cpu:0 and virtual:cuda:0
    Hint: move one of them, for example with x.to_device('numpy:cpu:0'); ...
    """

    def __init__(self, function: str, first: str, second: str) -> None:
        self.function = function
        self.first = first
        self.second = second
        super().__init__(
            f"{function}: arrays are on {first} and {second}\n"
            f"Hint: move one of them, for example with x.to_device({first!r}); to "
            f"create one beside x, use x.__array_namespace__() or device=x.device"
        )


class DTypeNotSupportedError(PortarrayError, TypeError):
    """A dtype that the device does not support.

    Parameters
    ----------
    dtype : str
        The requested dtype.
    device : str
        Text of the device.
    nearest : str
        The nearest supported dtype of the same kind, or an empty string.
    moving : bool
        Whether data was being moved, so that ``narrow=True`` is a fix.
    setting : str
        The library's setting that enables the dtype, or an empty string.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> x = pa.asarray([1.0, 2.0], dtype="float64", device="numpy")
    >>> with virtual_devices("metal") as (metal,):
    ...     try:
    ...         y = x.to_device(metal)
    ...     except TypeError as error:
    ...         y = x.astype(error.nearest).to_device(metal)
    ...     print(y.dtype)
    float32
    """

    def __init__(
        self,
        dtype: str,
        device: str,
        nearest: str = "",
        *,
        moving: bool = False,
        setting: str = "",
    ) -> None:
        self.dtype = dtype
        self.device = device
        self.nearest = nearest
        self.moving = moving
        self.setting = setting
        hints = []
        if moving and nearest:
            hints.append(f"convert to {nearest} before moving, or pass narrow=True")
        elif nearest:
            hints.append(f"use {nearest}, the nearest supported dtype")
        if setting:
            hints.append(f"to enable {dtype}: {setting}")
        super().__init__(_hinted(f"{device} does not support {dtype}", "; ".join(hints)))


class PreferenceError(PortarrayError, ValueError):
    """A device preference that cannot be read, met or saved.

    Examples
    --------
    >>> import contextlib
    >>> import pathlib
    >>> import tempfile
    >>> import portarray as pa
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     characters = pathlib.Path("portarray.toml").write_text("device = cuda")  # no quotes
    ...     pa.set_preference("numpy", scope="project")
    Traceback (most recent call last):
        ...
    portarray.errors.PreferenceError: ...portarray.toml is not valid TOML: ...
    """


class HostAccessError(PortarrayError, TypeError):
    """Values were implicitly read into host memory while ``pa.config`` forbids that.

    Parameters
    ----------
    what : str
        The function that reads them, such as ``"numpy.asarray"``.
    device : str
        Text of the array's device.
    line : str
        File, line and source of the caller; empty if unknown.
    rule : str, default: "config.host_access is 'error'"
        The setting that forbids it.
    to_host : bool, default: True
        Whether an array is read from the host; False for a NumPy array in a call with an array.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> x = pa.ones(2, device="numpy")
    >>> with pa.config(host_access="error"):
    ...     np.asarray(x)
    Traceback (most recent call last):
        ...
    portarray.errors.HostAccessError: numpy.asarray: reads an array on numpy:cpu:0 from the ...
    >>> with pa.config(host_access="error"):
    ...     x.to_device("numpy").native  # the explicit way
    array([1., 1.])
    """

    def __init__(
        self,
        what: str,
        device: str,
        line: str = "",
        rule: str = "config.host_access is 'error'",
        *,
        to_host: bool = True,
    ) -> None:
        self.what = what
        self.rule = rule
        self.device = device
        self.line = line
        self.to_host = to_host
        where = f"\n  {line}" if line else ""
        action, fix = (
            (
                f"reads an array on {device} from the host",
                "copy it to the host explicitly: x.to_device('numpy').native",
            )
            if to_host
            else (
                f"reads a NumPy array with an array on {device}",
                f"move it explicitly: pa.asarray(values, device={device!r})",
            )
        )
        super().__init__(f"{what}: {action}, and {rule}{where}\nHint: {fix}")


class HostFallbackError(PortarrayError, RuntimeError):
    """A function that runs on the host was called while ``pa.config`` forbids host fallbacks.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("opencl") as (device,), pa.config(host_fallback="error"):
    ...     pa.sort(pa.ones(2, device=device))
    Traceback (most recent call last):
        ...
    portarray.errors.HostFallbackError: sort: runs on the host for virtual:opencl:0, ...
    """

    def __init__(self, function: str, device: str) -> None:
        self.function = function
        self.device = device
        super().__init__(
            f"{function}: runs on the host for {device}, and config.host_fallback is 'error'\n"
            f"Hint: allow it with pa.config(host_fallback='allow'), or move the array first"
        )


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


class LinAlgError(PortarrayError, np.linalg.LinAlgError):
    """Matrices for which a linear algebra function has no result.

    A ValueError; ``except numpy.linalg.LinAlgError`` catches it too. Also available as
    ``pa.linalg.LinAlgError``.

    Parameters
    ----------
    function : str
        The called function.
    reason : str
        What is wrong with the matrices.
    device : str
        Text of the device; empty for functions of native arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> try:
    ...     pa.linalg.inv(pa.zeros((2, 2), device="numpy"))
    ... except np.linalg.LinAlgError as error:
    ...     print(error)
    linalg.inv on numpy:cpu:0: a matrix of shape (2, 2) is singular
    Hint: pa.linalg.pinv computes a least-squares inverse
    """

    def __init__(self, function: str, reason: str, device: str = "") -> None:
        self.function = function
        self.reason = reason
        self.device = device
        super().__init__(f"{function}{f' on {device}' if device else ''}: {reason}")


class NoGradientError(PortarrayError, TypeError):
    """A function that has no gradient, or none for these arguments.

    Parameters
    ----------
    function : str
        The function.
    reason : str
        Why, with the fix; empty for functions that never have a gradient.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([2.0, 2.0, 3.0])
    >>> pa.grad(lambda x: pa.sum(pa.unique_values(x)))(x)
    Traceback (most recent call last):
        ...
    portarray.errors.NoGradientError: unique_values: the function has no gradient
    Hint: use pa.stop_gradient on its operand, or define a rule with pa.custom_vjp
    """

    def __init__(self, function: str, reason: str = "") -> None:
        self.function = function
        self.reason = reason
        default = "use pa.stop_gradient on its operand, or define a rule with pa.custom_vjp"
        problem = f"{function}: the function has no gradient"
        super().__init__(f"{problem}: {reason}" if reason else _hinted(problem, default))


class TracedArrayError(PortarrayError, TypeError):
    """An operation on a traced array that a gradient or compilation cannot record.

    Parameters
    ----------
    reason : str
        What is wrong, with the fix.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.0, 2.0])
    >>> pa.compile(lambda x: x if x[0] > 0 else -x)(x)
    Traceback (most recent call last):
        ...
    portarray.errors.TracedArrayError: ...
    >>> pa.compile(lambda x: pa.where(x[0] > 0, x, -x))(x).tolist()
    [1.0, -2.0]
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class TaskCancelledError(PortarrayError, RuntimeError):
    """A task that was not run, because an input was not computed or its region raised.

    Parameters
    ----------
    task : str
        The task.
    reason : str
        What failed.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.tasks import In, InOut, Region
    >>> def read(x):
    ...     raise OSError("no such file")
    >>> x = pa.zeros(3)
    >>> try:
    ...     with Region() as region:
    ...         first = region.spawn(read, InOut(x))
    ...         total = region.spawn(pa.sum, In(x))
    ... except* OSError:
    ...     print(total.exception().reason)
    task 0, read, failed with OSError: no such file
    """

    def __init__(self, task: str, reason: str) -> None:
        self.task = task
        self.reason = reason
        super().__init__(f"{task}: was not run: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task, self.reason)


class VerificationError(PortarrayError, AssertionError):
    """A function returned wrong results.

    Parameters
    ----------
    function : str
        Name of the function.
    device : str
        Text of the device.
    reason : str
        What is wrong.
    inputs : tuple
        The smallest failing arguments, if they were drawn.

    Examples
    --------
    >>> import portarray as pa
    >>> try:
    ...     pa.verify(pa.log, pa.asarray([1.0, 0.0], device="numpy"), property="finite")
    ... except pa.VerificationError as error:
    ...     print(error.reason, error.inputs[0].tolist())
    the result is not finite: -inf [0.0, 0.0]
    """

    def __init__(self, function: str, device: str, reason: str, inputs: tuple[Any, ...] = ()):
        self.function = function
        self.device = device
        self.reason = reason
        self.inputs = inputs
        arguments = "".join(f"\n  argument {n}: {x!r}" for n, x in enumerate(inputs))
        super().__init__(f"{function} on {device}: {reason}{arguments}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.function, self.device, self.reason, self.inputs)


class OutOfMemoryError(PortarrayError, MemoryError):
    """A device does not have enough memory; the same error for every library.

    Existing arrays are intact. Temporaries of the failed call are already released.

    Parameters
    ----------
    device : str
        Text of the device.
    asked, free, total : int or None
        Bytes requested, free and in total. ``asked`` is the size of the failed allocation if the
        library reports it, else of the array to be created or moved; None for allocations of a
        driver or of Python. ``free`` and ``total`` are None if unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", memory=1000) as (gpu,):
    ...     try:
    ...         x = pa.ones(1000, device=gpu)
    ...     except MemoryError as error:
    ...         print(error.asked, error.free)
    8000 1000
    """

    def __init__(
        self,
        device: str,
        *,
        asked: int | None = None,
        free: int | None = None,
        total: int | None = None,
    ) -> None:
        self.device = device
        self.asked = asked
        self.free = free
        self.total = total
        parts = [
            f"{label} {value:,} bytes"
            for label, value in (("asked", asked), ("free", free), ("total", total))
            if value is not None
        ]
        figures = f" ({', '.join(parts)})" if parts else ""
        hint = "work in smaller pieces, or use a device with more memory"
        if asked is None or total is None or asked <= total:  # freeing memory can help
            hint = f"delete arrays you no longer need and call pa.reclaim({device!r}), {hint}"
        super().__init__(_hinted(f"{device}: out of memory{figures}", hint))


class PortarrayWarning(UserWarning):
    """Base class of every warning that portarray issues.

    Examples
    --------
    >>> import warnings
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("opencl") as (device,), warnings.catch_warnings():
    ...     warnings.simplefilter("error", pa.PortarrayWarning)  # as pytest's filterwarnings does
    ...     pa.sort(pa.ones(2, device=device))
    Traceback (most recent call last):
        ...
    portarray.errors.HostFallbackWarning: sort: runs on the host, because virtual:opencl:0 ...
    """


class HostAccessWarning(PortarrayWarning):
    """A library read an array into host memory, which a GPU rejects; the message states the fix.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import portarray as pa
    >>> x = pa.ones(2, device="numpy")
    >>> with pa.config(host_access="warn"), warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     y = np.asarray(x)  # warns once for each line of the program
    >>> print(caught[0].message)
    numpy.asarray...: reads an array on numpy:cpu:0 from the host
    Hint: copy it to the host explicitly: x.to_device('numpy').native
    """


class HostFallbackWarning(PortarrayWarning):
    """A function was computed on the host for a device whose memory is not host memory.

    Examples
    --------
    >>> import warnings
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("opencl") as (device,):
    ...     x = pa.asarray([2.0, 1.0], device=device)
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         y = pa.sort(x)  # warns once for each function and device
    ...     with pa.config(host_fallback="allow"):
    ...         y = pa.sort(x)  # does not warn
    >>> print(caught[0].message)
    sort: runs on the host, because virtual:opencl:0 does not have it
    Hint: ...
    """


class DeviceSelectionWarning(PortarrayWarning):
    """A preference could not be met, or a device was skipped; the message gives the reason.

    Examples
    --------
    >>> import contextlib
    >>> import tempfile
    >>> import warnings
    >>> import portarray as pa
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         pa.set_preference("numpy:cpu:7", scope="project")
    >>> print(str(caught[-1].message).partition("now ")[2])
    prefers 'numpy:cpu:7', which does not work here: numpy:cpu:7: numpy sees 1 device...
    """

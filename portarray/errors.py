"""The errors and warnings that portarray raises.

::

    PortarrayError
    ├── UnknownDeviceError (ValueError)              the text names no device
    ├── DeviceNotFunctionalError (RuntimeError)      a known device that cannot be used
    ├── DeviceMismatchError (ValueError)             arrays of several devices in one call
    ├── DTypeNotSupportedError (TypeError)           a dtype that the device lacks
    ├── PreferenceError (ValueError)                 a preference that cannot be read, met or saved
    ├── HostAccessError (TypeError)                  numpy.asarray(x) while config forbids it
    ├── HostFallbackError (RuntimeError)             host-served function while config forbids it
    ├── KernelBuildError (RuntimeError)              a device's compiler refused a program
    ├── KernelDebugError (RuntimeError)              what an interpreted kernel does wrong
    │   ├── KernelIndexError (IndexError)            an index outside an array
    │   └── KernelZeroDivisionError (ZeroDivisionError)  integers, in debug mode
    ├── KernelSyntaxError (SyntaxError)              a function is not in the kernel language
    ├── KernelVerificationError (AssertionError)     a device computes another result
    ├── LinAlgError (numpy.linalg.LinAlgError)       matrices without an inverse, a factor, ...
    ├── NoGradientError (TypeError)                  a function, or its arguments, have no gradient
    ├── TaskCancelledError (RuntimeError)            a task whose input was not computed
    ├── TracedArrayError (TypeError)                 values asked for that a trace does not have
    ├── VerificationError (AssertionError)           a function's result is wrong
    └── OutOfMemoryError (MemoryError)               with asked, free and total bytes

    PortarrayWarning (UserWarning)
    ├── HostFallbackWarning                          a function of this device runs on the host
    └── DeviceSelectionWarning                       a preference was not met; says what was taken

Each class builds its message from values and keeps them as attributes, so that they survive
pickling and programs need not parse text.
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

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses build their message from several values; the default would pass the message to
        # __init__.
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(
    cls: type[PortarrayError], args: tuple[Any, ...], state: dict[str, Any]
) -> PortarrayError:
    error = BaseException.__new__(cls, *args)  # MemoryError's own refuses subclasses of two bases
    error.args = args
    error.__dict__.update(state)
    return error


class UnknownDeviceError(PortarrayError, ValueError):
    """A device text that names no library, platform or index.

    Parameters
    ----------
    text : str
        What was asked for.
    rule : str
        The rule that it breaks.
    nearest : sequence of str
        Valid texts that resemble it.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.device("nump")
    Traceback (most recent call last):
        ...
    portarray.errors.UnknownDeviceError: 'nump' names no device: ... Did you mean 'numpy'?
    """

    def __init__(self, text: str, rule: str, nearest: tuple[str, ...] = ()) -> None:
        self.text = text
        self.rule = rule
        self.nearest = tuple(nearest)
        hint = f" Did you mean {' or '.join(repr(n) for n in nearest)}?" if nearest else ""
        super().__init__(f"{text!r} names no device: {rule}.{hint}")


class DeviceNotFunctionalError(PortarrayError, RuntimeError):
    """A device that exists in name but cannot be used here.

    Parameters
    ----------
    asked : str
        What was asked for.
    reasons : mapping of str to str
        Candidate to the reason why it was refused.
    fix : str
        What to do about it.

    Examples
    --------
    >>> import portarray as pa
    >>> try:
    ...     pa.device("numpy:cpu:7")
    ... except pa.DeviceNotFunctionalError as error:
    ...     print(error.reasons)
    {'numpy:cpu:7': 'numpy sees 1 device, with index 0, on cpu here'}
    """

    def __init__(self, asked: str, reasons: Mapping[str, str], fix: str = "") -> None:
        self.asked = asked
        self.reasons = dict(reasons)
        self.fix = fix
        alike: dict[str, list[str]] = {}  # the same reason for all platforms of a library
        for name, reason in self.reasons.items():
            alike.setdefault(reason, []).append(name)
        told = [f"{', '.join(names)}: {reason}" for reason, names in alike.items()]
        if len(told) == 1:
            ((reason, names),) = alike.items()
            its = len(names) > 1 and all(name.startswith(f"{asked}:") for name in names)
            detail = f": {reason}" if its or names == [asked] else f": {told[0]}"
        else:
            detail = "".join(f"\n  {one}" for one in told)
            detail = f"; every candidate was refused:{detail}" if detail else ""
        end = f"\n{fix}" if fix else ""
        super().__init__(f"{asked!r} is not functional{detail}{end}")


class DeviceMismatchError(PortarrayError, ValueError):
    """Arrays of different devices in one call.

    Parameters
    ----------
    function : str
        The function that was called.
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
    portarray.errors.DeviceMismatchError: add got arrays on numpy:cpu:0 and virtual:cuda:0; ...
    """

    def __init__(self, function: str, first: str, second: str) -> None:
        self.function = function
        self.first = first
        self.second = second
        super().__init__(
            f"{function} got arrays on {first} and {second}; nothing moves by itself. "
            f"Move one of them with x.to_device({first!r}). If it was created inside library "
            f"code without device=, call that code under `with x.device:`"
        )


class DTypeNotSupportedError(PortarrayError, TypeError):
    """A dtype that the device does not support.

    Parameters
    ----------
    dtype : str
        The dtype asked for.
    device : str
        Text of the device.
    nearest : str
        The dtype of the same kind to use there, or an empty string.
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
    ...     except TypeError as error:  # which it is
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
        fix = f"; the nearest dtype it has is {nearest}" if nearest else ""
        if moving and nearest:
            fix += f". Convert before moving, or pass narrow=True to accept {nearest}"
        if setting:
            fix += f". To have {dtype}: {setting}"
        super().__init__(f"{device} has no {dtype}{fix}")


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
    portarray.errors.PreferenceError: ...portarray.toml is no TOML: ...
    """


class HostAccessError(PortarrayError, TypeError):
    """Values were read into host memory unasked while ``pa.config`` forbids that.

    Parameters
    ----------
    what : str
        What reads them, such as ``"numpy.asarray"``.
    device : str
        Text of the array's device.
    line : str
        File, line and source of the caller; empty if there is none.
    rule : str, default: "config.host_access is 'error'"
        What refuses it.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> x = pa.ones(2, device="numpy")
    >>> with pa.config(host_access="error"):
    ...     np.asarray(x)
    Traceback (most recent call last):
        ...
    portarray.errors.HostAccessError: numpy.asarray reads an array of numpy:cpu:0 on the host, ...
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
    ) -> None:
        self.what = what
        self.rule = rule
        self.device = device
        self.line = line
        where = f"\n  {line}" if line else ""
        super().__init__(
            f"{what} reads an array of {device} on the host, and {rule}. "
            f"Where that is meant, say so: x.to_device('numpy').native{where}"
        )


class HostFallbackError(PortarrayError, RuntimeError):
    """A host-served function was called while ``pa.config`` forbids host fallbacks.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("opencl") as (device,), pa.config(host_fallback="error"):
    ...     pa.sort(pa.ones(2, device=device))
    Traceback (most recent call last):
        ...
    portarray.errors.HostFallbackError: sort runs on the host for virtual:opencl:0, ...
    """

    def __init__(self, function: str, device: str) -> None:
        self.function = function
        self.device = device
        super().__init__(
            f"{function} runs on the host for {device}, and config.host_fallback is 'error'. "
            f"Allow it with pa.config(host_fallback='allow'), or move the array first"
        )


class KernelBuildError(PortarrayError, RuntimeError):
    """A device's compiler refused a program.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    device : str
        The device, as its library names it.
    log : str
        What the compiler said; empty if the library does not pass it on.
    text : str
        The program.

    Examples
    --------
    >>> import portarray as pa
    >>> error = pa.KernelBuildError("saxpy", "a GPU", "line 3: unknown type name 'half'")
    >>> print(error)
    the compiler of a GPU refused kernel 'saxpy':
    line 3: unknown type name 'half'
    >>> error.log  # the compiler's own words, for a report
    "line 3: unknown type name 'half'"
    """

    def __init__(self, kernel: str, device: str, log: str, text: str = "") -> None:
        self.kernel = kernel
        self.device = device
        self.log = log
        self.text = text
        told = f":\n{log.strip()}" if log.strip() else ", without saying why"
        super().__init__(f"the compiler of {device} refused kernel {kernel!r}{told}")


class KernelDebugError(PortarrayError, RuntimeError):
    """What is wrong at a line of a kernel that is interpreted.

    An index outside an array is always looked for; with ``pa.config(kernel_debug=True)`` also
    division of integers by zero, memory that is read before it has a value, work-items that write
    one element, or read what another one writes, without a barrier or an atomic function between,
    and barriers that not all work-items of a group reach.

    Parameters
    ----------
    message : str
        What is wrong.
    kernel : str
        Name of the function.
    filename : str
        Its file.
    line : int
        The line in it.
    text : str
        That line.
    work_item : tuple of int
        Which work-item: its index in the ndrange.
    values : mapping
        The numbers in its variables.

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
        place = work_item[0] if len(work_item) == 1 else work_item
        told = ", ".join(f"{name} = {value!r}" for name, value in self.values.items())
        super().__init__(
            f'{message}\n  File "{filename}", line {line}, in {kernel}, work-item {place}\n'
            f"    {text}" + (f"\n  where {told}" if told else "")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            *(self.message, self.kernel, self.filename, self.line, self.text, self.work_item),
            self.values,
        )


class KernelIndexError(KernelDebugError, IndexError):
    """An index in an interpreted kernel that is outside its array.

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
    """Division of integers by zero in an interpreted kernel, in debug mode; devices make it 0.

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
    """One thing that is wrong in a kernel, and where.

    Parameters
    ----------
    message : str
        What is wrong.
    filename : str
        The file.
    line : int
        The line in it.
    column, end : int
        The columns from which and up to which, counted from 0.
    text : str
        That line.
    """

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


class KernelSyntaxError(PortarrayError, SyntaxError):
    """What stands in a kernel is not in the kernel language, or does not fit its types.

    All that is wrong in a kernel is told at once; the attributes of :class:`SyntaxError` say where
    the first problem is.

    Parameters
    ----------
    problems : sequence of KernelProblem
        What is wrong: at least one, each with message, filename, line, column, end and text.

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
        first, *rest = self.problems
        message = first.message
        if rest:
            more = "\n".join(one.shown() for one in rest)
            message = f"{message}\nand {len(rest)} more:\n{more}"
        super().__init__(
            message,
            (first.filename, first.line, first.column + 1, first.text, first.line, first.end + 1),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class KernelVerificationError(PortarrayError, AssertionError):
    """A device computes something else than the interpreter.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    device : str
        Text of the device.
    differences : mapping of str to float
        The largest difference of each array that is written, in units of the last place.
    tolerance : float
        The largest difference that was allowed.

    Examples
    --------
    >>> import portarray as pa
    >>> error = pa.KernelVerificationError("saxpy", "torch:cuda:0", {"y": 2.0}, 1.0)
    >>> print(error)
    saxpy on torch:cuda:0 differs from the interpreter: y by 2 ULP; the tolerance is 1
    >>> max(error.differences.values())  # a tolerance= of the kernel's verify that accepts it
    2.0
    """

    def __init__(
        self, kernel: str, device: str, differences: Mapping[str, float], tolerance: float
    ) -> None:
        self.kernel = kernel
        self.device = device
        self.differences = dict(differences)
        self.tolerance = tolerance
        told = ", ".join(f"{name} by {ulp:g} ULP" for name, ulp in self.differences.items())
        super().__init__(
            f"{kernel} on {device} differs from the interpreter: {told}; the tolerance is "
            f"{tolerance:g}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kernel, self.device, self.differences, self.tolerance)


class LinAlgError(PortarrayError, np.linalg.LinAlgError):
    """Matrices for which a function of linear algebra has no answer.

    It is a ValueError, and NumPy's own class catches it too: ``except numpy.linalg.LinAlgError``.
    Also ``pa.linalg.LinAlgError``.

    Parameters
    ----------
    function : str
        The function that was called.
    reason : str
        What is wrong with the matrices, and what to do.
    device : str
        Text of the device; empty for functions of native arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> try:
    ...     pa.linalg.inv(pa.zeros((2, 2), device="numpy"))
    ... except np.linalg.LinAlgError as error:
    ...     print(error.reason)
    a matrix of shape (2, 2) is singular; pa.linalg.pinv has a least-squares inverse
    """

    def __init__(self, function: str, reason: str, device: str = "") -> None:
        self.function = function
        self.reason = reason
        self.device = device
        super().__init__(f"{function}{f' on {device}' if device else ''}: {reason}")


class NoGradientError(PortarrayError, TypeError):
    """A function has no gradient, or none for its arguments.

    Parameters
    ----------
    function : str
        The function.
    reason : str
        Why, and what to do; empty where it never has one.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([2.0, 2.0, 3.0])
    >>> pa.grad(lambda x: pa.sum(pa.unique_values(x)))(x)
    Traceback (most recent call last):
        ...
    portarray.errors.NoGradientError: unique_values has no gradient: use pa.stop_gradient ...
    """

    def __init__(self, function: str, reason: str = "") -> None:
        self.function = function
        self.reason = reason
        why = reason or "use pa.stop_gradient on its operand, or pa.custom_vjp for a rule of yours"
        super().__init__(f"{function} has no gradient: {why}")


class TracedArrayError(PortarrayError, TypeError):
    """A traced array is used where the trace would be lost: of a gradient, or of a compilation.

    Parameters
    ----------
    reason : str
        What is wrong, and what to do.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.0, 2.0])
    >>> pa.compile(lambda x: x if x[0] > 0 else -x)(x)
    Traceback (most recent call last):
        ...
    portarray.errors.TracedArrayError: pa.compile traces this array, ... use pa.where, ...
    >>> pa.compile(lambda x: pa.where(x[0] > 0, x, -x))(x).tolist()
    [1.0, -2.0]
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class TaskCancelledError(PortarrayError, RuntimeError):
    """A task was not run: what it needs was not computed, or its region was left by an error.

    Parameters
    ----------
    task : str
        The task.
    reason : str
        What failed, as a clause.

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
        super().__init__(f"{task} was not run: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.task, self.reason)


class VerificationError(PortarrayError, AssertionError):
    """A function's results are not what they should be.

    Parameters
    ----------
    function : str
        Name of the function.
    device : str
        Text of the device.
    reason : str
        What is wrong.
    inputs : tuple
        The smallest arguments that show it, where they were drawn.

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
        told = "".join(f"\n  argument {n}: {x!r}" for n, x in enumerate(inputs))
        super().__init__(f"{function} on {device}: {reason}{told}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.function, self.device, self.reason, self.inputs)


class OutOfMemoryError(PortarrayError, MemoryError):
    """The device does not have enough memory; the same error for every library.

    Existing arrays are intact, and temporaries of the failed call are already released.

    Parameters
    ----------
    device : str
        Text of the device.
    asked, free, total : int or None
        Bytes requested, free and in total. ``asked`` is the size of the failed allocation if the
        library reports it, else of the array to be made or moved; None for a driver's or Python's
        own allocations. ``free`` and ``total`` are None if unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", memory=1000) as (gpu,):
    ...     try:
    ...         x = pa.ones(1000, device=gpu)
    ...     except MemoryError as error:  # which it is, of every library
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
        advice = "work in smaller pieces, or use a device with more memory"
        if asked is None or total is None or asked <= total:  # freeing memory can help
            advice = f"Delete arrays you no longer need and call pa.reclaim({device!r}), {advice}"
        super().__init__(f"{device} is out of memory{figures}. {advice[0].upper()}{advice[1:]}")


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
    portarray.errors.HostFallbackWarning: sort is not available on virtual:opencl:0 ...
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
    ...     with warnings.catch_warnings(record=True) as told:
    ...         warnings.simplefilter("always")
    ...         y = pa.sort(x)  # once for each function and device
    ...     with pa.config(host_fallback="allow"):
    ...         y = pa.sort(x)  # says nothing
    >>> print(told[0].message)
    sort is not available on virtual:opencl:0 and runs on the host; ...
    """


class DeviceSelectionWarning(PortarrayWarning):
    """A preference could not be met, or a device was passed over; the message has the reason.

    Examples
    --------
    >>> import contextlib
    >>> import tempfile
    >>> import warnings
    >>> import portarray as pa
    >>> with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    ...     with warnings.catch_warnings(record=True) as told:
    ...         warnings.simplefilter("always")
    ...         pa.set_preference("numpy:cpu:7", scope="project")
    >>> print(str(told[-1].message).partition("now ")[2])
    prefers 'numpy:cpu:7', which does not function here: numpy:cpu:7: numpy sees 1 device...
    """
